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

// creditFrame returns a credit message in the format of docs/schemes/cbfc.md.
func creditFrame(source wire.MAC, op, fctbs, vl, fccl uint16) []byte {
	f := make([]byte, ebpf.CreditLen)
	eth := wire.Ethernet(f)
	eth.SetDst(wire.MAC{0x01, 0x80, 0xc2, 0, 0, 1})
	eth.SetSrc(source)
	eth.SetType(0x88b6)
	binary.BigEndian.PutUint16(f[14:], op<<12|fctbs)
	binary.BigEndian.PutUint16(f[16:], vl<<12|fccl)
	return f
}

// byCredits has the lossless priority go by credits of 64 B at every port.
func (r *rig) byCredits(buffer uint32) {
	for i := range r.State.Ports {
		p := r.port(i)
		p.CreditVls, p.BlockShift, p.CreditBuffer = 1<<lossless, 6, buffer
	}
}

// TestBuildCredit: the message reports the blocks sent and the peer's limit; the vectors are those of credits.
func TestBuildCredit(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		name           string
		port           int
		sent, received uint16
		buffered       uint32
		buffer         uint32
		shift          uint32
		want           uint16 // FCCL
	}{
		{"500 blocks free", 2, 0x123, 4000, 0, 500 * 64, 6, 404},
		{"more than may be granted", 2, 0, 4000, 0, 2049 * 64, 6, 1952},
		{"just what may be", 2, 4095, 4000, 0, 2048 * 64, 6, 1952},
		{"what is buffered counts by the byte", 2, 1, 10, 65, 128, 6, 10},
		{"a whole block free", 2, 1, 10, 64, 128, 6, 11},
		{"full", 2, 1, 10, 128, 128, 6, 10},
		{"more than full cannot be, and grants nothing", 2, 1, 10, 5000, 128, 6, 10},
		{"larger blocks", 2, 7, 100, 1058, 280_000, 8, 100 + (280_000-1058)/256},
		{"a host holds nothing", rigHostPort, 7, 100, 0, 64_000, 6, 1100},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			r.reset()
			r.byCredits(c.buffer)
			p := r.port(c.port)
			p.BlockShift = c.shift
			p.Class[lossless].Buffered = c.buffered
			p.Credit[lossless] = ebpf.Credit{Sent: c.sent, Received: c.received, Limit: 77}
			want := p.copy()
			want.CreditsSent++
			x := r.State.Pass
			x.InPort, x.Trigger, x.OutPort, x.Priority = uint32(c.port), ebpf.TriggerCredit, ebpf.NoPort, lossless
			blank := bytes.Repeat([]byte{0xee}, ebpf.CreditLen)
			blank[60], blank[61] = 0, 0 // the pipelines write the least frame: a blank is zeros beyond
			got := r.ingress(blank)
			if got.Verdict != ebpf.VerdictForward || got.Egress != uint32(c.port) || got.Want != 0 {
				t.Errorf("verdict %d, port %d, want mask %d", got.Verdict, got.Egress, got.Want)
			}
			if frame := creditFrame(portMAC(c.port), 0, c.sent, lossless, c.want); !bytes.Equal(got.data, frame) {
				t.Errorf("built\n%x, want\n%x", got.data, frame)
			}
			if p.copy() != want {
				t.Errorf("port\n%+v, want\n%+v", p.copy(), want)
			}
		})
	}
	// A priority that does not go by credits has none.
	r.t = t
	r.reset()
	r.byCredits(1000)
	for _, port := range []int{2, rigHostPort} {
		if got := r.generate(port, ebpf.TriggerCredit, 0, lossless+1); got.Verdict != ebpf.VerdictConsumed ||
			r.port(port).IdleTriggers != 1 {
			t.Errorf("port %d: verdict %d, %d idle triggers", port, got.Verdict, r.port(port).IdleTriggers)
		}
	}
}

// The frame of docs/schemes/cbfc.md, byte for byte (vectors: the credit message).
func TestCreditFrame(t *testing.T) {
	r := newRig(t)
	r.byCredits(0xabc * 64)
	p := r.port(1)
	p.Mac = wire.MAC{0x02, 0, 0, 0, 0x01, 0x01}
	p.Credit[lossless] = ebpf.Credit{Sent: 0x123, Received: 0xabc - 2048}
	x := r.State.Pass
	x.InPort, x.Trigger, x.OutPort, x.Priority = 1, ebpf.TriggerCredit, ebpf.NoPort, lossless
	want := append([]byte("\x01\x80\xc2\x00\x00\x01\x02\x00\x00\x00\x01\x01\x88\xb6\x01\x23\x3a\xbc\x00\x00"),
		make([]byte, 42)...)
	if got := r.ingress(make([]byte, ebpf.CreditLen)); !bytes.Equal(got.data, want) {
		t.Errorf("\n%x, want\n%x", got.data, want)
	}
}

