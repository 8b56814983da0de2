package wire

import (
	"encoding/binary"
	"hash/crc32"
	"sync"
)

// hash/crc32 is fast on long input but calls through a function variable, so its argument escapes: a header copied to
// the stack to be masked would be allocated. Headers therefore go through crcShort, payloads through hash/crc32.

// crcTable[k][b] holds the CRC register after byte b and k zero bytes (Kounavis and Berry's slicing by 8).
var crcTable = func() (t [8][256]uint32) {
	t[0] = *crc32.IEEETable
	for k := 1; k < 8; k++ {
		for b := range t[k] {
			c := t[k-1][b]
			t[k][b] = t[0][c&0xff] ^ c>>8
		}
	}
	return t
}()

// crcShort returns crc32.Update for short input on the stack.
func crcShort(crc uint32, p []byte) uint32 {
	t := &crcTable
	crc = ^crc
	for ; len(p) >= 8; p = p[8:] {
		lo := crc ^ binary.LittleEndian.Uint32(p)
		hi := binary.LittleEndian.Uint32(p[4:])
		crc = t[7][lo&0xff] ^ t[6][lo>>8&0xff] ^ t[5][lo>>16&0xff] ^ t[4][lo>>24] ^
			t[3][hi&0xff] ^ t[2][hi>>8&0xff] ^ t[1][hi>>16&0xff] ^ t[0][hi>>24]
	}
	if len(p) >= 4 {
		lo := crc ^ binary.LittleEndian.Uint32(p)
		crc = t[3][lo&0xff] ^ t[2][lo>>8&0xff] ^ t[1][lo>>16&0xff] ^ t[0][lo>>24]
		p = p[4:]
	}
	for _, b := range p {
		crc = t[0][byte(crc)^b] ^ crc>>8
	}
	return ^crc
}

// crcShift appends n bytes to a CRC without reading them: for a block B of n bytes with CRC c, crc(A||B) =
// shift(crc(A)) ^ c. A shift is a multiplication by x^8n modulo the CRC's polynomial, which is linear, so four table
// lookups compute it.
type crcShift [4][256]uint32

func newCRCShift(n int) *crcShift {
	// x^8n by squaring. Bit 31 is x^0: the CRC is reflected.
	power, square := uint32(1)<<31, uint32(1)<<(31-8)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			power = multiply(power, square)
		}
		square = multiply(square, square)
	}
	s := new(crcShift)
	for k := range s {
		for b := range s[k] {
			s[k][b] = multiply(power, uint32(b)<<(8*k))
		}
	}
	return s
}

func (s *crcShift) combine(a, b uint32) uint32 {
	return s[0][a&0xff] ^ s[1][a>>8&0xff] ^ s[2][a>>16&0xff] ^ s[3][a>>24] ^ b
}

// multiply returns a*b modulo the CRC's polynomial, reflected.
func multiply(a, b uint32) uint32 {
	var product uint32
	for m := uint32(1) << 31; m != 0; m >>= 1 {
		if a&m != 0 {
			product ^= b
		}
		if b&1 != 0 {
			b = b>>1 ^ crc32.IEEE
		} else {
			b >>= 1
		}
	}
	return product
}

// payloadCRC holds the CRC of a full packet's payload and padding, so that PutData need not read them.
type payloadCRC struct {
	shift crcShift
	crc   uint32
}

// payloadCRCs maps payload lengths, which are few MTUs, to a *payloadCRC. All flows share it, since its tables have 4
// KB.
var payloadCRCs sync.Map

func payloadCRCFor(n int) *payloadCRC {
	if v, ok := payloadCRCs.Load(n); ok {
		return v.(*payloadCRC)
	}
	var padding [3]byte
	pc := &payloadCRC{shift: *newCRCShift(n + padCount(n))}
	pc.crc = crc32.Update(crc32.ChecksumIEEE(pattern[:n]), crc32.IEEETable, padding[:padCount(n)])
	v, _ := payloadCRCs.LoadOrStore(n, pc)
	return v.(*payloadCRC)
}
