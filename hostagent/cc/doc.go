// Package cc holds the congestion controllers, and the interface they share.
//
// A controller is a state machine of one flow at the sender (the reaction point). It is told what happened and when,
// and answers with a rate and, if it has one, a window. It does no IO, starts no goroutine, reads no clock, and
// allocates nothing after it is built.
//
// Life cycle: Resolve makes Settings of a name, given constants and an Env, once for all flows of an Env. Spec.New
// builds a controller for each flow; Presetter.Preset, where there is one, begins as if the flow had converged. Then
// the NIC calls in the order of virtual time: OnSent as a packet leaves, OnAck, OnCNP, OnCNM, OnNak and OnTimeout as
// they come, OnTimer at Deadline. After each call it asks for Rate, Window and Deadline anew. A flow that has ended is
// not asked any more.
//
// What the NIC relies on, the conformance suite (Conform; conformance_test.go) holds every controller to: a rate is a
// finite number above 0 and not above the line rate, a window is not negative, equal events lead to equal states, flows
// do not change the constants that they share, and no call allocates.
//
// Files:
//
//   - A controller: NAME.go, with the name that users give and _ for -.
//   - Parts of controllers: dcqcn_mlx.go (DCQCN's profile b, a Mellanox NIC), pid_target.go and pid_training.go (the
//     PID control's target
//     and gains), tcd.go (NAME+tcd, which knows undetermined marks), window.go (NAME+win, kept within a window).
//   - What they share: cc.go, the interface.
//   - Which there are: registry.go, catalog.go (others beside them, such as those from files), and list.go for people
//     and programs.
//   - What every one has to keep: conform.go.
//   - Their constants: parameter.go (one), settings.go (all, with their defaults), file.go (those that are files).
//
// # Rounding
//
// A result must not depend on the processor. Go may compile x*y + z to one fused instruction with a single rounding (on
// arm64, ppc64, s390x and riscv64, and on amd64 with GOAMD64=v3); on others it rounds twice. The last bits differ, and
// with them rates, the times of departures and fingerprints. An explicit conversion rounds its operand and so keeps the
// two apart, as the Go specification says ("Floating-point operators"). Hence
//
//	rate = float64(rate*(1-w)) + float64(line*w)
//
// Write every product so that something is added to or subtracted from, also across statements: an assignment to a
// variable does not keep the compiler from fusing. Functions of package math that are assembly on some processors (Exp,
// Log) are out for the same reason; Sqrt, Floor and the like are exact everywhere.
package cc
