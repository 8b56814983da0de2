package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

var (
	hostMAC   = MAC{0x02, 0, 0, 0, 0, 0x01}
	switchMAC = MAC{0x02, 0, 0, 0, 0x01, 0x01}
	ip1       = Addr{10, 0, 0, 1}
	ip2       = Addr{10, 0, 0, 2}
)

// exampleData and exampleBack describe the flow of testdata/wire.py and its opposite direction. (The script sends both
// to the same MAC.)
var (
	exampleData = FlowParams{
		SrcMAC: hostMAC, DstMAC: switchMAC, Src: ip1, Dst: ip2, SrcPort: 49153, DestQP: 0x12, TOS: 0x02,
		RKey: 0xabcd, MTU: 1000,
	}
	exampleBack = FlowParams{
		SrcMAC: hostMAC, DstMAC: switchMAC, Src: ip2, Dst: ip1, SrcPort: 49153, DestQP: 0x34,
	}
)

func newHeader(t testing.TB, p FlowParams) *FlowHeader {
	t.Helper()
	h, err := NewFlowHeader(p)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func withTOS(p FlowParams, tos uint8) FlowParams {
	p.TOS = tos
	return p
}

func over6(p FlowParams) FlowParams {
	p.Version = V6
	return p
}

// unhex reads hex in which blanks do not count and "00*16" stands for 16 zero bytes.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	var b []byte
	for f := range strings.FieldsSeq(s) {
		n := 1
		if i := strings.IndexByte(f, '*'); i >= 0 {
			if _, err := fmt.Sscan(f[i+1:], &n); err != nil {
				t.Fatal(err)
			}
			f = f[:i]
		}
		d, err := hex.DecodeString(f)
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, bytes.Repeat(d, n)...)
	}
	return b
}

// dirty returns a buffer without zeros, to detect unwritten bytes.
func dirty() []byte { return bytes.Repeat([]byte{0xee}, MaxFrame+64) }

// TestWireCapture builds wire.pcap again, by a script that was written from the standards.
func TestWireCapture(t *testing.T) { testenv.Derived(t, "testdata/wire.py", "testdata/wire.pcap") }

// pcapFrames reads wire.pcap: a 24-byte file header, then 16 bytes before each frame, of which the third word is its
// length, all little endian.
func pcapFrames(t testing.TB) [][]byte {
	t.Helper()
	b, err := os.ReadFile("testdata/wire.pcap")
	if err != nil {
		t.Fatal(err)
	}
	var frames [][]byte
	for b = b[24:]; len(b) > 0; {
		n := 16 + binary.LittleEndian.Uint32(b[8:])
		frames = append(frames, b[16:n:n])
		b = b[n:]
	}
	if len(frames) != 13 {
		t.Fatalf("wire.pcap has %d frames, want 13", len(frames))
	}
	return frames
}

