// Package wallclock drives a fabric by the wall clock, so that programs in its hosts can use it. A Driver takes the engine's
// steps as the wall reaches their times, and programs' frames as they come; Clock says what virtual time it is, Status
// how well the machine follows. It is Linux's: elsewhere the package is empty.
//
// Life cycle: New takes an engine that was made with plane.Features.Live, and the kernel plane that was opened for the
// same; Adapt, if the slow-down may rise; then Run, in a goroutine of its own, until its context is cancelled or the
// plane fails. After Run has returned, Check does the final check of the engine's invariants. The plane is closed last.
//
//   - While Run runs, other goroutines reach the engine by Driver.Do alone, and Clock and Steps need no Do. A function
//     given to Do holds up
//     virtual time as long as it takes: it must not wait for the network, a terminal, or another Do.
//   - Run takes a processor for itself, at real-time priority for as long as the machine lets it. It gives that back as
//     it returns, so wait
//     for it.
//   - Do returns ErrEnded once Run has returned. It does not return at all if a congestion control does not come back
//     from a call:
//     Steps then stays as it is.
//   - Where programs take part, no two runs are equal: their fingerprints say nothing. What the machine is late by is
//     in Status.
package wallclock
