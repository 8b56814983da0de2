package wire

// crc16Table holds the table of CRC-16/ARC: polynomial 0x8005 reflected, initial value 0, like P4's crc16.
var crc16Table = func() (t [256]uint16) {
	for b := range t {
		c := uint16(b)
		for range 8 {
			c = c>>1 ^ 0xa001*(c&1)
		}
		t[b] = c
	}
	return t
}()

// CRC16 returns the CRC-16/ARC of p.
func CRC16(p []byte) uint16 {
	var crc uint16
	for _, b := range p {
		crc = crc>>8 ^ crc16Table[byte(crc)^b]
	}
	return crc
}

// FlowID returns the 16-bit id of a flow in switches and CNMs: CRC-16/ARC over the 5-tuple in this order, in network
// byte order (DCON paper, section 5, which does not name the variant of CRC16). Ids of different flows may collide.
func FlowID(src Addr, srcPort uint16, dst Addr, dstPort uint16, protocol uint8) uint16 {
	return CRC16([]byte{
		src[0], src[1], src[2], src[3], byte(srcPort >> 8), byte(srcPort),
		dst[0], dst[1], dst[2], dst[3], byte(dstPort >> 8), byte(dstPort), protocol,
	})
}