// TestExamples builds frames byte for byte: PAUSE and RESUME by IEEE 802.1Qbb, the CNP by IBTA annex A17, the CNM by
// figure 5 of the DCON paper, and those of wire.pcap, which testdata/wire.py builds from the same sources.
func TestExamples(t *testing.T) {
	pcap := pcapFrames(t)
	back, backCNP := newHeader(t, exampleBack), newHeader(t, withTOS(exampleBack, ControlTOS(6)))
	data := newHeader(t, exampleData)
	data.SetMessage(0x1000, 1000)
	data6, back6, backCNP6 := newHeader(t, over6(withTOS(exampleData, 0x6a))), newHeader(t,
		over6(exampleBack)), newHeader(t, over6(withTOS(exampleBack, ControlTOS(6))))
	data6.SetMessage(0x1000, 1000)
	report := PCNReport{RateMbps: 12345, Congested: true, Packets: 40}.Bytes()

	for _, c := range []struct {
		name string
		put  func(b []byte) int
		want []byte
		fcs  string
	}{
		{
			"802.1Qbb pause", func(b []byte) int { return PutPause(b, switchMAC, 3, PauseMax) },
			unhex(t, "0180c2000001 020000000101 8808 0101 0008 0000 0000 0000 ffff 0000 0000 0000 0000 00*26"), "41ab1847",
		},
		{
			"802.1Qbb resume", func(b []byte) int { return PutPause(b, switchMAC, 3, Resume) },
			unhex(t, "0180c2000001 020000000101 8808 0101 0008 0000 0000 0000 0000 0000 0000 0000 0000 00*26"), "20284928",
		},
		{
			"RoCEv2 CNP", func(b []byte) int { return PutCNP(b, backCNP, CNPBECN, nil) },
			unhex(t, "020000000101 020000000001 0800 45c0003c00004000401125ef0a0000020a000001 c00112b700280000 "+
				"8100ffff4000003400000000 00*16 6ed09a4a"), "",
		},
		{
			"DCON CNM", func(b []byte) int { return PutCNM(b, hostMAC, switchMAC, 0xbeef, 491, 40000) },
			unhex(t, "020000000001 020000000101 88b5 ef ff beef 01eb 00009c40 00*36"), "1e66eb39",
		},
		{"pcap pause", func(b []byte) int { return PutPause(b, switchMAC, 3, PauseMax) }, pcap[0], ""},
		{"pcap resume", func(b []byte) int { return PutPause(b, switchMAC, 3, Resume) }, pcap[1], ""},
		{"pcap data", func(b []byte) int { return PutData(b, data, OpWriteOnly, 0xff, 1000, true, true) }, pcap[2], ""},
		{"pcap ACK", func(b []byte) int { return PutAck(b, back, SyndromeAck, 0xff, 1) }, pcap[3], ""},
		{"pcap CNP", func(b []byte) int { return PutCNP(b, backCNP, CNPBECN, nil) }, pcap[4], ""},
		{"pcap PCN", func(b []byte) int { return PutCNP(b, backCNP, CNPBECN, &report) }, pcap[5], ""},
		{"pcap CNM", func(b []byte) int { return PutCNM(b, hostMAC, switchMAC, 0xbeef, 491, 40000) }, pcap[8], ""},
		{
			"pcap data over IPv6", func(b []byte) int { return PutData(b, data6, OpWriteOnly, 0xff, 1000, true, true) },
			pcap[10], "",
		},
		{"pcap ACK over IPv6", func(b []byte) int { return PutAck(b, back6, SyndromeAck, 0xff, 1) }, pcap[11], ""},
		{"pcap CNP over IPv6", func(b []byte) int { return PutCNP(b, backCNP6, CNPBECN, nil) }, pcap[12], ""},
	} {
		buf := dirty()
		got := buf[:c.put(buf)]
		if !bytes.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %x\nwant %x", c.name, got, c.want)
		}
		if c.fcs != "" {
			if fcs := binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(got)); hex.EncodeToString(fcs) != c.fcs {
				t.Errorf("%s: FCS %x, want %s", c.name, fcs, c.fcs)
			}
		}
		if buf[len(got)] != 0xee {
			t.Errorf("%s: wrote past the frame's end", c.name)
		}
	}
}

// connectX holds a CNP sent by a ConnectX-4 Lx (scapy, test/contrib/roce.uts).
const connectX = "e41d2dab2bc27cfe90643b32 0800 45c2003c718c4000401191610a0011010a001201 000012b700280000 " +
	"8100ffff40000118 00000000 00*16 82fd002a"

func TestICRCKnownAnswer(t *testing.T) {
	frame := unhex(t, connectX)
	want := binary.LittleEndian.Uint32(frame[70:])
	if got := ICRC(frame[14:70]); got != want {
		t.Errorf("ICRC %08x, want %08x", got, want)
	}
	if !VerifyICRC(frame) || !IPv4(frame[14:]).ChecksumValid() {
		t.Error("the known frame does not verify")
	}
	for i := range frame {
		frame[i] ^= 0x01
		// The ICRC covers all but the Ethernet header and the mutable fields.
		off := i - 14
		mutable := off < 0 || off == 1 || off == 8 || off == 10 || off == 11 || off == 26 || off == 27 || off == 32
		if VerifyICRC(frame) != mutable && !(i < 14 && i >= 12) {
			t.Errorf("a flipped bit in byte %d: valid is %v, want %v", i, !mutable, mutable)
		}
		frame[i] ^= 0x01
	}
}

// scapy6 holds a packet over IPv6 with a flow label that scapy built, without its Ethernet header (test/contrib/roce.uts).
const scapy6 = "6e21face 002c11ff 20220000000000000000000000001023 20230000000000000000000000001024 c00012b7002c0000 " +
	"2460ffff000000d300cf1710 4630818be28935d90e9a95505401be885e500000 3e5b743b"

