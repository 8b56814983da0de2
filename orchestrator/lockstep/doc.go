// Package lockstep tells when the programs on a fabric's nodes all wait, so that virtual time may pass. Programs
// reports that from /proc, for every thread in the fabric's PID namespace, and wakes the threads whose virtual times
// have come. The preloaded library (verbs/c/clock*.c) writes these times into shared memory, and reads the clock there.
// The package is empty except on Linux.
//
// A thread waits if it sleeps in a system call, other than for a disk. A thread that has run for Quantum of processor
// time since anything last happened to its process, without reading the clock or data, also counts as waiting: it polls
// its memory.
//
// Only one goroutine, the engine's, may use a Programs.
package lockstep
