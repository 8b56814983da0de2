//go:build linux

package ebpf_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

const (
	intAt  = 54 // behind Ethernet 14, IPv4 20, UDP 8, BTH 12
	intAt6 = 74 // IPv6 40
	intLen = 2 + 5*8
)

// withTelemetry returns a RoCE frame with room for telemetry, with this many full slots.
func withTelemetry(frame []byte, opcode byte, hops int, path uint16) []byte {
	at, six := intAt, wire.Ethernet(frame).Type() == wire.EtherTypeIPv6
	if six {
		at = intAt6
	}
	f := slices.Insert(slices.Clone(frame), at, make([]byte, intLen)...)
	f[at-12] = opcode
	binary.BigEndian.PutUint16(f[at:], uint16(hops)<<12|path)
	for i := range hops * 8 {
		f[at+2+i] = byte(0x11 + i)
	}
	if six {
		binary.BigEndian.PutUint16(f[18:], uint16(len(f)-wire.EthernetLen-wire.IPv6Len))
		return f
	}
	ip := ipHeader(f)
	binary.BigEndian.PutUint16(ip[2:], uint16(len(f)-wire.EthernetLen))
	ip.UpdateChecksum()
	return f
}

// slot returns one hop's 64 bits, field by field: B 4, TS 24, txBytes 20, qLen 16.
func slot(code, ns, tx, queue uint64) uint64 { return code<<60 | ns<<36 | tx<<16 | queue }

// TestTelemetry: the pipeline fills the next free slot with the state of the port, and changes nothing else in the
// frame.
func TestTelemetry(t *testing.T) {
	r := newRig(t)
	data := roce{in: 0, dst: 1, priority: lossless, ecn: wire.ECT0}.frame(t)
	const opcode = 0xc7 // WRITE middle
	for _, c := range []struct {
		name     string
		out      int
		edit     func(p registers)
		hops     int
		path     uint16
		departed vtime.Time
		queue    uint32
		before   uint64 // line bytes that had left
		want     uint64 // 0: untouched
		wantPath uint16
	}{
		{name: "first hop", out: 1, departed: 1_234_999, queue: 0, want: slot(2, 1234, 1124/128, 0), wantPath: 0x001},
		{
			name: "third hop", out: 1, hops: 2, path: 0x0f0, departed: vtime.Microsecond, queue: 799, want: slot(2, 1000, 8, 9),
			wantPath: 0x0f1,
		},
		{name: "last slot", out: 1, hops: 4, departed: 0, queue: 800, want: slot(2, 0, 8, 10), wantPath: 0x001},
		{name: "no slot left", out: 1, hops: 5, path: 0xabc, wantPath: 0xabc},
		{name: "the second switch", out: 7, path: 0xfff, departed: 0, want: slot(2, 0, 8, 0), wantPath: 0xffd},
		{
			name: "time wraps after 2^24 ns", out: 1, departed: (1<<24 + 5) * vtime.Nanosecond, want: slot(2, 5, 8, 0),
			wantPath: 1,
		},
		{name: "bytes wrap after 2^20 units", out: 1, before: 1<<27 - 1124 + 128, want: slot(2, 0, 1, 0), wantPath: 1},
		{
			name: "all bits", out: 1, departed: (1<<24 - 1) * vtime.Nanosecond, before: 1<<27 - 1124 - 1, queue: 1 << 31,
			want: slot(2, 1<<24-1, 1<<20-1, 0xffff), wantPath: 1,
		},
		{name: "queue just below the most", out: 1, queue: 80*65535 - 1, want: slot(2, 0, 8, 65534), wantPath: 1},
		{name: "queue beyond the most", out: 1, queue: 80 * 65536, want: slot(2, 0, 8, 65535), wantPath: 1},
		{name: "another rate", out: 1, edit: func(p registers) { p.RateCode = 7 }, want: slot(7, 0, 8, 0), wantPath: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			r.reset()
			for i := range r.State.Switches {
				sw := &r.State.Switches[i]
				sw.IntOn, sw.LineOverhead, sw.LineMin = 1, 24, 84
			}
			p := r.port(c.out)
			p.RateCode, p.TxLineBytes = 2, c.before
			if c.edit != nil {
				c.edit(p)
			}
			frame := withTelemetry(data, opcode, c.hops, c.path)
			want := slices.Clone(frame)
			hops := c.hops
			if c.want != 0 || c.hops < 5 {
				binary.BigEndian.PutUint64(want[intAt+2+8*c.hops:], c.want)
				hops++
			}
			binary.BigEndian.PutUint16(want[intAt:], uint16(hops)<<12|c.wantPath)
			counted := p.copy()
			counted.TxLineBytes += uint64(len(frame) + 24)
			r.State.Pass.Departed = uint64(c.departed)
			if got := r.leave(c.out, c.queue, ebpf.BurstNone, frame); !bytes.Equal(got, want) {
				t.Errorf("left as\n%x, want\n%x", got[intAt:intAt+intLen], want[intAt:intAt+intLen])
			}
			if p.copy() != counted {
				t.Errorf("port\n%+v, want\n%+v", p.copy(), counted)
			}
		})
	}
}