// A message sets the limit and what has been received; the lane goes ON when what waits fits.
func TestReceiveCredit(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		name            string
		sent, limit     uint16 // before
		needed          uint16
		received, fctbs uint16
		fccl            uint16
		on              bool // it goes
		repairs         uint64
	}{
		{"a grant that nobody waits for", 4090, 4090, 0, 5, 5, 100, false, 0},
		{"106 blocks for 17", 4090, 4090, 17, 5, 5, 100, true, 0},
		{"just enough", 4090, 4090, 106, 5, 5, 100, true, 0},
		{"a block too few", 4090, 4090, 107, 5, 5, 100, false, 0},
		{"as many as can be", 0, 0, 1, 5, 5, 2048, true, 0},
		{"blocks were lost on the wire", 0, 0, 0, 5, 22, 100, false, 1},
		{"an initial message", 0, 0, 17, 0, 0, 1000, true, 0},
	} {
		for _, port := range []int{2, rigHostPort} {
			t.Run(c.name, func(t *testing.T) {
				r.t = t
				r.reset()
				r.byCredits(64_000)
				p := r.port(port)
				p.Credit[lossless] = ebpf.Credit{Sent: c.sent, Limit: c.limit, Needed: c.needed, Received: c.received}
				if c.needed != 0 {
					p.Class[lossless].PausedUntil, p.Class[lossless].OffSince = uint64(vtime.Never), 5
				}
				frame := creditFrame(peerMAC(port), 0, c.fctbs, lossless, c.fccl)
				if c.name == "an initial message" {
					frame[14] |= 0x10
				}
				want := p.copy()
				want.RxFrames, want.RxBytes, want.CreditsReceived, want.CreditRepairs = 1, uint64(len(frame)), 1, c.repairs
				want.Credit[lossless].Limit, want.Credit[lossless].Received = c.fccl, c.fctbs
				mask, changed := uint32(0), uint32(0)
				if c.on {
					want.Credit[lossless].Needed, want.Class[lossless].PausedUntil = 0, uint64(r.now())
					mask, changed = ebpf.StateChanged, 1<<lossless
				}
				got := r.enter(port, frame)
				if got.Verdict != ebpf.VerdictConsumed || got.Want != mask || got.Changed != changed {
					t.Errorf("verdict %d, want mask %d, changed %#x", got.Verdict, got.Want, got.Changed)
				}
				if p.copy() != want {
					t.Errorf("port\n%+v, want\n%+v", p.copy(), want)
				}
			})
		}
	}
}

// TestStrayCredits: frames that are no messages for this fabric are dropped under credits, and ignored without them.
func TestStrayCredits(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		on      bool
		vl      uint16
		port    int
		verdict uint32
	}{
		{true, 4, 2, ebpf.VerdictDrop},
		{true, 15, 2, ebpf.VerdictDrop},
		{true, 11, rigHostPort, ebpf.VerdictDrop},
		{false, lossless, 2, ebpf.VerdictDrop},
		{false, lossless, rigHostPort, ebpf.VerdictStack},
	} {
		r.reset()
		if c.on {
			r.byCredits(64_000)
		}
		before := r.copies()
		if got := r.enter(c.port, creditFrame(peerMAC(c.port), 0, 1, c.vl, 2)); got.Verdict != c.verdict || got.Want != 0 {
			t.Errorf("%+v: verdict %d, want mask %d", c, got.Verdict, got.Want)
		}
		before[c.port].RxFrames, before[c.port].RxBytes = 1, ebpf.CreditLen
		if c.verdict == ebpf.VerdictDrop {
			before[c.port].Dropped[ebpf.ReasonMalformed] = 1
		}
		if !slices.Equal(before, r.copies()) {
			t.Errorf("%+v moved a register", c)
		}
	}
}

