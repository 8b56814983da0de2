//go:build linux

package verbs

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shared holds memory that is shared with a program. The program cannot change its size.
type shared struct {
	memory []byte
	fd     int // file to send to the program; -1 once sent
}

func newShared(name string, size int) (s *shared, err error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make memory for a program: %w", err)
	}
	s = &shared{fd: fd}
	if err = unix.Ftruncate(fd, int64(size)); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err == nil {
		s.memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("make memory for a program: %w", err)
	}
	return s, nil
}

// word returns a pointer to a 32-bit number in it.
func (s *shared) word(offset int) *uint32 { return (*uint32)(unsafe.Pointer(&s.memory[offset])) }

// give returns the file, which the caller sends and closes.
func (s *shared) give() int {
	fd := s.fd
	s.fd = -1
	return fd
}

func (s *shared) close() {
	if s.fd >= 0 {
		_ = unix.Close(s.fd)
	}
	_ = unix.Munmap(s.memory)
}

// page holds the memory that all completion queues of a connection share: a count of completions, on which the program
// sleeps.
type page struct {
	*shared
	completions uint32
}

const pageSize = 4096

// completed wakes the program if it sleeps.
func (p *page) completed() {
	p.completions++
	atomic.StoreUint32(p.word(0), p.completions)
	if atomic.LoadUint32(p.word(4)) != 0 {
		const wake, all = 1, 1 << 30 // FUTEX_WAKE
		unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(p.word(0))), wake, all, 0, 0, 0)
	}
}

// channel carries messages to a program: completions, asynchronous events, or events of the connection manager.
type channel struct {
	fd    int // this end
	users int
}

// newChannel returns this end of a new channel, and the program's end.
func newChannel() (own *channel, theirs int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, -1, err
	}
	return &channel{fd: pair[0]}, pair[1], nil
}

// notify sends a message. If the program does not read its messages, the message is lost.
func (c *channel) notify(words ...uint64) {
	var space [(cmEventWords + maxPrivate/8 + 1) * 8]byte
	b := putWords(space[:0], words...)
	unix.RawSyscall6(unix.SYS_SENDTO, uintptr(c.fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
}

func (c *channel) close() { _ = unix.Close(c.fd) }

// arming selects when a completion queue notifies its channel.
type arming uint8

const (
	armedNever arming = iota
	armedSolicited
	armedAlways
)

// queue implements a completion queue: a ring in memory that is shared with the program.
type queue struct {
	*shared
	size      uint32 // entries, a power of 2
	written   uint32
	solicited uint32 // written, after the last solicited completion or error
	overrun   bool
	cookie    uint64
	channel   *channel // nil: none
	armed     arming
	users     int
}

// ringSize returns the number of entries in the ring of a queue for this many completions. At least one entry stays
// unused, to distinguish full from empty.
func ringSize(completions uint32) uint32 { return max(16, uint32(1)<<bits.Len32(completions)) }

// completion represents an entry of a ring: struct entry of verbs/c/library.h.
type completion struct {
	id                                         uint64
	status, opcode, length, immediate, qp, src uint32
	flags                                      uint32
	at                                         uint64 // virtual time in ns
}

// push puts a completion into the ring. It returns false if the ring is full: the completion is lost.
func (q *queue) push(c *completion) bool {
	if q.overrun || q.written-atomic.LoadUint32(q.word(ringHeader/2)) >= q.size {
		return false
	}
	b := q.memory[ringHeader+int(q.written&(q.size-1))*ringEntry:][:ringEntry]
	binary.NativeEndian.PutUint64(b, c.id)
	for i, w := range [...]uint32{c.status, c.opcode, c.length, c.immediate, c.qp, c.src, c.flags} {
		binary.NativeEndian.PutUint32(b[8+4*i:], w)
	}
	binary.NativeEndian.PutUint64(b[40:], c.at)
	q.written++
	atomic.StoreUint32(q.word(0), q.written)
	return true
}

// arm requests one event: for the next completion, or at once if the program has not read the last one yet. mlx5's NICs
// do the same, as their requests carry the read position. Without it, programs such as UCX, which poll and then
// request, would wait for ever if a completion arrives in between.
func (q *queue) arm(how arming) {
	last := q.written
	if how == armedSolicited {
		last = q.solicited
	}
	q.armed = how
	if int32(last-atomic.LoadUint32(q.word(ringHeader/2))) > 0 {
		q.event()
	}
}

// notify sends an event for the completion that was pushed last, if the program requested one.
func (q *queue) notify(solicited bool) {
	if solicited {
		q.solicited = q.written
	}
	if q.armed == armedAlways || q.armed == armedSolicited && solicited {
		q.event()
	}
}

func (q *queue) event() {
	q.armed = armedNever
	if q.channel != nil {
		q.channel.notify(q.cookie)
	}
}
