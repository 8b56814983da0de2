// Package cluster makes the points of a sweep on other machines, by way of a NATS server.
//
// A Coordinator gives the points that are not there yet to workers that ask for them, takes results, checks and
// installs them into the sweep's folder, which then is the one that a local sweep makes. A worker (Hand) takes points
// until there are none. Either may die at any time: a point whose worker is gone goes to another one, and a coordinator
// that begins again goes on from the folder and the state that it left.
//
// A result is trusted no further than it has been compared. Versions and builds are equal; a worker makes canaries,
// under a new seed, as it joins; a point that comes twice, or is chosen for an audit, has to come to the same files,
// byte for byte. Where two differ the coordinator makes the point itself; who differs from that is shut out, and all of
// its points are made again.
//
//   - Workers only ask, and the coordinator only answers. Each worker signs its requests with its own key, each answer
//     is signed by the
//     coordinator and bound to the request, and it goes into the asker's inbox alone.
//   - Results are taken one after the other; audits run beside them. All change the state under one lock.
//   - Results are streamed to and from files: memory does not grow with their size.
//   - Join has a secret in it. It goes into files of the user's alone (Secrets), never into messages or arguments.
//
// Files:
//
//   - What coordinator and worker say to each other: protocol.go. Who may what, and how they connect: access.go,
//     connect.go, secrets.go,
//     identity.go (signatures).
//   - The coordinator: coordinator.go, join.go (who is let in and answered), leases.go (who has which point),
//     results.go (what is taken,
//     and from whom), state.go (what outlives it), status.go (how far all is).
//   - The worker: worker.go. A point's folder on its way: archive.go.
//   - The server that the coordinator may bring: package embedded.
package cluster
