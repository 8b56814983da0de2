// Package hostagent simulates a host's RDMA NIC: flows of RoCEv2 packets, pulled by the port when it is free and not
// paused, paced by a congestion controller, acknowledged, and repaired by go-back-N or selective repeat. It does no
// IO, starts no goroutine and reads no clock.
//
// Life cycle: NewNIC returns one host's NIC. Expect prepares a flow's receiving half at its destination; Start then
// adds the sending half at its source. The driver of the NIC, package orchestrator/engine, calls it in the order of
// virtual time: Receive for a frame that arrives, Dequeue when the port is free, and OnTimer of a Sender or Receiver
// at the time that it passed to its Clock. The NIC calls Clock.Done when the last byte of a flow is acknowledged.
// Forget ends the receiving half.
//
//   - Nothing here is safe for concurrent use: neither a NIC nor its flows nor the pool of frames that they share.
//   - Virtual time must not decrease from one call to the next. Nothing checks that.
//   - Expect comes before the first packet of its flow arrives. A packet without a receiver is counted
//     (Counters.Stray) and not answered.
//   - A frame passed to Receive remains the caller's. A frame that Dequeue returns becomes the caller's, to be put
//     back into the pool.
//   - Settings are kept by pointer and not checked. settings.CheckHost reports whether they can work.
//   - HeadersOnly is set before the first flow starts, as the plane's CarriesPayload requires.
//   - Users may supply controllers. A rate that is not a number above 0, or exceeds 10 Tb/s, stops its flow without an
//     error: check Sender.ControlError at the end.
//
// Files:
//
//   - A NIC: nic.go, pacer.go (flows by the time of their next packet), qptable.go (senders and receivers by queue
//     pair number), class.go (flows by priority, and their turns), traits.go (properties of single flows: weights,
//     stops, periods), settings.go.
//   - A flow: sender.go (the sending half), reaction.go (the reaction point: congestion notifications and timers),
//     receiver.go and notify.go (the notification point: ACKs, and CNPs), entropy.go (source ports by the packet).
//   - Lost packets: gobackn.go; selective repeat's sender in selective.go, its receiver in placement.go.
//   - Grants: grants.go (a flow that sends only granted bytes), granter.go (the receivers, which grant in turns).
//   - Queue pairs of programs: connection.go (the packets' transport). Their messages are in package qp.
//   - Controllers with impossible rates or windows: controlerror.go. A NIC that is slow to receive: slowreceiver.go.
//   - Reasons for packets' departure times: flowrecorder.go.
package hostagent
