// Package shell implements the prompt of a live fabric: its commands, which resemble Mininet's, and programs on nodes.
// It needs Linux: elsewhere the package is empty.
//
// Files:
//
//   - Lines: shell.go (the meaning of a line; the list of commands), words.go (its words), prompt.go (sources of
//     lines), complete.go (completion), history.go (earlier lines) and tally.go (counts of failed lines).
//   - In another terminal than the fabric's: attached.go.
//   - Commands: look.go (queries), screen.go (top), ping.go, iperf.go, flows.go, background.go (background flows),
//     change.go (links, switches, hosts and settings), run.go (programs, files of lines, help), nodeshell.go (a shell
//     that a node keeps), windows.go (terminal windows), before.go (words before a line) and custom.go (the user's own
//     commands).
package shell
