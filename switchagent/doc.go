// Package switchagent is a switch's traffic manager: per-port, per-priority queues, the scheduler, the shared buffer
// and its headroom, the gate that flow control opens and shuts, and the departure record that each frame takes along.
// The switch's pipelines (package ebpf) decide; this package holds the packets. It does no IO, starts no goroutine and
// reads no clock.
//
// Life cycle: Settings.Resolve makes the buffer and each port's thresholds of the settings and the cables, and New the
// switch. Package orchestrator/engine then calls Enqueue with what the ingress pipeline forwarded, and Dequeue when a
// port is free. After each Dequeue it looks at Due, and sends those RESUMEs. Paused and Resumed tell the switch which
// PAUSE and RESUME frames were sent.
//
//   - Nothing here is safe for concurrent use. The ebpf.State belongs to pipelines and traffic managers together: it
//     may be touched
//     between two passes through the pipelines, by the goroutine that drives them.
//   - A frame that Enqueue does not admit stays the caller's. Its ingress port's account is right again by then.
//   - What Due returns is valid until the next Dequeue or FindDue.
//   - Ports go by their ids in the fabric, not by their numbers in the switch.
//   - Bytes are as the topology's framing counts them (ebpf.SwitchState.Counted), except in Port.Backlog, which has
//     whole frames.
//   - Settings are kept by pointer and not checked. settings.CheckSwitch says whether they can work.
//
// Files:
//
//   - The traffic manager: switch.go, scheduler.go (which priority is next), discard.go (what a port refuses, or throws
//     away),
//     trim.go (what goes on without its payload).
//   - The switch's own processor, in live fabrics: processor.go (ARP, neighbour discovery, ICMP), fragments.go (of what
//     exceeds a port's MTU).
//   - What is set: settings.go, detector.go (ECN or TCD), watchdog.go, balancing.go.
//   - Flow control: flowcontrol.go (PFC or credits), and auto.go (buffers, thresholds and credits that follow from
//     cables).
package switchagent
