// Package qp implements the RDMA queue pairs of programs on a NIC of package hostagent: their work requests, messages
// and completions. It does no IO, starts no goroutine and reads no clock.
//
// Life cycle: NewDevice takes a NIC, and Device.NewPair opens a queue pair of the reliable connection service on it.
// Init, Connect and Start take the queue pair from RESET by INIT and RTR to RTS, as ibv_modify_qp does; Fail and
// Reset take it out of service. PostSend and PostReceive post work requests, whose memory, completions and events are
// a Program's.
//
//   - Nothing here is safe for concurrent use. The driver of the NIC also calls a queue pair's methods.
//   - After PostSend the NIC's port must be served if it is free.
//   - Frames must carry payload.
//
// Files:
//
//   - A queue pair: queuepair.go (its states, and the methods for its connection), requester.go (the send queue),
//     responder.go (requests from the other end).
//   - Work requests, completions, receive queues, and the Program interface: work.go.
//   - Queue pairs of the unreliable datagram service: datagrams.go.
package qp
