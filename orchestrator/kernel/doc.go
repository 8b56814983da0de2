// Package kernel builds fabrics in the kernel, and carries frames through them. Each device is a network namespace,
// each port a veth pair. The pipelines are attached as eBPF programs.
//
// Open builds a fabric and its Plane, OpenLive a live fabric's. OpenPlane opens either plane by its name. Closing the
// plane removes the fabric. So does the end of the process, even if it is killed: nothing is pinned or named. Programs
// on a fabric's nodes run in their own namespaces (Nodes). FindLeftovers finds fabrics that outlive their process
// because a program, a mount or a file holds them, and Leftover.Remove removes them. Explain adds advice to an error of
// the bring-up.
//
//   - Functions that open, build, find or probe need root (MissingCapabilities). Linux 6.1 is the oldest tested kernel.
//     OpenPlane needs neither for the wasm plane. Off Linux, only that plane works.
//   - Close each Plane, Fabric, Nodes and BarePass. A fabric consists of file descriptors, some for each node and each
//     port, so a limit of 1024 open files is reached soon (OpenFilesLimit).
//   - Close frees the State. Close users of a fabric first: the driver, captures, Nodes.
//   - One goroutine drives a Plane. Except for Resent, nothing is safe for concurrent use.
//   - The file descriptors of Namespace, Hub and Location belong to the fabric and are valid until Close. Do not close
//     them.
//   - Programs on nodes share the machine: a namespace is no sandbox (docs/live.md).
//
// Files:
//
//   - Opening planes: open.go (with errors that have advice), open_linux.go and, off Linux, open_other.go. The build
//     tag wazero selects wazero.go (the third plane) or wazero_none.go.
//   - Fabrics: fabric.go builds one from netns.go (namespaces), links.go (veth pairs and hosts' addresses) and
//     attach.go (the programs on each port). mark.go marks a namespace with its owner.
//   - Frames: plane.go (passes through the pipelines), entry.go (the interface by which frames get to the pipelines),
//     sending.go (sends into a port, and retries when the kernel is short of room), tap.go (captures frames on a wire).
//     The Outbox of ebpf/kernel returns frames that leave a port.
//   - Live fabrics: liveplane.go (passes while users change the fabric), processplane.go (switches in this process,
//     between hosts in the kernel), programs.go and ring.go (the frames of programs), liveports.go (prepares hosts'
//     interfaces for programs), disturbed.go (interfaces that somebody has deleted, moved or taken down, and their
//     routes once they are up again).
//   - Programs on nodes: node.go (the namespaces of a node), enter.go (runs programs there), foreground.go (the
//     terminal's foreground process group), controlplane.go (interfaces of a switch for its routing daemons).
//   - Leftovers of ended processes: leftover.go, clean.go. process.go identifies processes.
//   - The machine: machine.go (its kernel and limits), probe.go (its abilities), bare.go (the cost of a pass).
//   - Errors of the bring-up: explain.go finds a remedy, and close.go closes what was opened before them.
package kernel
