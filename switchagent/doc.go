// Package switchagent implements a switch's traffic manager: per-port, per-priority queues, the scheduler, the shared
// buffer and its headroom, the gate that flow control opens and shuts, and the departure record that each frame takes
// along. The switch's pipelines (package ebpf) decide; this package holds the packets. It does no IO, starts no
// goroutine and reads no clock.
//
// Life cycle: Settings.Resolve computes the buffer and each port's thresholds from the settings and the cables, for
// New. Package orchestrator/engine then calls Enqueue with frames that the ingress pipeline forwarded, and Dequeue when
// a port is free. After each Dequeue it sends the RESUMEs that Due returns. It reports the PAUSE and RESUME frames that
// were sent with Paused and Resumed.
//
//   - Nothing here is safe for concurrent use. Pipelines and traffic managers share the ebpf.State: access it only
//     between two passes through the pipelines, on the goroutine that drives them.
//   - A frame that Enqueue does not admit stays the caller's. Enqueue has removed it from its ingress port's account.
//   - The result of Due is valid until the next Dequeue, FindDue or Flush.
//   - Ports are identified by their IDs in the fabric, not by their numbers in the switch.
//   - Bytes are counted by the topology's framing (ebpf.SwitchState.Counted), except in Port.Backlog, which counts
//     whole frames.
//   - Settings are kept by pointer and not checked. settings.CheckSwitch reports whether they can work.
//
// Files:
//
//   - The traffic manager: switch.go, scheduler.go (the next priority), discard.go (frames that a port refuses or
//     flushes), trim.go (frames cut to their headers).
//   - The switch's own processor, in live fabrics: processor.go (ARP, neighbour discovery, ICMP), fragments.go
//     (fragments of packets that exceed a port's MTU).
//   - Settings: settings.go, detector.go (ECN or TCD), watchdog.go.
//   - Flow control: flowcontrol.go (PFC or credits), and auto.go (buffers, thresholds and credits that follow from
//     cables).
package switchagent
