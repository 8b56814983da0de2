// Package shell is the prompt of a live fabric: its verbs, which a Mininet user knows, and programs on its nodes. It is
// Linux's: elsewhere the package is empty.
//
// Where what is:
//
//   - Lines: shell.go (what a line means; the list of verbs), prompt.go (where lines come from), complete.go (how they
//     may go on),
//     history.go (those before), tally.go (how many have failed).
//   - In another terminal than the fabric's: attached.go.
//   - Verbs: look.go (what there is), screen.go (top), ping.go, iperf.go, flows.go, with background.go for flows that
//     nobody waits for, change.go
//     (links, switches, hosts and settings), run.go (programs, files of lines, help), windows.go (of terminals),
//     before.go (words before
//     a line), custom.go (the user's own).
package shell
