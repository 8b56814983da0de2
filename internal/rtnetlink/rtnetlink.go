//go:build linux

// Package rtnetlink configures the kernel's network with many requests per system call.
package rtnetlink

import (
	"encoding/binary"
	"fmt"
	"os"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Socket sends requests to the kernel's network configuration. The kernel executes them in order. A Socket is not safe
// for concurrent use.
type Socket struct {
	fd       int
	sequence uint32    // number of the last request
	buffer   []byte    // unsent requests
	last     int       // offset of the last unsent request
	pending  []subject // subjects of the unsent requests
	answers  []byte
}

// subject describes a request for its error: "create the veth pair of", "L2-eth1".
type subject struct{ action, name string }

// batchBytes limits the size of the requests in one system call. The kernel copies them into one piece of memory.
const batchBytes = 16 << 10

// Open opens a socket in the thread's namespace; it stays there.
func Open() (*Socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open a netlink socket: %w", err)
	}
	// Without it a refusal has the whole request in it. Where it is not known (Linux 4.2), so be it.
	_ = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1)
	return &Socket{fd: fd}, nil
}

// Add queues a request, which Flush sends at the latest. An error names the rejected request by its action and
// object ("create the veth pair of", "L2-eth1"); it may concern an earlier request.
func (r *Socket) Add(req *nl.NetlinkRequest, action, name string) error {
	r.sequence++
	req.Seq = r.sequence
	r.last = len(r.buffer)
	r.buffer = append(r.buffer, req.Serialize()...)
	for len(r.buffer)%unix.NLMSG_ALIGNTO != 0 {
		r.buffer = append(r.buffer, 0)
	}
	r.pending = append(r.pending, subject{action, name})
	if len(r.buffer) < batchBytes {
		return nil
	}
	return r.Flush()
}

// Flush sends the requests and waits until the kernel has executed them. It returns the error of the first rejected
// request. The kernel executes the requests after it nevertheless.
func (r *Socket) Flush() error {
	if len(r.pending) == 0 {
		return nil
	}
	// Only the last is acknowledged, which it is when all have been dealt with. Refusals come unasked.
	flags := r.buffer[r.last+6:]
	binary.NativeEndian.PutUint16(flags, binary.NativeEndian.Uint16(flags)|unix.NLM_F_ACK)
	err := unix.Sendto(r.fd, r.buffer, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	if err != nil {
		err = os.NewSyscallError("sendto", err)
		err = fmt.Errorf("%s %s: %w", r.pending[0].action, r.pending[0].name, err)
	} else {
		err = r.await()
	}
	r.buffer, r.pending = r.buffer[:0], r.pending[:0]
	return err
}

// await reads the kernel's answers to the pending requests.
func (r *Socket) await() (refused error) {
	if r.answers == nil {
		r.answers = make([]byte, 1<<13)
	}
	first := r.sequence + 1 - uint32(len(r.pending))
	for {
		n, _, err := unix.Recvfrom(r.fd, r.answers, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", r.pending[0].action, r.pending[0].name, os.NewSyscallError("recvfrom", err))
		}
		messages, err := syscall.ParseNetlinkMessage(r.answers[:n])
		if err != nil {
			return fmt.Errorf("read the kernel's answer: %w", err)
		}
		for _, m := range messages {
			if m.Header.Type != unix.NLMSG_ERROR || m.Header.Seq < first || len(m.Data) < 4 {
				continue
			}
			if number := -int32(binary.NativeEndian.Uint32(m.Data)); number != 0 && refused == nil {
				s := r.pending[m.Header.Seq-first]
				refused = fmt.Errorf("%s %s: %w", s.action, s.name, unix.Errno(number))
			}
			if m.Header.Seq == r.sequence {
				return refused
			}
		}
	}
}

// Close closes the socket. Requests that have not been sent are dropped.
func (r *Socket) Close() error { return os.NewSyscallError("close", unix.Close(r.fd)) }
