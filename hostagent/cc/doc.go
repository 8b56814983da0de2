// Package cc holds the congestion controllers, and the interface they share.
//
// A controller is a state machine of one flow at the sender (the reaction point). It receives events with their times,
// and returns a rate and, if it has one, a window. It does no IO, starts no goroutine, reads no clock, and allocates
// nothing after it is built.
//
// Life cycle: Resolve makes Settings from a name, given constants and an Env, once for all flows of an Env. Spec.New
// builds a controller for each flow. Presetter.Preset, if implemented, starts in the converged state. Then the NIC
// calls in the order of virtual time: OnSent as a packet leaves, OnAck, OnCNP, OnCNM, OnNak and OnTimeout for arrivals
// and losses, OnTimer at Deadline. After each call it reads Rate, Window and Deadline again. It does not call the
// controller of a flow that has ended.
//
// The NIC relies on these rules, which the conformance suite checks for every controller (Conform;
// conformance_test.go): a rate is a finite number above 0 and not above the line rate, a window is not negative, equal
// events lead to equal states, flows do not change the constants that they share, and no call allocates.
//
// Files:
//
//   - A controller: NAME.go, with the name that users give and _ for -.
//   - Parts of controllers: dcqcn_mlx.go (DCQCN's profile b, a Mellanox NIC), pid_target.go and pid_training.go (the
//     PID control's target and gains), tcd.go (NAME+tcd, which handles undetermined marks), window.go (NAME+win, which
//     adds a window).
//   - The interface: cc.go.
//   - Lists of controllers: registry.go, catalog.go (additional ones, such as those from files), list.go for people and
//     programs, and names.go (spellings of a name).
//   - Rules of all controllers: conform.go.
//   - Their constants: parameter.go (one), settings.go (all, with their defaults), file.go (constants in files).
//
// # Rounding
//
// A result must not depend on the processor. Go may compile x*y + z to one fused instruction with a single rounding (on
// arm64, ppc64, s390x and riscv64, and on amd64 with GOAMD64=v3); on others it rounds twice. The last bits differ, and
// with them rates, the times of departures and fingerprints. An explicit conversion rounds its operand, which prevents
// fusing, according to the Go specification ("Floating-point operators"). Hence
//
//	rate = float64(rate*(1-w)) + float64(line*w)
//
// Convert every product that is an operand of an addition or subtraction, also across statements: an assignment to a
// variable does not prevent fusing. Do not use functions of package math that are assembly on some processors (Exp,
// Log), for the same reason. Sqrt, Floor and similar functions are exact everywhere.
package cc
