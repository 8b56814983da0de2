//go:build linux

package ebpf_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// cnmFor returns the message for a packet's flow as the switch must build it: back to the hop before it.
func cnmFor(p roce, flows int, rateMbps uint32) []byte {
	f := make([]byte, wire.CNMLen)
	wire.PutCNM(f, peerMAC(p.in), portMAC(p.in), p.id(), flows, rateMbps)
	return f
}

// The flow id is CRC-16/ARC; DCON paper, section 5 (vectors: flow id).
func TestFlowID(t *testing.T) {
	r := newBurstRig(t, 0)
	frame := roce{in: 0, src: 0, dst: 1, sport: 0xc001, priority: lossless}.frame(t)
	copy(frame[26:], "\x0a\x00\x00\x01\x0a\x00\x02\x02") // 10.0.0.1, 10.0.2.2
	if got := r.enter(0, frame); got.Verdict != ebpf.VerdictDrop {
		t.Errorf("host 10.0.2.2 has a route: verdict %d", got.Verdict)
	}
	if id := wire.FlowID(wire.Addr{10, 0, 0, 1}, 0xc001, wire.Addr{10, 0, 2, 2}, 4791, 17); id != 0x871d {
		t.Errorf("wire.FlowID is %#x", id)
	}
	for i := range uint16(500) {
		p := roce{in: int(i % 6), src: int(i % 8), dst: 1, sport: i * 131, priority: lossless}
		if got := r.enter(p.in, p.frame(t)); got.Flow != p.entry()+1 {
			t.Fatalf("%+v: entry %#x, want %#x", p, got.Flow, p.entry()+1)
		}
	}
	// The second switch's part of the table begins at 65536.
	p := roce{in: 7, dst: 0, priority: lossless}
	r.State.Switches[1].Cnm = 1
	if got := r.enter(7, p.frame(t)); got.Flow != ebpf.FlowIDs+p.entry()+1 {
		t.Errorf("entry %#x of the second switch, want %#x", got.Flow, ebpf.FlowIDs+p.entry()+1)
	}
}

func TestCNMFrame(t *testing.T) {
	r := newBurstRig(t, 250_000)
	p := roce{in: 4, src: 3, dst: 1, sport: 77, priority: lossless, ecn: wire.ECT0}
	r.enter(p.in, p.frame(t))
	r.port(1).RateMbps = 100_000
	for _, flows := range []int{1, 255, 256, 491, 65_535, 65_536, 1_000_000} {
		r.port(1).Flows = uint32(flows)
		r.after(vtime.Microsecond)
		sent := r.port(1).CnmsSent
		got := r.generate(1, ebpf.TriggerFlow, p.entry(), 0)
		if want := cnmFor(p, flows, 100_000); !bytes.Equal(got.data, want) {
			t.Errorf("N = %d:\n%x, want\n%x", flows, got.data, want)
		}
		if got.Verdict != ebpf.VerdictForward || got.Egress != 4 || got.OutPriority != 7 || got.Want != 0 || got.Flow != 0 {
			t.Errorf("verdict %d, port %d, priority %d, want mask %d", got.Verdict, got.Egress, got.OutPriority, got.Want)
		}
		f := r.State.Flows[p.entry()]
		if f.LastCnm != uint64(r.now()) || f.CnmFlows != uint32(flows) || r.port(1).CnmsSent != sent+1 {
			t.Errorf("last CNM %d with N = %d; %d sent", f.LastCnm, f.CnmFlows, r.port(1).CnmsSent)
		}
	}
	if r.port(1).IdleTriggers != 0 || r.sw().Used != uint64(dataLen) {
		t.Errorf("%d idle triggers, %d bytes used", r.port(1).IdleTriggers, r.sw().Used)
	}
	// An entry past the table builds nothing.
	got := r.generate(1, ebpf.TriggerFlow, 2*ebpf.FlowIDs, 0)
	if got.Verdict != ebpf.VerdictConsumed || r.port(1).IdleTriggers != 1 {
		t.Errorf("verdict %d, %d idle triggers", got.Verdict, r.port(1).IdleTriggers)
	}
}

// A CNM goes back where the flow's latest packet came from.
func TestCNMFollowsThePath(t *testing.T) {
	r := newBurstRig(t, 250_000)
	p := roce{in: 4, src: 3, dst: 1, sport: 77, priority: lossless}
	r.enter(p.in, p.frame(t))
	p.in = 5
	r.after(1)
	r.enter(p.in, p.frame(t))
	if got := r.generate(1, ebpf.TriggerFlow, p.entry(), 0); got.Egress != 5 ||
		!bytes.Equal(got.data, cnmFor(p, 1, 40_000)) {
		t.Errorf("out of port %d:\n%x", got.Egress, got.data)
	}
}

