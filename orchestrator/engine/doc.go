// Package engine drives a fabric in virtual time: the clock, the event queues, the ports' transmitters and wires, the
// passes of frames through the pipelines, flow control's timers, faults, and the invariants that must hold at the
// end.
//
// Life cycle: open a Plane for a plan and the fabric's Features (package wasmplane, or kernel), and give both to New.
// Then, in any order, AddFlow, Call and At for what is to happen at a time, and the faults' methods (SetLink,
// SetLoss, SetDelay, SetRate, SetReceiver, InjectPFCStorm). Run drives the fabric to a time, or until nothing moves;
// it may be called again. Check is the final check. Close the plane last. A driver by the wall clock takes single
// steps in place of Run: Start, then Next, Reach and Step.
//
// Files:
//
//   - Data, lowest first: events.go (scheduler: the events of partitions), totals.go, violation.go, wire.go (frames on
//     a cable), port.go, links.go (all ports), flow.go, flowtable.go, observer.go (what observers and tracers receive),
//     worker.go (what drives partitions), engine.go.
//   - What happens next: dispatch.go (the events of a partition), partitions.go (which partition is driven how far;
//     package partition divides the fabric), workers.go (several at once), calls.go, start.go, run.go (Run), step.go
//     (live fabrics), panic.go. The events' queues are package calendar.
//   - The way of a frame: forwarding.go; flows.go, queuepairs.go, hoststack.go and slowpath.go (what hosts and
//     switches' processors send and receive); operations.go (flows that wait for others). The pipelines' side is
//     packages plane and wasmplane; package fingerprint has what two runs are compared by.
//   - What keeps a peer from sending: flowcontrol.go, flowcontrol_pfc.go, flowcontrol_cbfc.go; pauses.go compares the
//     pipelines with the PAUSEs that arrive, and knows what a lost PAUSE excuses.
//   - What switches are set to: package fill (the pipelines' tables), reconfigure.go (settings and cables that change
//     during a run), lossless.go (the settings that a drop in a lossless class points to).
//   - The paths of flows: package paths, and ways.go (as routes are now).
//   - What watches: monitor.go and counts.go; deadlock.go searches for cyclic buffer dependencies (package cycle) every
//     100 us; watchdog.go acts on PFC storms; flowcheck.go checks each flow, and invariants.go is the final check.
//   - Faults: faults.go, with linkfault.go and hostfault.go.
//
// What a caller has to know:
//
//   - The package is pure: it asks no clock, operating system or network, starts no goroutine, and prints nothing.
//   - One goroutine calls an Engine, and nothing of it is safe for concurrent use. Everything is to be called between
//     two events: when Run does not run, or in a function given to Call or At.
//   - With a WorkerPool, partitions are driven by several goroutines at once. Congestion controls are made and called
//     by any of them, those of one host by one at a time, and RTT counters receive the number of the worker. Observers,
//     Calls and Taps are the calling goroutine's.
//   - Equal configurations, flows and calls give equal runs, by Fingerprint, on either plane. A function given to
//     Call or At must keep that, and decide by nothing but virtual time and what it reads here.
//   - An Observer is called late, though in the order of time: it must read only its arguments. It must not
//     change anything.
//   - Of several partitions some are ahead of others; Synchronised is the time that all have reached. A Tap sees frames
//     of one partition before earlier ones of another.
//   - The slices and pointers of Flows, State, Switch and NIC are the engine's own memory: read them, and keep none
//     of Flows over AddFlow.
//   - An error of Run means that the run cannot go on, and no result of it counts. A broken invariant is no error:
//     Check returns it.
//   - A congestion control that panics does so out of Run: recover, and ask Panicked. Nothing else of the engine is
//     to be called then but what has been counted.
package engine
