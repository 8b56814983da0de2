//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/ebpf"
)

// ring implements an AF_PACKET receive ring (TPACKET_V2) over every interface of the hub namespace, for frames that
// programs send. V3 would hold a lone frame back until its block fills; V2 delivers it at once.
type ring struct {
	rx     int
	memory []byte
	slot   int // size of a slot in bytes
	slots  int
	next   int
}

// Offsets in a TPACKET_V2 slot: struct tpacket2_hdr, then struct sockaddr_ll.
const (
	tpStatus   = 0
	tpLen      = 4
	tpSnapLen  = 8
	tpMAC      = 12
	tpSeconds  = 16
	tpNanos    = 20
	tpIfindex  = 32 + 4
	tpHeadroom = 32 + 20 + 64 // header, address, and the kernel's padding before the frame
)

// newRing opens the socket in the calling thread's namespace. frame is the maximum size of a frame in bytes; slots is a
// power of 2, at least 32. The ring gets only the frames that the filter accepts.
func newRing(frame, slots int, filter []unix.SockFilter) (r *ring, err error) {
	r = &ring{rx: -1, slots: slots, slot: 2048}
	for r.slot < frame+tpHeadroom {
		r.slot *= 2
	}
	defer CloseFailed(&r, &err)
	if r.rx, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return r, fmt.Errorf("open a packet socket: %w", err)
	}
	if err := unix.SetsockoptInt(r.rx, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V2); err != nil {
		return r, fmt.Errorf("choose TPACKET_V2: %w", err)
	}
	// Frames that the plane sends into the outer ends are outgoing there.
	if err := unix.SetsockoptInt(r.rx, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		return r, fmt.Errorf("ignore outgoing frames: %w", err)
	}
	size := r.slot * r.slots
	block := 1 << 16
	request := unix.TpacketReq{
		Block_size: uint32(block), Block_nr: uint32(size / block),
		Frame_size: uint32(r.slot), Frame_nr: uint32(r.slots),
	}
	if err := unix.SetsockoptTpacketReq(r.rx, unix.SOL_PACKET, unix.PACKET_RX_RING, &request); err != nil {
		return r, fmt.Errorf("set up the receive ring: %w", err)
	}
	r.memory, err = unix.Mmap(r.rx, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return r, fmt.Errorf("map the receive ring: %w", err)
	}
	if err := attachFilter(r.rx, filter); err != nil {
		return r, fmt.Errorf("filter the receive ring: %w", err)
	}
	if err := unix.Bind(r.rx, &unix.SockaddrLinklayer{Protocol: hostToNetwork(unix.ETH_P_ALL)}); err != nil {
		return r, fmt.Errorf("bind the receive ring: %w", err)
	}
	return r, nil
}

// ofPrograms returns a filter that accepts all frames except the pipelines' output, by its mark, and frames of an
// interface, the entry.
func ofPrograms(entry int32) []unix.SockFilter {
	// SKF_AD_OFF + SKF_AD_IFINDEX and SKF_AD_OFF + SKF_AD_MARK of linux/filter.h
	const adInterface, adMark = 0xfffff000 + 8, 0xfffff000 + 20
	return []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: adInterface},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(entry), Jt: 2},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: adMark},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: ebpf.FrameMark, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 18},
	}
}

func attachFilter(fd int, program []unix.SockFilter) error {
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
}

func hostToNetwork(v uint16) uint16 { return v<<8 | v>>8 }

func (r *ring) status(slot []byte) *uint32 { return (*uint32)(unsafe.Pointer(&slot[tpStatus])) }

// receive returns the next frame and the interface it came out of, if there is one. The frame is valid until release.
func (r *ring) receive() (frame []byte, ifindex int32, ok bool) {
	slot := r.memory[r.next*r.slot : (r.next+1)*r.slot]
	if atomic.LoadUint32(r.status(slot))&unix.TP_STATUS_USER == 0 {
		return nil, 0, false
	}
	n := *(*uint32)(unsafe.Pointer(&slot[tpSnapLen]))
	at := *(*uint16)(unsafe.Pointer(&slot[tpMAC]))
	ifindex = *(*int32)(unsafe.Pointer(&slot[tpIfindex]))
	return slot[at : uint32(at)+n], ifindex, true
}

// whole reports whether the frame that receive returned is complete: neither truncated nor stripped of a VLAN tag.
func (r *ring) whole() bool {
	slot := r.memory[r.next*r.slot : (r.next+1)*r.slot]
	return atomic.LoadUint32(r.status(slot))&unix.TP_STATUS_VLAN_VALID == 0 &&
		*(*uint32)(unsafe.Pointer(&slot[tpLen])) == *(*uint32)(unsafe.Pointer(&slot[tpSnapLen]))
}

// stamp returns when the frame that receive returned reached its interface, in ns of CLOCK_REALTIME since 1970.
func (r *ring) stamp() int64 {
	slot := r.memory[r.next*r.slot : (r.next+1)*r.slot]
	return int64(*(*uint32)(unsafe.Pointer(&slot[tpSeconds])))*1e9 + int64(*(*uint32)(unsafe.Pointer(&slot[tpNanos])))
}

// stampEarly makes the kernel timestamp frames when they reach an interface rather than the ring, because on a busy
// machine they may wait in between.
func (r *ring) stampEarly() error {
	if err := unix.SetsockoptInt(r.rx, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS_NEW, 1); err != nil {
		return fmt.Errorf("have frames stamped: %w", err)
	}
	return nil
}

// release returns the slot of the last frame to the kernel.
func (r *ring) release() {
	slot := r.memory[r.next*r.slot : (r.next+1)*r.slot]
	atomic.StoreUint32(r.status(slot), unix.TP_STATUS_KERNEL)
	r.next++
	if r.next == r.slots {
		r.next = 0
	}
}

// drops returns the number of frames that the kernel dropped for lack of room in the ring since the last call.
func (r *ring) drops() (frames uint32, err error) {
	var s unix.TpacketStats
	size := uint32(unsafe.Sizeof(s))
	_, _, e := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(r.rx), unix.SOL_PACKET, unix.PACKET_STATISTICS,
		uintptr(unsafe.Pointer(&s)), uintptr(unsafe.Pointer(&size)), 0)
	runtime.KeepAlive(&s)
	if e != 0 {
		return 0, fmt.Errorf("read the ring's statistics: %w", e)
	}
	return s.Drops, nil
}

// Close closes the socket and unmaps the ring.
func (r *ring) Close() error {
	var errs []error
	if r.memory != nil {
		errs = append(errs, unix.Munmap(r.memory))
		r.memory = nil
	}
	if r.rx >= 0 {
		errs = append(errs, unix.Close(r.rx))
		r.rx = -1
	}
	return errors.Join(errs...)
}
