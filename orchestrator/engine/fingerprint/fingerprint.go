// Package fingerprint hashes the frame events of a run. Runs with equal fingerprints are equal; the hash is
// not meant to resist forgery.
package fingerprint

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// Hash accumulates a hash of every frame event so far, in order: when and where each frame made a pass, its result, and
// the bytes that identify the frame. The zero Hash is ready.
type Hash struct {
	a, b   uint64
	events uint64
	// Deep means that frames may carry telemetry or IPv6.
	Deep bool
}

func (h *Hash) mix(v, w uint64) {
	// A 128-bit multiply folds both words into both halves (the step of wyhash).
	hi, lo := bits.Mul64(h.a^v^0xa0761d6478bd642f, h.b^w^0xe7037ed1a0b428db)
	h.a, h.b = bits.RotateLeft64(h.a, 23)^lo, bits.RotateLeft64(h.b, 41)+hi
}

// Frame adds a pass at now of a frame of length bytes, with its arguments and results and the frame's first bytes.
func (h *Hash) Frame(now vtime.Time, x *ebpf.Pass, length int, data []byte) {
	h.events++
	h.mix(uint64(now), uint64(x.InPort)<<32|uint64(x.Egress))
	// Type and IPv4, UDP, BTH; or PFC's times; or CNM's ID, N and C. Only the kernel plane carries bytes beyond the BTH.
	h.mix(uint64(x.Verdict)<<56|uint64(x.Trigger)<<48|uint64(x.Want)<<32|uint64(length),
		binary.LittleEndian.Uint64(data[12:]))
	h.mix(binary.LittleEndian.Uint64(data[20:]), binary.LittleEndian.Uint64(data[28:]))
	h.mix(binary.LittleEndian.Uint64(data[36:]), binary.LittleEndian.Uint64(data[44:]))
	h.mix(uint64(binary.LittleEndian.Uint16(data[52:])), h.events)
	if h.Deep {
		h.deeper(data)
	}
}

// deeper adds the headers beyond those of RoCE over IPv4.
func (h *Hash) deeper(data []byte) {
	end := 54 // of the BTH
	if wire.Ethernet(data).Type() == wire.EtherTypeIPv6 {
		if len(data) < ebpf.HeaderBytes6 {
			return
		}
		h.mix(binary.LittleEndian.Uint64(data[54:]), binary.LittleEndian.Uint64(data[62:]))
		h.mix(uint64(binary.LittleEndian.Uint32(data[70:])), 0)
		end += wire.V6.Extra()
	}
	if len(data) >= end+wire.INTLen && data[end-wire.BTHLen]&0xe0 == 0xc0 { // the opcode says that telemetry follows
		t := data[end:]
		h.mix(binary.LittleEndian.Uint64(t), binary.LittleEndian.Uint64(t[8:]))
		h.mix(binary.LittleEndian.Uint64(t[16:]), binary.LittleEndian.Uint64(t[24:]))
		h.mix(binary.LittleEndian.Uint64(t[32:]), uint64(binary.LittleEndian.Uint16(t[40:])))
	}
}

// Add adds the hash of another partition.
func (h *Hash) Add(o *Hash) {
	h.mix(o.a, o.b)
	h.events += o.events
}

// String returns the hash as 32 hexadecimal digits.
func (h *Hash) String() string {
	f := *h
	f.mix(f.events, 0x8ebc6af09c88c6e3)
	f.mix(f.a, f.b)
	return fmt.Sprintf("%016x%016x", f.a, f.b)
}
