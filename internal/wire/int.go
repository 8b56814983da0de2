package wire

import (
	"encoding/binary"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// INT is the in-band telemetry of HPCC (its paper, section 4.1; our layout is in docs/schemes/hpcc.md): what the
// switches on a data packet's way write into it about the ports that it leaves by, and what its ACK carries back.
// nHop(4) pathID(12), then one slot of 8 bytes a switch: B(4) TS(24) txBytes(20) qLen(16).
//
// It is directly after the BTH of a data packet, and after the AETH of an ACK or NAK. The packet's opcode then is one
// of the range for manufacturers (Opcode.WithINT), so that the standard's opcodes keep their headers. The ICRC takes
// all of its bytes for 0xff, as switches write them.
type INT []byte

// INTHops is how many slots there are; switches beyond write nothing.
const INTHops = 5

// INTLen is the header's length.
const INTLen = intSlots + INTHops*intSlotLen

const (
	intPath    = 0 // nHop(4) pathID(12)
	intSlots   = 2
	intSlotLen = 8

	intHopShift   = 12
	intPathMask   = 1<<intHopShift - 1
	intRateShift  = 60 // in a slot
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
	// INTTimeWrap is where a hop's time begins again at 0: 16.8 ms.
	INTTimeWrap = (intTimeMask + 1) * vtime.Nanosecond
	// INTTxWrap is where a hop's bytes sent begin again at 0: 134 MB, which a line of 1.6 Tb/s sends in 671 us.
	INTTxWrap = (intTxMask + 1) * intTxUnit
	// INTQueueMost is the longest queue that a hop can tell, in bytes: 5.2 MB. A longer one is told as this.
	INTQueueMost = intQueueMost * intQueueUnit
)

// intRates are the line rates by their code B: Ethernet's.
var intRates = [...]units.Rate{
	10 * units.Gbps, 25 * units.Gbps, 40 * units.Gbps, 50 * units.Gbps,
	100 * units.Gbps, 200 * units.Gbps, 400 * units.Gbps, units.Gbps,
	800 * units.Gbps, 1600 * units.Gbps, 2500 * units.Mbps, 5 * units.Gbps,
	100 * units.Mbps, 10 * units.Mbps,
}

// INTRates names them, in their order.
const INTRates = "10 and 100 Mbps, 1, 2.5, 5, 10, 25, 40, 50, 100, 200, 400 and 800 Gbps, and 1.6 Tbps"

// INTRateCode returns the code B of a line rate. Other rates than INTRates have none: known is false, and the code
// then is one that no rate has.
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

// Stamp does what a switch does to a data packet that leaves by a port: it fills the next slot, counts it, and adds the
// low 12 bits of its id to the path's. When all slots are full it does nothing.
func (t INT) Stamp(switchID uint16, h INTHop) {
	path := binary.BigEndian.Uint16(t[intPath:])
	n := int(path >> intHopShift)
	if n >= INTHops {
		return
	}
	binary.BigEndian.PutUint64(t[intSlots+n*intSlotLen:], h.Slot())
	binary.BigEndian.PutUint16(t[intPath:], (path^switchID&intPathMask)+1<<intHopShift)
}

// INTHop is what one switch says of the port that a packet left by, as it left.
type INTHop struct {
	Rate       units.Rate // of the line; 0: one that the format cannot name
	Departed   vtime.Time // when the packet left: whole nanoseconds, modulo INTTimeWrap
	TxBytes    int64      // that the port had sent: in units of 128 B, modulo INTTxWrap
	QueueBytes int64      // that the packet left behind: in units of 80 B, INTQueueMost at most
}

// Slot returns the hop as it is on the wire. Times and counts need not be wrapped, nor in the format's units: what
// does not make up a whole unit is left out.
func (h INTHop) Slot() uint64 {
	code, _ := INTRateCode(h.Rate)
	return uint64(code)<<intRateShift | uint64(h.Departed/vtime.Nanosecond)&intTimeMask<<intTimeShift |
		uint64(h.TxBytes/intTxUnit)&intTxMask<<intTxShift | uint64(min(h.QueueBytes/intQueueUnit, intQueueMost))
}

// ParseINTSlot returns the hop that a slot holds.
func ParseINTSlot(slot uint64) (h INTHop) {
	if code := slot >> intRateShift; code < uint64(len(intRates)) {
		h.Rate = intRates[code]
	}
	h.Departed = vtime.Time(slot>>intTimeShift&intTimeMask) * vtime.Nanosecond
	h.TxBytes = int64(slot>>intTxShift&intTxMask) * intTxUnit
	h.QueueBytes = int64(slot&intQueueMost) * intQueueUnit
	return h
}

// Since returns the time and the bytes sent between an earlier packet's hop at the same port and this one's. Each
// may have wrapped once: the caller must know that they were not further apart.
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

// intCRC is what a CRC needs to know of the header's bytes, all 0xff.
var intCRC = func() payloadCRC {
	var ones [INTLen]byte
	for i := range ones {
		ones[i] = 0xff
	}
	return payloadCRC{shift: *newCRCShift(INTLen), crc: crcShort(0, ones[:])}
}()

// after returns the CRC of what has the CRC a, and then the block.
func (b *payloadCRC) after(a uint32) uint32 { return b.shift.combine(a, b.crc) }

// intOffset returns where the telemetry begins in a packet with that opcode, counted from the end of the BTH;
// negative if it has none.
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
