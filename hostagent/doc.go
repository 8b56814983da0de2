// Package hostagent is a host's RDMA NIC: flows of RoCEv2 packets, pulled by the port when it is free and not paused,
// paced by a congestion controller, acknowledged, and repaired by go-back-N or selective repeat. It does no IO, starts no goroutine and reads no clock.
//
// Life cycle: NewNIC makes one host's NIC. Expect readies a flow's receiving half at its destination; Start then adds the sending half
// at its source. Whoever drives the NIC, package orchestrator/engine, calls it in the order of virtual time: Receive for a frame that
// arrives, Dequeue when the port is free, OnTimer of a Sender or Receiver at the time that it gave to its Clock. Clock.Done says that
// the last byte of a flow is acknowledged, and Forget ends the receiving half.
//
//   - Nothing here is safe for concurrent use: neither a NIC nor its flows nor the pool of frames that they share.
//   - Virtual time must not fall from one call to the next. Nothing checks that.
//   - Expect comes before the first packet of its flow arrives: a packet without a receiver is counted (Counters.Stray) and not answered.
//   - A frame that Receive was given stays the caller's. One that Dequeue returns is the caller's too, to be put back into the pool.
//   - Settings are kept by pointer and not checked. settings.CheckHost says whether they can work.
//   - HeadersOnly is set before the first flow starts, as the plane's CarriesPayload says.
//   - A controller is other people's code. A rate that is no number above 0, or is above 10 Tb/s, stops its flow and is no error: ask Sender.Broken at the end.
//
// Where what is:
//
//   - A NIC: nic.go, pacer.go (flows by the time of their next packet), pairs.go (halves of queue pairs by number), class.go (flows by
//     priority, and whose turn it is), traits.go (how flows differ: weights, stops, periods), settings.go.
//   - A flow: sender.go (the reaction point), receiver.go and notify.go (the notification point: ACKs, and CNPs),
//     entropy.go (source ports by the packet).
//   - Grants: grants.go (of a flow that sends only what it is granted, and of the receivers that grant by turns).
//   - Selective repeat: selective.go (its sender), placement.go (its receiver).
//   - Queue pairs of programs, which send messages: queuepair.go, work.go (what is posted, and what comes of it), requester.go, responder.go;
//     datagrams.go (those of datagrams).
//   - A controller that says what cannot be done: broken.go.
//   - Who is told why packets leave when they do: reasons.go.
package hostagent