func TestICRCKnownAnswerOverIPv6(t *testing.T) {
	packet := unhex(t, scapy6)
	end := len(packet) - ICRCLen
	want := binary.LittleEndian.Uint32(packet[end:])
	if got := ICRC(packet[:end]); got != want {
		t.Errorf("ICRC %08x, want %08x", got, want)
	}
	// One bit of each byte: traffic class, flow label, hop limit, UDP's checksum and the BTH's byte 4 are not covered.
	for i := range packet[:end] {
		packet[i] ^= 0x01
		mutable := i <= 3 || i == 7 || i == 46 || i == 47 || i == 52
		if got := ICRC(packet[:end]) == want; got != mutable {
			t.Errorf("a flipped bit in byte %d: the ICRC stands: %v, want %v", i, got, mutable)
		}
		packet[i] ^= 0x01
	}
}

// TestPcapParse reads every frame of wire.pcap.
func TestPcapParse(t *testing.T) {
	want := []string{"pfc", "pfc", "data", "ack", "cnp", "cnp", "other", "other", "cnm", "other", "data", "ack", "cnp"}
	var p [13]Packet
	for i, frame := range pcapFrames(t) {
		if err := Parse(frame, &p[i]); err != nil {
			t.Fatalf("frame %d: %v", i+1, err)
		}
		if got := p[i].Kind.String(); got != want[i] {
			t.Errorf("frame %d is %s, want %s", i+1, got, want[i])
		}
		six := i >= 10
		roce := i >= 2 && i <= 5 || six
		if got := p[i].ICRCValid(); got != roce {
			t.Errorf("frame %d: ICRC valid is %v", i+1, got)
		}
		if roce && !six && !p[i].IPv4().ChecksumValid() {
			t.Errorf("frame %d: IP checksum", i+1)
		}
	}
	data6, ack6, cnp6 := &p[10], &p[11], &p[12]
	pause, resume, data, ack, cnp, pcn, cnm := p[0].PFC(), p[1].PFC(), &p[2], &p[3], &p[4], &p[5], p[8].CNM()
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"pause classes", pause.ClassEnable(), uint8(8)},
		{"pause time", pause.Time(3), PauseMax},
		{"pause other time", pause.Time(2), uint16(0)},
		{"pause source", p[0].Ethernet().Src(), switchMAC},
		{"resume classes", resume.ClassEnable(), uint8(8)},
		{"resume time", resume.Time(3), Resume},
		{"data opcode", data.Opcode, OpWriteOnly},
		{"data src", data.Src, ip1},
		{"data dst", data.Dst, ip2},
		{"data sport", data.SrcPort, uint16(49153)},
		{"data dport", data.DstPort, uint16(PortRoCE)},
		{"data QP", data.DestQP, uint32(0x12)},
		{"data PSN", data.PSN, uint32(0xff)},
		{"data ECN", data.ECN(), ECT0},
		{"data payload", data.Payload, 1000},
		{"data first bytes", [2]byte(data.Data()), [2]byte{0, 1}},
		{"data A", data.AckReq, true},
		{"data VA", data.RETH().VA(), uint64(0x1000)},
		{"data R_Key", data.RETH().RKey(), uint32(0xabcd)},
		{"data DMA length", data.RETH().DMALen(), uint32(1000)},
		{"ack syndrome", ack.Syndrome, SyndromeAck},
		{"ack MSN", ack.MSN, uint32(1)},
		{"ack PSN", ack.PSN, uint32(0xff)},
		{"ack A", ack.AckReq, false},
		{"cnp QP", cnp.DestQP, uint32(0x34)},
		{"cnp BECN", cnp.BECN, true},
		{"cnp FECN", cnp.FECN, false},
		{"cnp priority", cnp.Priority(), uint8(6)},
		{"cnp P_Key", cnp.BTH().PKey(), uint16(0xffff)},
		{"data over IPv6", data6.Opcode, OpWriteOnly},
		{"its src", data6.Src, ip1},
		{"its dst", data6.Dst, ip2},
		{"its sport", data6.SrcPort, uint16(49153)},
		{"its QP", data6.DestQP, uint32(0x12)},
		{"its priority", data6.Priority(), uint8(3)},
		{"its ECN", data6.ECN(), ECT0},
		{"its payload", data6.Payload, 1000},
		{"its last bytes", [2]byte(data6.Data()[998:]), [2]byte{0xe6, 0xe7}},
		{"its R_Key", data6.RETH().RKey(), uint32(0xabcd)},
		{"its IPv4", data6.IPv4() == nil, true},
		{"ack over IPv6", ack6.Syndrome, SyndromeAck},
		{"its MSN", ack6.MSN, uint32(1)},
		{"cnp over IPv6", cnp6.BECN, true},
		{"its P_Key", cnp6.BTH().PKey(), uint16(0xffff)},
		{"pcn report", ParsePCNReport(pcn.Reserved()), PCNReport{12345, true, 40}},
		{"cnm id", cnm.FlowID(), uint16(0xbeef)},
		{"cnm id low", cnm.FlowIDLow(), uint8(0xef)},
		{"cnm N", cnm.Flows(), 491},
		{"cnm N short", cnm.FlowsShort(), uint8(255)},
		{"cnm C", cnm.RateMbps(), uint32(40000)},
	} {
		if c.got != c.want {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
}

// TestNumbers: lengths are the sums of the standards' headers (Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, AETH 4,
// ICRC 4; telemetry 42), wraps those of the telemetry's fields (24 bits of ns, 20 of 128 B, 16 of 80 B), quanta 512 bit
// times (IEEE 802.1Qbb); the check value of CRC-16/ARC is its catalogue's, the flow id of ebpf/testdata/vectors.txt.
func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"WRITE_ONLY 1000 B", V4.DataLen(OpWriteOnly, 1000), 1074},
		{"WRITE_MIDDLE 1000 B", V4.DataLen(OpWriteMiddle, 1000), 1058},
		{"ACK", AckLen, 62},
		{"CNP", CNPLen, 74},
		{"WRITE_FIRST 1000 B with telemetry", V4.DataLen(OpWriteFirst.WithINT(), 1000), 1074 + 42},
		{"ACK with telemetry", AckINTLen, 104},
		{"time's wrap", INTTimeWrap, 16_777_216 * vtime.Nanosecond},
		{"bytes' wrap", int64(INTTxWrap), int64(134_217_728)},
		{"longest queue", int64(INTQueueMost), int64(5_242_800)},
		{"telemetry's opcodes", [2]Opcode{OpAck.WithINT(), OpWriteOnly.WithINT()}, [2]Opcode{0xd1, 0xca}},
		{
			"without telemetry",
			[3]Opcode{Opcode(0xc7).Operation(), OpWriteMiddle.Operation(), OpCNP.Operation()},
			[3]Opcode{7, 7, 0x81},
		},
		{"empty WRITE_MIDDLE", V4.DataLen(OpWriteMiddle, 0), 60},
		{"WRITE_ONLY 1000 B over IPv6", V6.DataLen(OpWriteOnly, 1000), 1094},
		{"empty WRITE_MIDDLE over IPv6", V6.DataLen(OpWriteMiddle, 0), 78},
		{"WRITE_ONLY trimmed over IPv6", V6.TrimmedLen(OpWriteOnly), 94},
		{"empty SEND_ONLY over IPv6", V6.MessageLen(OpSendOnly, 0), 78},
		{"READ request over IPv6", V6.MessageLen(OpReadRequest, 0), 94},
		{"CRC-16/ARC check value", CRC16([]byte("123456789")), uint16(0xbb3d)},
		{"flow id", FlowID(ip1, 49153, Addr{10, 0, 2, 2}, PortRoCE, ProtocolUDP), uint16(0x871d)},
		{"quantum at 40 Gbps", PauseTime(1, 40*units.Gbps), 12800 * vtime.Picosecond},
		{"quantum at 100 Gbps", PauseTime(1, 100*units.Gbps), 5120 * vtime.Picosecond},
		{"pause at 40 Gbps", PauseTime(PauseMax, 40*units.Gbps), 838848 * vtime.Nanosecond},
		{"data TOS", DataTOS(3, ECT0), uint8(26<<2 | 2)},
		{"control TOS", ControlTOS(6), uint8(0xc0)},
		{"priority of data", PriorityOfDSCP(DataTOS(7, CE) >> 2), uint8(7)},
		{"PSN wraps", PSNDiff(2, PSNMask), int32(3)},
		{"PSN behind", PSNDiff(PSNMask, 2), int32(-3)},
		{"ECN name", fmt.Sprint(NotECT, ECT1, UE, CE), "Not-ECT ECT(1) ECT(0) CE"},
		{
			"opcode names", fmt.Sprint(OpWriteOnly, OpAck.WithINT(), Opcode(0x42), Opcode(0xcc)),
			"WRITE_ONLY ACK INT opcode 0x42 opcode 0xcc",
		},
		{"addresses", fmt.Sprint(switchMAC, ip1), "02:00:00:00:01:01 10.0.0.1"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}
