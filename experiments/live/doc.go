// Package live brings live fabrics up, and implements the work of a shell and of other terminals: it starts flows,
// changes settings, runs programs on nodes, and shows the state of a fabric.
//
// Life cycle: NewSetup resolves a scenario under one congestion control, BringUp builds its fabric and starts the
// clock, and Close ends the fabric and returns the Verdict. In between, the shell's verbs call methods of Fabric.
// Another process connects by Dial to a fabric that has a name, over a socket in Folder, and the verbs of the command
// line call methods of Client. Names lists the fabrics that are up. Ended returns the Record of one that ended without
// a request.
//
//   - BringUp needs root, and so does Dial: only root can access Folder.
//   - Close every Fabric, also one that has ended by itself (Done). Close removes its parts from the kernel and ends
//     the programs on its nodes. Without it, they end with the process. Close every Client, too.
//   - Several goroutines may call the methods of Fabric. Functions passed to them, such as StartFlows' ended, are
//     called on the engine's goroutine: they must return at once, and must not call Fabric.
//   - A function given to Do runs between two events, and virtual time waits for it.
//   - The type of an error tells its cause. A Refusal is an answer of a Client's fabric. A runner.EnvironmentError
//     means that this machine cannot run the fabric. ErrEnded means that the fabric has ended.
//   - On systems other than Linux there is little besides NewSetup.
//
// Files:
//
//   - A fabric: setup.go (its input), fabric.go (what the other files know of it), bringup.go (from bring-up to its
//     end), owner.go (who brought it up), warnings.go (likely problems of a fabric that is up), clock.go (whether the
//     machine keeps up) and verdict.go.
//   - Commands of users: flows.go (RDMA flows), ping.go, run.go (programs on nodes), change.go (settings), fault.go
//     (faults, and their ends by themselves), linkfault.go and hostfault.go.
//   - The switches' control plane in the kernel: routing.go.
//   - State for users: describe.go (nodes and links), snapshot.go (one moment), top.go (changes between two),
//     counters.go, ended.go (finished flows) and capture.go (frames on the links).
//   - Metrics for Prometheus: metrics.go, written by exposition.go; limitedlistener.go limits connections to the
//     metrics, or to a page.
//   - Events: event.go (their kinds), watcher.go (receives them from the engine), reader.go (delivers them).
//   - Other terminals: protocol.go (requests and replies), control.go (the socket), streams.go (replies that continue),
//     connections.go (open connections, and a listener that survives errors, also for the metrics), inside.go (programs
//     on nodes), rights.go (open files sent with data); client.go is the other end.
//   - Files that outlast a fabric: record.go (its description, and why it ended), left.go (its leftover files).
package live
