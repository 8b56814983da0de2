//go:build linux

package live

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// ErrInterrupted means that the user interrupted the wait.
var ErrInterrupted = errors.New("interrupted")

// pingCheckInterval sets how often Ping checks for an interruption.
const pingCheckInterval = 100 * time.Millisecond

// Ping sends an ICMP echo request (RFC 792) from a host to all others at once, and returns each round-trip time in
// virtual time; 0 means no answer. timeout is wall-clock time without the time for which the fabric stood still because
// the machine could not keep up. Closing interrupted, which may be nil, ends the wait with ErrInterrupted.
func (f *Fabric) Ping(from *topologies.Node, to []*topologies.Node, timeout time.Duration,
	interrupted <-chan struct{},
) ([]vtime.Time, error) {
	fd, err := kernel.SocketIn(f.plane.Fabric().Namespace(from.ID), unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC,
		unix.IPPROTO_ICMP)
	if err != nil {
		return nil, fmt.Errorf("ping from %s: %w", from.Name, err)
	}
	defer unix.Close(fd)
	const echo, reply = 8, 0
	identifier := uint16(time.Now().UnixNano())
	started, err := f.virtualNow()
	if err != nil {
		return nil, err
	}
	sent := make([]time.Time, len(to))
	took := make([]vtime.Time, len(to))
	index := map[netip.Addr]int{}
	for i, n := range to {
		var b [64]byte
		b[0] = echo
		binary.BigEndian.PutUint16(b[4:], identifier)
		binary.BigEndian.PutUint16(b[6:], uint16(i))
		var sum uint32
		for k := 0; k < len(b); k += 2 {
			sum += uint32(binary.BigEndian.Uint16(b[k:]))
		}
		for sum>>16 != 0 {
			sum = sum>>16 + sum&0xffff
		}
		binary.BigEndian.PutUint16(b[2:], ^uint16(sum))
		index[n.Addr] = i
		sent[i] = time.Now()
		if err := unix.Sendto(fd, b[:], 0, &unix.SockaddrInet4{Addr: n.Addr.As4()}); err != nil {
			continue // the interface is down, so no answer follows
		}
	}
	deadline := time.Now().Add(timeout)
	buffer := make([]byte, 256)
	for left := len(to); left > 0; {
		wait := time.Until(deadline)
		over := false
		if wait <= 0 {
			now, err := f.virtualNow()
			if err != nil {
				return nil, err
			}
			wait = timeout - f.Wall(now-started)
			deadline, over = time.Now().Add(wait), wait <= 0
		}
		select {
		case <-interrupted:
			return nil, ErrInterrupted
		default:
		}
		limit := unix.NsecToTimeval(int64(min(max(wait, time.Millisecond), pingCheckInterval)))
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
			return nil, err
		}
		n, peer, err := unix.Recvfrom(fd, buffer, 0)
		if err != nil {
			if over { // all answers so far have been read
				break
			}
			continue
		}
		at := time.Now()
		header := int(buffer[0]&0xf) * 4
		from, ok := peer.(*unix.SockaddrInet4)
		if !ok || n < header+8 || buffer[header] != reply || binary.BigEndian.Uint16(buffer[header+4:]) != identifier {
			continue
		}
		if i, known := index[netip.AddrFrom4(from.Addr)]; known && took[i] == 0 {
			took[i] = f.Virtual(sent[i], at)
			left--
		}
	}
	return took, nil
}

// virtualNow returns the fabric's virtual time.
func (f *Fabric) virtualNow() (now vtime.Time, err error) {
	err = f.Do(func(e *engine.Engine) error { now = e.Now(); return nil })
	return now, err
}
