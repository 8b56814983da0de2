package wire

import (
	"encoding/binary"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// INT holds the in-band telemetry of HPCC (its paper, section 4.1; pausenet's layout is in docs/schemes/hpcc.md).
// Switches on a data packet's path write into it about the ports that it leaves by, and its ACK returns it. The layout
// is nHop(4) pathID(12), then one slot of 8 bytes per switch: B(4) TS(24) txBytes(20) qLen(16).
//
// It directly follows the BTH of a data packet, and the AETH of an ACK or NAK. The packet's opcode then is in the range
// for manufacturers (Opcode.WithINT), so that the standard's opcodes keep their headers. The ICRC counts all of its
// bytes as 0xff, because switches write them.
type INT []byte

// INTHops counts the slots; further switches write nothing.
const INTHops = 5

// INTLen is the length of the header in bytes.
const INTLen = intSlots + INTHops*intSlotLen

const (
	intPath    = 0 // nHop(4) pathID(12)
	intSlots   = 2
	intSlotLen = 8

	intHopShift   = 12
	intPathMask   = 1<<intHopShift - 1
	intRateShift  = 60 // shift of the rate code in a slot
	intTimeShift  = 36
	intTxShift    = 16
	intTimeMask   = 1<<24 - 1
	intTxMask     = 1<<20 - 1
	intQueueMost  = 1<<16 - 1
	intTxUnit     = 128
	intQueueUnit  = 80
	intNoRateCode = 15
)

const (
	// INTTimeWrap is the period after which a hop's time wraps to 0: 16.8 ms.
	INTTimeWrap = (intTimeMask + 1) * vtime.Nanosecond
	// INTTxWrap is the number of bytes sent after which a hop's count wraps to 0: 134 MB, which a line of 1.6 Tb/s
	// sends in 671 us.
	INTTxWrap = (intTxMask + 1) * intTxUnit
	// INTQueueMost limits the queue length in a hop, in bytes: 5.2 MB. Longer queues saturate.
	INTQueueMost = intQueueMost * intQueueUnit
)

// intRates lists the line rates by their code B: Ethernet's.
var intRates = [...]units.Rate{
	10 * units.Gbps, 25 * units.Gbps, 40 * units.Gbps, 50 * units.Gbps,
	100 * units.Gbps, 200 * units.Gbps, 400 * units.Gbps, units.Gbps,
	800 * units.Gbps, 1600 * units.Gbps, 2500 * units.Mbps, 5 * units.Gbps,
	100 * units.Mbps, 10 * units.Mbps,
}

// INTRates lists them as text, in their order.
const INTRates = "10 and 100 Mbps, 1, 2.5, 5, 10, 25, 40, 50, 100, 200, 400 and 800 Gbps, and 1.6 Tbps"

// INTRateCode returns the code B of a line rate. For a rate outside of INTRates, known is false and the code stands for
// no rate.
func INTRateCode(r units.Rate) (code uint8, known bool) {
	for i, rate := range intRates {
		if rate == r {
			return uint8(i), true
		}
	}
	return intNoRateCode, false
}

// Hops returns how many slots are written, 0..INTHops.
func (t INT) Hops() int { return min(int(t[intPath]>>4), INTHops) }

// PathID returns the exclusive or of the 12-bit ids of the switches that wrote.
func (t INT) PathID() uint16 { return binary.BigEndian.Uint16(t[intPath:]) & intPathMask }

// Hop returns the content of slot i, less than Hops.
func (t INT) Hop(i int) INTHop {
	return ParseINTSlot(binary.BigEndian.Uint64(t[intSlots+i*intSlotLen:]))
}

// Stamp adds a switch's telemetry to a data packet that leaves by a port: it fills the next slot, counts it, and adds
// the low 12 bits of the switch's id to the path's. When all slots are full it does nothing.
func (t INT) Stamp(switchID uint16, h INTHop) {
	path := binary.BigEndian.Uint16(t[intPath:])
	n := int(path >> intHopShift)
	if n >= INTHops {
		return
	}
	binary.BigEndian.PutUint64(t[intSlots+n*intSlotLen:], h.Slot())
	binary.BigEndian.PutUint16(t[intPath:], (path^switchID&intPathMask)+1<<intHopShift)
}

// INTHop holds one switch's telemetry about the port by which a packet left, at its departure.
type INTHop struct {
	Rate       units.Rate // line rate; 0: the format cannot represent it
	Departed   vtime.Time // departure of the packet: whole nanoseconds, modulo INTTimeWrap
	TxBytes    int64      // bytes that the port had sent: in units of 128 B, modulo INTTxWrap
	QueueBytes int64      // bytes that the packet left behind: in units of 80 B, INTQueueMost at most
}

// Slot returns the hop in its format on the wire. It wraps times and counts, and rounds them down to the format's
// units.
func (h INTHop) Slot() uint64 {
	code, _ := INTRateCode(h.Rate)
	return uint64(code)<<intRateShift | uint64(h.Departed/vtime.Nanosecond)&intTimeMask<<intTimeShift |
		uint64(h.TxBytes/intTxUnit)&intTxMask<<intTxShift | uint64(min(h.QueueBytes/intQueueUnit, intQueueMost))
}

// ParseINTSlot returns the hop in a slot.
func ParseINTSlot(slot uint64) (h INTHop) {
	if code := slot >> intRateShift; code < uint64(len(intRates)) {
		h.Rate = intRates[code]
	}
	h.Departed = vtime.Time(slot>>intTimeShift&intTimeMask) * vtime.Nanosecond
	h.TxBytes = int64(slot>>intTxShift&intTxMask) * intTxUnit
	h.QueueBytes = int64(slot&intQueueMost) * intQueueUnit
	return h
}

// Since returns the time and the bytes sent between an earlier packet's hop at the same port and this one's. Each may
// have wrapped once: the caller must ensure that they were not further apart.
func (h *INTHop) Since(earlier *INTHop) (elapsed vtime.Time, sent int64) {
	elapsed, sent = h.Departed-earlier.Departed, h.TxBytes-earlier.TxBytes
	if elapsed < 0 {
		elapsed += INTTimeWrap
	}
	if sent < 0 {
		sent += INTTxWrap
	}
	return elapsed, sent
}

// intCRC holds the CRC of the header's bytes, all 0xff.
var intCRC = func() payloadCRC {
	var ones [INTLen]byte
	for i := range ones {
		ones[i] = 0xff
	}
	return payloadCRC{shift: *newCRCShift(INTLen), crc: crcShort(0, ones[:])}
}()

// after returns the CRC of data with the CRC a, followed by the block.
func (b *payloadCRC) after(a uint32) uint32 { return b.shift.combine(a, b.crc) }

// intOffset returns the offset of the telemetry in a packet with that opcode, from the end of the BTH; negative if it
// has none.
func intOffset(o Opcode) int {
	switch {
	case !o.HasINT():
	case o.IsData():
		return 0
	case o.Operation() == OpAck:
		return AETHLen
	}
	return -1
}
