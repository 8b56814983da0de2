// Package engine drives a fabric in virtual time: the clock, the event queues, the ports' transmitters and wires, the
// passes of frames through the pipelines, flow control's timers, faults, and the invariants that must hold at the end.
//
// Life cycle: open a Plane for a plan and the fabric's Features (package wasmplane, or kernel), and give both to New.
// Then, in any order, call AddFlow, Call and At to schedule work, and the faults' methods (SetLink, SetLoss, SetDelay,
// SetRate, SetReceiver, InjectPFCStorm). Run drives the fabric to a time, or until nothing moves; it may be called
// again. Check makes the final check. Close the plane last. A driver that follows the wall clock takes single steps
// instead of calling Run: Start, then Next, Reach and Step.
//
// Files:
//
//   - Data, the lowest layer first: events.go (scheduler: the events of partitions), totals.go, violation.go, wire.go
//     (frames on a cable), port.go, links.go (all ports), flow.go, flowtable.go, observer.go (interfaces of observers
//     and tracers), worker.go (the state of a worker), engine.go.
//   - Order of events: dispatch.go (the events of a partition), deferred.go (events that hosts' ports defer),
//     partitions.go (how far to drive which partition; package partition divides the fabric), workers.go (several at
//     once), calls.go, start.go, run.go (Run), step.go (live fabrics), panic.go. Package calendar has the event queues.
//   - The path of a frame: forwarding.go; flows.go, queuepairs.go, hoststack.go and slowpath.go (frames that hosts and
//     switches' processors send and receive); operations.go and rings.go (flows that wait for others), messages.go
//     (flows that exist only while they are open). Packages plane and wasmplane run the pipelines. Package
//     fingerprint hashes a run's frame events, to compare two runs.
//   - Flow control: flowcontrol.go, flowcontrol_pfc.go, flowcontrol_cbfc.go; pauses.go checks the pipelines'
//     registers against the PAUSEs that arrive, and excuses the effects of a lost PAUSE.
//   - Switch settings: package fill (the pipelines' tables), reconfigure.go (settings and cables that change during a
//     run), lossless.go (the settings that explain a drop in a lossless class).
//   - The paths of flows: package paths, and ways.go (under the present routes).
//   - Monitoring: monitor.go and counts.go; deadlock.go searches for cyclic buffer dependencies (package cycle) every
//     100 us; watchdog.go acts on PFC storms; flowcheck.go checks each flow, and invariants.go makes the final check.
//   - Faults: faults.go, with linkfault.go and hostfault.go.
//
// Rules for callers:
//
//   - The package is pure: it reads no clock, operating system or network, starts no goroutine, and prints nothing.
//   - One goroutine calls an Engine; no method is safe for concurrent use. Call methods between two events: when Run
//     does not run, or in a function given to Call or At.
//   - With a WorkerPool, several goroutines drive partitions at once. Any of them makes and calls congestion controls,
//     those of one host one at a time. RTT counters receive the number of the worker. Only the calling goroutine calls
//     Observers, Calls and Taps.
//   - Equal configurations, flows and calls give equal runs, by Fingerprint, on either plane. A function given to
//     Call or At must preserve that: its decisions may depend only on virtual time and the engine's state.
//   - An Observer is called late, though in the order of time: it must read only its arguments. It must not
//     change anything.
//   - Of several partitions some are ahead of others. Synchronised returns the time that all have reached. A Tap sees
//     frames of one partition before earlier ones of another.
//   - The slices and pointers of Flows, State, Switch and NIC are the engine's own memory: read them only. Do not keep
//     those of Flows across AddFlow.
//   - After an error of Run the run cannot continue, and its results are invalid. A broken invariant is no error:
//     Check returns it.
//   - If a congestion control panics, so does Run: recover, and call Panicked. After that, read only counts.
package engine