// TestTelemetryOfOtherFrames: frames without telemetry are unchanged, but counted: they take the link's time.
func TestTelemetryOfOtherFrames(t *testing.T) {
	r := newRig(t)
	data := roce{in: 0, dst: 1, priority: lossless, ecn: wire.ECT0}
	stamped := withTelemetry(data.frame(t), 0xc7, 0, 0)
	edit := func(f func(frame []byte)) []byte {
		frame := slices.Clone(stamped)
		f(frame)
		return frame
	}
	pfc := make([]byte, wire.PFCLen)
	wire.PutPause(pfc, portMAC(1), lossless, 0xffff)
	for _, c := range []struct {
		name  string
		frame []byte
		off   bool
		line  int // bytes of line time; 0: the frame's and 24
	}{
		{name: "standard opcode", frame: data.frame(t)},
		{name: "timestamp", frame: edit(func(f []byte) { f[42] = 0xe7 })},
		{name: "ACK that echoes", frame: edit(func(f []byte) { f[42] = 0xd1 })},
		{name: "CNP", frame: edit(func(f []byte) { f[42] = 0x81 })},
		{name: "TCP", frame: edit(func(f []byte) { ipHeader(f)[9] = 6 })},
		{name: "another UDP port", frame: edit(func(f []byte) { f[37]++ })},
		{name: "fragment", frame: edit(func(f []byte) { ipHeader(f)[6] = 0x20 })},
		{name: "IP options", frame: edit(func(f []byte) { f[14] = 0x46 })},
		{name: "too short for the header", frame: stamped[:intAt+intLen-1]},
		{name: "PFC", frame: pfc, line: 84},
		{name: "switched off", frame: stamped, off: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			r.reset()
			p := r.port(1)
			r.sw().LineOverhead, r.sw().LineMin = 24, 84
			want := p.copy()
			if !c.off {
				r.sw().IntOn = 1
				want.TxLineBytes = uint64(len(c.frame) + 24)
			}
			if c.line != 0 {
				want.TxLineBytes = uint64(c.line)
			}
			if got := r.leave(1, 8000, ebpf.BurstNone, c.frame); !bytes.Equal(got, c.frame) {
				t.Errorf("left as\n%x, was\n%x", got, c.frame)
			}
			if p.copy() != want {
				t.Errorf("port\n%+v, want\n%+v", p.copy(), want)
			}
		})
	}
	// The least frame that has room, and a host's port, which is no switch's.
	r.reset()
	r.sw().IntOn = 1
	least := slices.Clone(stamped[:intAt+intLen])
	if got := r.leave(1, 0, ebpf.BurstNone, least); got[intAt] != 0x10 {
		t.Errorf("the least frame left as %x", got)
	}
	if got := r.leave(rigHostPort, 0, ebpf.BurstNone, stamped); !bytes.Equal(got, stamped) ||
		r.port(rigHostPort).TxLineBytes != 0 {
		t.Errorf("a NIC stamped %x", got)
	}
}

// ECN and telemetry do not know of each other.
func TestTelemetryAndECN(t *testing.T) {
	r := newRig(t)
	sw := r.sw()
	sw.IntOn, sw.EcnMode = 1, ebpf.ECNRED
	frame := withTelemetry(roce{in: 0, dst: 1, priority: lossless, ecn: wire.ECT0}.frame(t), 0xca, 0, 0)
	got := r.leave(1, 200_001, ebpf.BurstNone, frame)
	if ipHeader(got).ECN() != wire.CE || !ipHeader(got).ChecksumValid() || got[intAt] != 0x10 {
		t.Errorf("left as %x", got)
	}
}

// Simulators count a packet 10 bytes shorter than it is, and nothing under 60.
func TestTelemetryLineBytes(t *testing.T) {
	r := newRig(t)
	r.sw().IntOn = 1
	p := r.port(1)
	r.sw().LineOverhead, r.sw().LineMin = -10, 60
	r.leave(1, 0, ebpf.BurstNone, roce{in: 0, dst: 1, priority: lossless}.frame(t))
	r.leave(1, 0, ebpf.BurstNone, roce{in: 0, dst: 1, payload: 1}.frame(t))
	if want := uint64(dataLen - 10 + 60); p.TxLineBytes != want {
		t.Errorf("%d line bytes, want %d", p.TxLineBytes, want)
	}
}
