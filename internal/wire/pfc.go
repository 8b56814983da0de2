package wire

import (
	"encoding/binary"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// PFC holds a whole priority flow control frame (IEEE 802.1Qbb, 802.3 annex 31D), Ethernet header included.
type PFC []byte

// PFCLen is the length of the frames that pausenet sends: padded to the minimum.
const PFCLen = MinFrame

const (
	pfcOpcode = 14
	pfcEnable = 16 // class-enable vector: bit n of the low byte addresses class n
	pfcTime   = 18 // 8 times of 2 bytes
	pfcEnd    = 34

	// OpcodePFC is the MAC control opcode of PFC (IEEE 802.1Qbb).
	OpcodePFC = 0x0101
	// pfcQuantumBytes is the line time of a quantum, 512 bit times, in bytes.
	pfcQuantumBytes = 512 / 8
)

// Quanta to pause for.
const (
	PauseMax uint16 = 0xffff
	Resume   uint16 = 0 // ends a pause
)

// PFCMAC is the link-local destination address of PFC frames; no bridge forwards it.
var PFCMAC = MAC{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}

// Opcode returns the MAC control opcode, 0x0101 for PFC.
func (p PFC) Opcode() uint16 { return binary.BigEndian.Uint16(p[pfcOpcode:]) }

// ClassEnable returns the bit set of classes that the frame applies to. It omits the standard's reserved high byte.
func (p PFC) ClassEnable() uint8 { return p[pfcEnable+1] }

// Time returns the pause time of a class, in quanta. It is valid only if the class is enabled.
func (p PFC) Time(class uint8) uint16 { return binary.BigEndian.Uint16(p[pfcTime+2*int(class&7):]) }

// PutPFC writes a frame that sets the pause times of the enabled classes and returns its length. It writes 0 for the
// times of other classes. len(buf) must be at least PFCLen.
func PutPFC(buf []byte, src MAC, enable uint8, times *[8]uint16) int {
	f := buf[:PFCLen]
	clear(f[pfcTime:])
	Ethernet(f).SetDst(PFCMAC)
	Ethernet(f).SetSrc(src)
	Ethernet(f).SetType(EtherTypeMACControl)
	binary.BigEndian.PutUint16(f[pfcOpcode:], OpcodePFC)
	binary.BigEndian.PutUint16(f[pfcEnable:], uint16(enable))
	for class, t := range times {
		if enable>>class&1 != 0 {
			binary.BigEndian.PutUint16(f[pfcTime+2*class:], t)
		}
	}
	return PFCLen
}

// PutPause writes a frame for one class, 0..7: quanta of pause, or Resume.
func PutPause(buf []byte, src MAC, class uint8, quanta uint16) int {
	var times [8]uint16
	times[class&7] = quanta
	return PutPFC(buf, src, 1<<(class&7), &times)
}

// PauseTime returns the duration of a pause of this many quanta on a link of rate r.
func PauseTime(quanta uint16, r units.Rate) vtime.Time {
	return r.TimeFor(int64(quanta) * pfcQuantumBytes)
}
