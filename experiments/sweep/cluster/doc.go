// Package cluster makes the points of a sweep on other machines, through a NATS server.
//
// A Coordinator gives missing points to workers that request them. It receives and checks the results, and installs
// them into the sweep's folder, which becomes the same as that of a local sweep. A Worker makes points until
// there are none left. Either may die at any time: the point of a dead worker goes to another one, and a restarted
// coordinator continues from its folder and state.
//
// The coordinator trusts results only as far as it has compared them. Versions and builds must be equal. A worker that
// joins first makes canaries: points under a new seed, whose results the coordinator compares with its own. If a point
// is made twice, or chosen for an audit, both results must have the same files, byte for byte. If they differ, the
// coordinator runs the point itself. It then excludes each worker whose result differs, and reruns all points of that
// worker.
//
// A search does not know its points beforehand: Coordinator.Open and Coordinator.Make give them to workers one by one.
//
//   - Only workers send requests. Each worker signs its requests with its own key. The coordinator signs each answer,
//     which is bound to the request and sent to the worker's own inbox. Besides, it publishes empty messages that ask
//     all workers to send a request at once.
//   - The coordinator receives one result at a time; audits run concurrently. All change the state under one lock.
//   - Results are streamed to and from files, so memory does not grow with their size.
//   - Join contains a secret. It is written only to files that the user alone can read (Secrets), never to messages or
//     arguments.
//
// Files:
//
//   - Messages: protocol.go. Access and connections: access.go, connect.go, secrets.go, identity.go (signatures).
//   - The coordinator: coordinator.go, join.go (workers that join), leases.go (points given to workers), results.go
//     (checked results), jobs.go (points that come one by one), state.go (for a restart), status.go (progress).
//   - The worker: worker.go. A point's folder as an archive: archive.go.
//   - The server that the coordinator may start: package embedded.
package cluster
