// Package wallclock drives a fabric by the wall clock, so that programs on its hosts can use it. A Driver executes the
// engine's steps when the wall clock reaches their times, and accepts programs' frames as they arrive. Clock converts
// to virtual time; Status reports how well the machine keeps up. The package is empty except on Linux.
//
// Life cycle: New takes an engine that was made with plane.Features.Live, and the kernel plane that was opened for the
// same. Call Adapt if the slow-down may rise, then Run, in its own goroutine, until its context is cancelled or the
// plane fails. After Run has returned, Check makes the final check of the engine's invariants. Close the plane last.
//
//   - While Run runs, other goroutines access the engine only through Driver.Do. Clock and Steps need no Do. A function
//     given to Do delays virtual time while it runs: it must not wait for the network, a terminal, or another Do.
//   - Run occupies a processor, at real-time priority while the machine permits it. It restores the priority as it
//     returns, so wait for it.
//   - Do returns ErrEnded once Run has returned. It never returns if a call of a congestion control does not return;
//     Steps then stays as it is.
//   - If programs take part, no two runs are equal: do not compare their fingerprints. Status has the machine's
//     lateness.
//
// Files:
//
//   - The driver: live.go, thread.go (its thread's priority), status.go (how well it keeps up).
//   - The clock: clock.go (virtual time by the wall clock), pace.go (raises the slow-down), slowdown.go and passcost.go
//     (choose it), lockstep.go (virtual time that stands still while programs run).
package wallclock