// Every frame of a lane that comes in counts, whatever becomes of it, in whole blocks; PFC's threshold is not asked.
func TestReceivedBlocks(t *testing.T) {
	r := newRig(t)
	frame := func(priority uint8, dst, payload int) []byte {
		return roce{in: 2, dst: dst, priority: priority, payload: payload}.frame(t)
	}
	cnm := make([]byte, wire.CNMLen)
	wire.PutCNM(cnm, portMAC(2), peerMAC(2), 0xbeef, 491, 40_000)
	pfc := make([]byte, wire.PFCLen)
	wire.PutPause(pfc, peerMAC(2), 5, 0xffff)
	for _, c := range []struct {
		name   string
		frame  []byte
		vls    uint8
		shift  uint32
		before uint16
		vl     int
		want   uint16
	}{
		{"1048 bytes are 17 blocks", frame(lossless, 1, 990), 1 << lossless, 6, 0, lossless, 17},
		{"1058 bytes are 5 of 256 B", frame(lossless, 1, 1000), 1 << lossless, 8, 0, lossless, 5},
		{"64 bytes are one", plainIP(2, 1, 17, 64, lossless<<5)[:64], 1 << lossless, 6, 9, lossless, 10},
		{"65 bytes are two", plainIP(2, 1, 17, 64, lossless<<5)[:65], 1 << lossless, 6, 9, lossless, 11},
		{"modulo 4096", frame(lossless, 1, 990), 1 << lossless, 6, 4090, lossless, 11},
		{"another priority", frame(lossless+1, 1, 990), 1 << lossless, 6, 0, lossless + 1, 0},
		{"of several", frame(lossless+1, 1, 990), 3 << lossless, 6, 0, lossless + 1, 17},
		{"dropped for want of a route", frame(lossless, noRoute, 990), 1 << lossless, 6, 0, lossless, 17},
		{"a CNM", cnm, 1 << 7, 6, 0, 7, 1},
		{"PFC is not queued", pfc, 0xff, 6, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			r.reset()
			p := r.port(2)
			p.CreditVls, p.BlockShift, p.CreditBuffer, p.Credit[c.vl].Received = c.vls, c.shift, 64_000, c.before
			got := r.enter(2, c.frame)
			var want [8]ebpf.Credit
			want[c.vl].Received = c.want
			if p.Credit != want || got.Want&ebpf.WantPause != 0 {
				t.Errorf("credits %+v, want %+v; want mask %d", p.Credit, want, got.Want)
			}
		})
	}
	r.t = t
	r.reset()
	r.byCredits(64_000)
	if got := r.enter(rigHostPort, roce{
		in: rigHostPort, dst: 0, priority: lossless,
		payload: 990,
	}.frame(t)); got.Verdict != ebpf.VerdictHost {
		t.Errorf("verdict %d", got.Verdict)
	}
	if got := r.port(rigHostPort).Credit[lossless].Received; got != 17 {
		t.Errorf("a host received %d blocks", got)
	}
}

// The gate (IBTA volume 1, section 7.9; vectors of credits): a frame of b blocks may leave if (FCCL - FCTBS - b) mod
// 4096 is at most 2048.
func TestHasCredit(t *testing.T) {
	for _, c := range []struct {
		sent, limit uint16
		n           int
		ok          bool
	}{
		{4090, 100, 106 * 64, true},
		{4090, 100, 106*64 + 1, false},
		{4090, 100, 1048, true},
		{0, 0, 1, false},
		{0, 1, 64, true},
		{0, 2048, 1, true},
		{5, 4, 1, false},
		{4095, 0, 64, true},
		{4095, 0, 65, false},
	} {
		s := ebpf.State{Ports: make([]ebpf.Port, 1), Extras: make([]ebpf.PortExtra, 1)}
		p := registers{&s.Ports[0], &s.Extras[0]}
		p.BlockShift, p.Credit[2] = 6, ebpf.Credit{Sent: c.sent, Limit: c.limit}
		before := p.copy()
		if got := s.HasCredit(77, 0, 2, c.n); got != c.ok {
			t.Errorf("%+v: %v", c, got)
		}
		if !c.ok {
			before.CreditStalls, before.Credit[2].Needed = 1, uint16((c.n+63)/64)
			before.Class[2].OffSince, before.Class[2].PausedUntil = 77, uint64(vtime.Never)
		}
		if p.copy() != before {
			t.Errorf("%+v: port %+v, want %+v", c, p.copy(), before)
		}
		s.Spend(0, 2, c.n)
		if want := (c.sent + uint16((c.n+63)/64)) % 4096; p.Credit[2].Sent != want {
			t.Errorf("%+v: sent %d, want %d", c, p.Credit[2].Sent, want)
		}
	}
}
