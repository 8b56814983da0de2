// Package kernel builds fabrics in the kernel, and carries frames through them: a network namespace a device, a veth pair a port, the
// pipelines attached as eBPF programs.
//
// Open builds a fabric and its Plane; closing the plane removes the fabric, and so does the end of the process, however it ends: nothing
// is pinned or named. Programs on a fabric's nodes run in namespaces of their own (Nodes). What a fabric whose process is gone has
// left, because something holds it, FindLeftovers finds and Leftover.Remove removes. Explain has the advice for an error of bringing a
// fabric up. OpenPlane opens either plane by its name.
//
//   - Whatever opens, builds, finds or probes needs root (MissingCapabilities), and Linux 6.1 is the oldest that is tested. OpenPlane needs
//     neither for the wasm plane, and off Linux there is little but that.
//   - Whatever was opened is to be closed: Plane, Fabric, Nodes, BarePass. A fabric is made of file
//     descriptors, some for each node and each port, so a limit of 1024 open files is met soon (OpenFilesLimit).
//   - Close frees the State. Close what uses a fabric first: the driver, captures, Nodes.
//   - One goroutine drives a Plane. Resent apart, nothing of it is safe for concurrent use.
//   - The file descriptors of Namespace, Hub and Place belong to the fabric and are valid until Close. Do not close them.
//   - Programs on nodes share the machine: a namespace is no sandbox (docs/live.md).
package kernel
