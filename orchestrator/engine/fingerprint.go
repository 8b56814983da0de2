package engine

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// fingerprint hashes every frame event of a run, in order: when and where each frame made a pass, what became of it,
// and the bytes that say which frame it was. Equal fingerprints mean equal runs; it is not meant to resist forgery.
type fingerprint struct {
	a, b   uint64
	events uint64
	deep   bool // frames may carry telemetry, or IPv6
}

func (h *fingerprint) mix(v, w uint64) {
	// A 128-bit multiply folds both words into both halves (the step of wyhash).
	hi, lo := bits.Mul64(h.a^v^0xa0761d6478bd642f, h.b^w^0xe7037ed1a0b428db)
	h.a, h.b = bits.RotateLeft64(h.a, 23)^lo, bits.RotateLeft64(h.b, 41)+hi
}

func (h *fingerprint) frame(now vtime.Time, x *ebpf.Pass, length int, data []byte) {
	h.events++
	h.mix(uint64(now), uint64(x.InPort)<<32|uint64(x.Egress))
	// Type and IPv4, UDP, BTH; or PFC's times; or CNM's id, N and C. What follows the BTH only the kernel plane carries.
	h.mix(uint64(x.Verdict)<<56|uint64(x.Trigger)<<48|uint64(x.Want)<<32|uint64(length),
		binary.LittleEndian.Uint64(data[12:]))
	h.mix(binary.LittleEndian.Uint64(data[20:]), binary.LittleEndian.Uint64(data[28:]))
	h.mix(binary.LittleEndian.Uint64(data[36:]), binary.LittleEndian.Uint64(data[44:]))
	h.mix(uint64(binary.LittleEndian.Uint16(data[52:])), h.events)
	if h.deep {
		h.deeper(data)
	}
}

// deeper mixes what of a frame's headers lies beyond those of RoCE over IPv4.
func (h *fingerprint) deeper(data []byte) {
	end := 54 // of the BTH
	if wire.Ethernet(data).Type() == wire.EtherTypeIPv6 {
		if len(data) < ebpf.HeaderBytes6 {
			return
		}
		h.mix(binary.LittleEndian.Uint64(data[54:]), binary.LittleEndian.Uint64(data[62:]))
		h.mix(uint64(binary.LittleEndian.Uint32(data[70:])), 0)
		end += wire.V6.Extra()
	}
	if len(data) >= end+wire.INTLen && data[end-wire.BTHLen]&0xe0 == 0xc0 { // its opcode says that so much of it follows
		t := data[end:]
		h.mix(binary.LittleEndian.Uint64(t), binary.LittleEndian.Uint64(t[8:]))
		h.mix(binary.LittleEndian.Uint64(t[16:]), binary.LittleEndian.Uint64(t[24:]))
		h.mix(binary.LittleEndian.Uint64(t[32:]), uint64(binary.LittleEndian.Uint16(t[40:])))
	}
}

func (h *fingerprint) String() string {
	f := *h
	f.mix(f.events, 0x8ebc6af09c88c6e3)
	f.mix(f.a, f.b)
	return fmt.Sprintf("%016x%016x", f.a, f.b)
}

// Fingerprint is the hash of every frame event so far: those of each region in their order, and of the regions' hashes.
func (e *Engine) Fingerprint() string {
	all := e.regions[0].hash
	for i := range e.regions[1:] {
		h := &e.regions[i+1].hash
		all.mix(h.a, h.b)
		all.events += h.events
	}
	return all.String()
}
