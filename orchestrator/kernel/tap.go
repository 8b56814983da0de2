//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
)

// tap receives the frames on the link into one port: incoming frames of its inner end, after the egress pipeline and
// before the ingress pipeline.
type tap struct {
	fd     int
	buffer []byte
	call   func(wire []byte)
}

// Tap calls call with each frame on the link into port in, during the Process that carries it.
func (p *Plane) Tap(in int, call func(wire []byte)) error {
	t := &tap{fd: -1, buffer: make([]byte, 1<<16), call: call}
	port := &p.fabric.plan.Ports[in]
	err := In(int(p.fabric.devices[port.Node]), func() (err error) {
		t.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open a capture socket: %w", err)
		}
		// What a node's programs send is not on this wire, and would fill the socket between two frames that are.
		if err := incomingOnly(t.fd); err != nil {
			return err
		}
		return unix.Bind(t.fd, &unix.SockaddrLinklayer{
			Protocol: hostToNetwork(unix.ETH_P_ALL), Ifindex: int(fill.InnerIfindex(port)),
		})
	})
	if err != nil {
		if t.fd >= 0 {
			err = errors.Join(err, t.Close())
		}
		return fmt.Errorf("capture at %s: %w", port.Name, err)
	}
	p.taps[in] = t
	return nil
}

// incomingOnly makes a packet socket receive only frames from another namespace: neither outgoing frames nor their
// copies for the sender's own namespace (multicast).
func incomingOnly(fd int) error {
	const adPacketType = 0xfffff000 + 4 // SKF_AD_OFF + SKF_AD_PKTTYPE of linux/filter.h
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: adPacketType},
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: unix.PACKET_OUTGOING, Jt: 1}, // PACKET_LOOPBACK is greater
		{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 18},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	}
	if err := attachFilter(fd, program); err != nil {
		return fmt.Errorf("filter the capture socket: %w", err)
	}
	return nil
}

// drainTap delivers the frames of a pass into a port to its tap.
func (p *Plane) drainTap(in int) error {
	if t := p.taps[in]; t != nil {
		return t.drain(p.pass.Trigger == ebpf.TriggerNone)
	}
	return nil
}

// drain reads the frames of the pass. It discards a trigger, which is on no link.
func (t *tap) drain(onWire bool) error {
	for {
		n, _, e := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(t.fd), uintptr(unsafe.Pointer(&t.buffer[0])),
			uintptr(len(t.buffer)), 0, 0, 0)
		if e == unix.EAGAIN {
			return nil
		}
		if e != 0 {
			return fmt.Errorf("read a captured frame: %w", e)
		}
		if onWire {
			t.call(t.buffer[:n])
		}
	}
}

// Close closes the tap.
func (t *tap) Close() error { return unix.Close(t.fd) }

// Untap ends the tap of port in.
func (p *Plane) Untap(in int) error {
	t := p.taps[in]
	if t == nil {
		return nil
	}
	delete(p.taps, in)
	return t.Close()
}