// At the start of a burst each flow that came in by a shared port gets one CNM, the latest on the list first.
func TestCNMWalk(t *testing.T) {
	r := newBurstRig(t, 250_000)
	for n := 1; n <= 100; n++ {
		for _, every := range []int{1, 2, 7, 40, 1000} { // every so many flows come in by the shared port 0
			r.reset()
			r.sw().Cnm, r.sw().Q_cnm = 1, 250_000
			var packets []roce
			for i := range n {
				p := roce{in: 1 + i%3, src: 2, dst: 6, sport: uint16(i * 3), priority: lossless}
				if i%every == every-1 {
					p.in = 0
				}
				r.queue(5, 100_000)
				r.enter(p.in, p.frame(t))
				packets = append(packets, p)
			}
			// Later than T the ports 1 to 3 are not shared; port 0 is. The burst is seen by a packet of the first flow.
			r.after(120 * vtime.Microsecond)
			r.data(0, 1, 0)
			r.queue(5, 300_000)
			trigger := packets[0]
			trigger.in = 0
			if got := r.enter(0, trigger.frame(t)); got.Want != ebpf.WantWalk {
				t.Fatalf("%d flows: want mask %d", n, got.Want)
			}
			packets[0].in = 0
			var want []string
			for i := n - 1; i >= 0; i-- {
				if packets[i].in == 0 {
					want = append(want, fmt.Sprintf("0 %x", cnmFor(packets[i], n, 40_000)))
				}
			}
			built, triggers := r.walk(5)
			if len(built) != len(want) {
				t.Fatalf("%d flows, every %d shared: %d CNMs, want %d", n, every, len(built), len(want))
			}
			for i, b := range built {
				if got := fmt.Sprintf("%d %x", b.Egress, b.data); got != want[i] || b.OutPriority != 7 {
					t.Fatalf("%d flows: CNM %d is %s, want %s", n, i, got, want[i])
				}
			}
			// A trigger builds a CNM or looks at 32 flows; one more may find the end of the list.
			if most := len(want) + n/32 + 1; triggers > most {
				t.Errorf("%d flows, %d CNMs: %d triggers, want at most %d", n, len(want), triggers, most)
			}
			p := r.port(5)
			if p.CnmsSent != uint64(len(want)) || p.IdleTriggers != 0 || p.Walk != 0 || p.Flows != uint32(n) {
				t.Fatalf("%d CNMs counted, %d idle triggers, walk at %d, N = %d", p.CnmsSent, p.IdleTriggers, p.Walk, p.Flows)
			}
		}
	}
}

// A walk of nobody: every flow came by a port that carries only congested traffic.
func TestCNMWalkOfNobody(t *testing.T) {
	r := newBurstRig(t, 250_000)
	r.port(0).Walk = 0
	if built, triggers := r.walk(0); len(built) != 0 || triggers != 1 {
		t.Errorf("%d CNMs in %d triggers", len(built), triggers)
	}
}

func TestCNMForwarding(t *testing.T) {
	r := newBurstRig(t, 250_000)
	p := roce{in: 4, src: 3, dst: 1, sport: 77, priority: lossless}
	r.enter(p.in, p.frame(t))
	r.sw().Used, r.port(4).Class = 0, [8]ebpf.PortClass{}
	// The next switch sends it into the port that the flow's packets left by.
	message := make([]byte, wire.CNMLen)
	wire.PutCNM(message, portMAC(1), peerMAC(1), p.id(), 491, 100_000)
	want := make([]byte, wire.CNMLen)
	wire.PutCNM(want, peerMAC(4), portMAC(4), p.id(), 491, 100_000)

	got := r.enter(1, message)
	if got.Verdict != ebpf.VerdictForward || got.Egress != 4 || got.OutPriority != 7 || !bytes.Equal(got.data, want) {
		t.Errorf("verdict %d, port %d, priority %d\n%x, want\n%x", got.Verdict, got.Egress, got.OutPriority, got.data, want)
	}
	if r.port(4).CnmsForwarded != 1 || each(&r.port(1).Class, buffered) != [8]uint64{7: wire.CNMLen} ||
		r.sw().Used != wire.CNMLen {
		t.Errorf("%d forwarded, %v buffered, %d used", r.port(4).CnmsForwarded, each(&r.port(1).Class, buffered), r.sw().Used)
	}
	if got.Want != 0 || got.Flow != 0 || r.port(4).CnmsSent+r.port(1).CnmsSent != 0 {
		t.Errorf("want mask %d, flow %d", got.Want, got.Flow)
	}

	// Its way back is found when the flow's packets are long gone ...
	r.sw().Used += uint64(dataLen)
	r.release(4, 1, lossless, int(dataLen), p.entry()+1)
	r.after(vtime.Second)
	if got := r.enter(1, message); got.Verdict != ebpf.VerdictForward {
		t.Errorf("verdict %d after the flow", got.Verdict)
	}
	// ... but not for a flow that the switch, or this switch, has not seen, or for another's MAC.
	for _, c := range []struct {
		name   string
		in     int
		edit   func(f []byte)
		reason uint32
	}{
		{"unknown flow", 1, func(f []byte) { f[16] ^= 1 }, ebpf.ReasonCNMLost},
		{"the other switch", 7, func(f []byte) { f[5] = 7 }, ebpf.ReasonCNMLost},
		{"wrong MAC", 1, func(f []byte) { f[0] = 0xff }, ebpf.ReasonMalformed},
	} {
		f := bytes.Clone(message)
		c.edit(f)
		dropped := r.port(c.in).Dropped[c.reason]
		if got := r.enter(c.in, f); got.Verdict != ebpf.VerdictDrop || got.Reason != c.reason || !bytes.Equal(got.data, f) {
			t.Errorf("%s: verdict %d, reason %d", c.name, got.Verdict, got.Reason)
		}
		if r.port(c.in).Dropped[c.reason] != dropped+1 || r.sw().Used != 2*wire.CNMLen {
			t.Errorf("%s: %d drops counted, %d used", c.name, r.port(c.in).Dropped[c.reason], r.sw().Used)
		}
	}
	// Where CNMs are lossless they pause like all else.
	r.sw().Lossless, r.sw().Profiles[0].Xoff = 1<<7, 1
	if got := r.enter(1, message); got.Want != ebpf.WantPause || got.OutPriority != 7 {
		t.Errorf("want mask %d, priority %d", got.Want, got.OutPriority)
	}
}
