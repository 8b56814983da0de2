//go:build linux

package orchestrator

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// tap sees what is on the wire into one port: the outgoing frames of its outer end, past the egress pipeline and before
// the ingress pipeline.
type tap struct {
	fd     int
	buffer []byte
	call   func(wire []byte)
}

// Tap has call called with each frame as it is on the wire into port in, within the Cross that carries it.
func (p *KernelPlane) Tap(in int, call func(wire []byte)) error {
	t := &tap{fd: -1, buffer: make([]byte, 1<<16), call: call}
	err := p.inBackplane(func() (err error) {
		t.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open a capture socket: %w", err)
		}
		// A crossing leaves one frame here and takes it at once: no room is needed beyond it.
		return unix.Bind(t.fd, &unix.SockaddrLinklayer{
			Protocol: hostToNetwork(unix.ETH_P_ALL), Ifindex: int(outerIfindex(0)) + in,
		})
	})
	if err != nil {
		return err
	}
	p.taps[in] = t
	return nil
}

// drain takes what the crossing left. A tick is on no wire: it is taken and forgotten.
func (t *tap) drain(onWire bool) error {
	for {
		n, from, err := unix.Recvfrom(t.fd, t.buffer, 0)
		if err == unix.EAGAIN {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a captured frame: %w", err)
		}
		// The port's outer end also receives what comes out of the port; that is not on this wire yet.
		if a, ok := from.(*unix.SockaddrLinklayer); ok && onWire && a.Pkttype == unix.PACKET_OUTGOING {
			t.call(t.buffer[:n])
		}
	}
}

// Close closes the tap.
func (t *tap) Close() error { return unix.Close(t.fd) }
