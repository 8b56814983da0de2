// Package kernel builds fabrics in the kernel, and carries frames through them: a network namespace a device, a veth pair a port, the
// pipelines attached as eBPF programs.
//
// Open builds a fabric and its Plane; closing the plane removes the fabric, and so does the end of the process, however it ends.
// Building needs root. Programs on a fabric's nodes run in namespaces of their own (Nodes). What a fabric whose process is gone has
// left, because something holds it, FindLeftovers finds. Explain has the advice for an error of bringing a fabric up. Off Linux there
// is only OpenPlane, for the wasm plane.
package kernel
