// Package kernel builds fabrics in the kernel, and carries frames through them: a network namespace a device, a veth
// pair a port, the pipelines attached as eBPF programs.
//
// Open builds a fabric and its Plane, OpenLive a live fabric's; closing the plane removes the fabric, and so does the
// end of the process, however it ends: nothing is pinned or named. Programs on a fabric's nodes run in namespaces of
// their own (Nodes). What a fabric whose process is gone has left, because something holds it, FindLeftovers finds and
// Leftover.Remove removes. Explain has the advice for an error of bringing a fabric up. OpenPlane opens either plane by
// its name.
//
//   - Whatever opens, builds, finds or probes needs root (MissingCapabilities), and Linux 6.1 is the oldest that is
//     tested. OpenPlane needs
//     neither for the wasm plane, and off Linux there is little but that.
//   - Whatever was opened is to be closed: Plane, Fabric, Nodes, BarePass. A fabric is made of file
//     descriptors, some for each node and each port, so a limit of 1024 open files is met soon (OpenFilesLimit).
//   - Close frees the State. Close what uses a fabric first: the driver, captures, Nodes.
//   - One goroutine drives a Plane. Resent apart, nothing of it is safe for concurrent use.
//   - The file descriptors of Namespace, Hub and Place belong to the fabric and are valid until Close. Do not close
//     them.
//   - Programs on nodes share the machine: a namespace is no sandbox (docs/live.md).
//
// Files:
//
//   - Opening either plane: open.go (with errors that have advice), open_linux.go and, off Linux, open_other.go;
//     wazero.go (the third plane) and wazero_none.go go by the
//     build tag wazero.
//   - A fabric: fabric.go builds it, of netns.go (namespaces), links.go (veth pairs and hosts' addresses) and attach.go
//     (the programs on
//     each port); mark.go writes down whose a namespace is.
//   - Frames: plane.go (passes through the pipelines), sending.go (into a port, also where the kernel is short of
//     room), tap.go (what
//     is on a wire); out of a port they come by ebpf/kernel's Outbox.
//   - Live fabrics: liveplane.go (passes while users do what they like), processplane.go (switches in this process,
//     between hosts in the kernel), programs.go and ring.go (the frames
//     of programs), liveports.go (hosts' interfaces made fit for programs), disturbed.go
//     (interfaces that somebody has deleted, moved or taken down, and their routes once they are up again).
//   - Programs on nodes: node.go (the namespaces of a node), enter.go (running there), foreground.go (who has the
//     terminal).
//   - What fabrics leave whose process is gone: leftover.go, clean.go; process.go tells processes apart.
//   - The machine: machine.go (what it is), probe.go (what it can do), bare.go (what a pass costs).
//   - Errors of bringing up: explain.go knows what to do about them.
package kernel
