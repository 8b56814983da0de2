//go:build linux

package ebpf_test

import (
	"bytes"
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
)

// A host's port: RoCE and CNMs bounce back to the hostagent untouched, the rest goes up the kernel's stack.
func TestHostPort(t *testing.T) {
	r := newRig(t)
	edit := func(frame []byte, f func(frame []byte)) []byte { f(frame); return frame }
	data := func() []byte { return roce{in: rigHostPort, dst: 0, priority: lossless}.frame(t) }
	control := func(put func(buf []byte, h *wire.FlowHeader) int) []byte {
		buf := make([]byte, 200)
		return buf[:put(buf, roce{in: rigHostPort}.header(t))]
	}
	cnm := make([]byte, wire.CNMLen)
	wire.PutCNM(cnm, portMAC(rigHostPort), peerMAC(rigHostPort), 0xbeef, 491, 40_000)
	for _, c := range []struct {
		name    string
		frame   []byte
		verdict uint32
	}{
		{"data", data(), ebpf.VerdictHost},
		{"ACK", control(func(b []byte, h *wire.FlowHeader) int { return wire.PutAck(b, h, 0x1f, 1, 1) }), ebpf.VerdictHost},
		{
			"CNP", control(func(b []byte, h *wire.FlowHeader) int { return wire.PutCNP(b, h, wire.CNPBECN, nil) }),
			ebpf.VerdictHost,
		},
		{"CNM", cnm, ebpf.VerdictHost},
		{"TTL does not matter", edit(data(), func(f []byte) { ipHeader(f)[8] = 1 }), ebpf.VerdictHost},
		{"UDP of a program", edit(data(), func(f []byte) { f[37]++ }), ebpf.VerdictStack},
		{"TCP to port 4791", edit(data(), func(f []byte) { ipHeader(f)[9] = 6 }), ebpf.VerdictStack},
		{"fragment of RoCE", edit(data(), func(f []byte) { ipHeader(f)[6] = 0x20 }), ebpf.VerdictStack},
		{"RoCE with IP options", edit(data(), func(f []byte) { f[14] = 0x46 }), ebpf.VerdictStack},
		{"ping", plainIP(rigHostPort, 0, 1, 64, 0), ebpf.VerdictStack},
		{"ARP", edit(data(), func(f []byte) { wire.Ethernet(f).SetType(0x0806) }), ebpf.VerdictStack},
		{"IPv6", edit(data(), func(f []byte) { wire.Ethernet(f).SetType(0x86dd) }), ebpf.VerdictStack},
		{"pause of the whole link", edit(data(), func(f []byte) {
			wire.Ethernet(f).SetType(wire.EtherTypeMACControl)
			f[14], f[15] = 0, 1
		}), ebpf.VerdictDrop},
		{"PFC for another address", pfcTo(wire.MAC{0x01, 0x80, 0xc2, 0x00, 0x00, 0x00}), ebpf.VerdictDrop},
		{"PFC for this port alone", pfcTo(portMAC(rigHostPort)), ebpf.VerdictDrop},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			before := r.port(rigHostPort).copy()
			got := r.enter(rigHostPort, c.frame)
			if got.Verdict != c.verdict || !bytes.Equal(got.data, c.frame) || got.Want != 0 || got.Flow != 0 {
				t.Fatalf("verdict %d, want %d; want mask %d, flow %d", got.Verdict, c.verdict, got.Want, got.Flow)
			}
			if c.verdict == ebpf.VerdictHost && got.Egress != rigHostPort {
				t.Errorf("came out of port %d", got.Egress)
			}
			before.RxFrames++
			before.RxBytes += uint64(len(c.frame))
			if c.verdict == ebpf.VerdictDrop {
				before.Dropped[ebpf.ReasonMalformed]++
			}
			if after := r.port(rigHostPort).copy(); after != before {
				t.Errorf("port\n%+v, want\n%+v", after, before)
			}
		})
	}
}

// A host has no pipeline that could build a frame.
func TestHostPortGeneratesNothing(t *testing.T) {
	r := newRig(t)
	before := r.snapshot()
	for trigger := ebpf.TriggerPause; trigger <= ebpf.TriggerFlow; trigger++ {
		if got := r.generate(rigHostPort, trigger, 0, lossless); got.Verdict != ebpf.VerdictDrop || got.Want != 0 {
			t.Errorf("trigger %d: verdict %d, want mask %d", trigger, got.Verdict, got.Want)
		}
	}
	r.unchanged(before)
}

// A frame shorter than Ethernet allows is dropped, and says nothing about an earlier one. (BPF_PROG_TEST_RUN refuses an
// IPv4 packet shorter than its header.)
func TestShortFrames(t *testing.T) {
	r := newRig(t)
	r.sw().Profiles[0].Xoff, r.sw().Profiles[0].Xon = 1, 0
	for _, in := range []int{0, rigHostPort} {
		for n := 34; n < ebpf.FrameMin; n++ {
			if got := r.enter(0, roce{in: 0, dst: 1, priority: lossless}.frame(t)); got.Want != ebpf.WantPause {
				t.Fatal("the frame before asked for nothing")
			}
			before := r.snapshot()
			got := r.enter(in, roce{in: in, dst: 1, priority: lossless}.frame(t)[:n])
			if got.Verdict != ebpf.VerdictDrop || got.Reason != ebpf.ReasonMalformed {
				t.Fatalf("%d bytes into port %d: verdict %d, reason %d", n, in, got.Verdict, got.Reason)
			}
			if got.Want != 0 || got.Flow != 0 || got.Changed != 0 {
				t.Fatalf("%d bytes into port %d: want %d, flow %d, changed %d are an earlier frame's",
					n, in, got.Want, got.Flow, got.Changed)
			}
			r.unchanged(before)
		}
	}
}

// A pass into a port that does not exist touches nothing.
func TestNoSuchPort(t *testing.T) {
	r := newRig(t)
	before := r.snapshot()
	if got := r.enter(rigPorts, roce{in: 0, dst: 1}.frame(t)); got.Verdict != ebpf.VerdictDrop || got.Want != 0 {
		t.Errorf("verdict %d, want mask %d", got.Verdict, got.Want)
	}
	if got := r.generate(rigPorts, ebpf.TriggerPause, 0, lossless); got.Verdict != ebpf.VerdictDrop || got.Want != 0 {
		t.Errorf("trigger: verdict %d, want mask %d", got.Verdict, got.Want)
	}
	r.unchanged(before)
}
