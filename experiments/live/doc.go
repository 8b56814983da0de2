// Package live brings live fabrics up, and is what a shell and other terminals do with one: start flows, change
// settings, run programs on nodes, look at what happens.
//
// Life cycle: NewSetup resolves a scenario under one congestion control, BringUp builds the fabric of it and starts its
// clock, and Close ends it and returns the Verdict. In between, the methods of Fabric are what the shell's verbs call.
// Another process reaches a fabric that has a name by Dial, over a socket below Folder; a Client's methods are what the
// verbs of the command line call. Names lists the fabrics that are up; Ended has the Record of one that ended without
// anybody asking.
//
//   - BringUp needs root, and so does Dial: Folder is root's alone.
//   - Every Fabric is to be closed, also one that has ended by itself (Done): Close removes what is in the kernel and
//     ends the programs on its
//     nodes. Without it, they end with the process. A Client is to be closed, too.
//   - The methods of Fabric may be called from several goroutines. What they are given to call, such as StartFlows'
//     ended, is called on
//     the engine's goroutine: it must return at once, and must not call Fabric.
//   - A function given to Do runs between two events, and virtual time waits for it.
//   - Errors of what the user asked for are told from others: a Refusal is what a Client's fabric has answered, a
//     runner.EnvironmentError the
//     machine's fault, and live.ErrEnded of package orchestrator/wallclock says that the fabric is no more.
//   - Off Linux there is little but NewSetup.
//
// Files:
//
//   - A fabric: setup.go (what it is made from), fabric.go (from bring-up to its end), owner.go (who brought it up),
//     warnings.go (what is
//     off with it though it is up), verdict.go.
//   - What users do: flows.go (RDMA flows), ping.go, run.go (programs on nodes), change.go (settings), linkfault.go and
//     hostfault.go.
//   - What users see: describe.go (nodes and links), snapshot.go (one moment), top.go (between two), ended.go (flows
//     that have ended),
//     capture.go (frames on the wires).
//   - Metrics for Prometheus: metrics.go; guests.go bounds the connections of those who read them, or a page.
//   - Events: event.go (their kinds), watcher.go (what the engine tells), reader.go (who reads them).
//   - Other terminals: control.go (the socket, its requests and replies), streams.go (replies that go on),
//     connections.go (who is
//     connected, and a listener that an error does not end, the metrics' too), inside.go (programs on nodes), rights.go
//     (open files sent
//     along); client.go is the other end.
//   - What outlives a fabric: record.go (what it was, and why it ended), left.go (the files that it left).
package live
