//go:build linux

package ebpf_test

import (
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// newBurstRig returns a rig with burst detection on; qCNM 0 makes the threshold dynamic.
func newBurstRig(t testing.TB, qCNM uint64) *rig {
	r := newRig(t)
	r.sw().Cnm, r.sw().Q_cnm = 1, qCNM
	return r
}

// land sends a packet of a flow to host dst into port in so that the queue is of so many bytes with it.
func (r *rig) land(in, dst int, sport uint16, queue int) result {
	r.t.Helper()
	out := int(rigGroups[dst][0])
	r.queue(out, queue-dataLen)
	_, got := r.data(in, dst, sport)
	if got.Verdict != ebpf.VerdictForward || got.Egress != uint32(out) {
		r.fatalf("verdict %d, port %d of a packet for port %d", got.Verdict, got.Egress, out)
	}
	return got
}

// walk has the CNMs of a burst built, as the engine does.
func (r *rig) walk(out int) (built []result, triggers int) {
	r.t.Helper()
	for {
		got := r.generate(out, ebpf.TriggerWalk, 0, 0)
		triggers++
		if got.Verdict == ebpf.VerdictForward {
			built = append(built, got)
		}
		if got.Want&^ebpf.WantWalk != 0 {
			r.fatalf("a walk asks for %d", got.Want)
		}
		if got.Want == 0 {
			return built, triggers
		}
		if triggers > 10_000 {
			r.fatalf("the walk does not end")
		}
	}
}

// DCON paper, section 4.1 (vectors of burst states).
func TestBurstStates(t *testing.T) {
	r := newBurstRig(t, 250_000)
	for i, c := range []struct {
		queue int
		state uint32
		want  uint32
	}{
		{150_000, ebpf.BurstNone, 0},
		{210_000, ebpf.BurstPersistent, 0},
		{255_000, ebpf.BurstBurst, ebpf.WantWalk},
		{230_000, ebpf.BurstBurst, ebpf.WantFlow},
		{199_000, ebpf.BurstNone, 0},
		{205_000, ebpf.BurstPersistent, 0},
		{249_999, ebpf.BurstPersistent, 0}, // and on, at the edges
		{200_000, ebpf.BurstPersistent, 0},
		{199_999, ebpf.BurstNone, 0},
		{250_000, ebpf.BurstBurst, ebpf.WantWalk},
	} {
		r.after(vtime.Microsecond)
		got := r.land(0, 1, uint16(i), c.queue) // each of a flow of its own, which had no CNM
		if state := each(&r.port(1).Class, burst); state != [8]uint8{lossless: uint8(c.state)} || got.Want != c.want {
			t.Errorf("queue %d: states %v, want mask %d; want %d, %d", c.queue, state, got.Want, c.state, c.want)
		}
		if c.want == ebpf.WantFlow && got.WantFlow != got.Flow-1 {
			t.Errorf("CNM for entry %d, want %d", got.WantFlow, got.Flow-1)
		}
		if c.want == ebpf.WantWalk {
			if n := r.port(1).Bursts; r.port(1).Walk != r.port(1).FlowHead || n != 1+uint64(i/9) {
				t.Errorf("walk from %d of list %d, burst number %d", r.port(1).Walk, r.port(1).FlowHead, n)
			}
		}
	}
}

// A burst lasts until the queue was below Q_ECN, and nothing is marked at egress before.
func TestBurstHysteresis(t *testing.T) {
	r := newBurstRig(t, 250_000)
	r.sw().EcnMode, r.sw().Profiles[0].EcnKmax = ebpf.ECNRED, 100_000
	frame := roce{in: 0, dst: 1, priority: lossless, ecn: wire.ECT0}.frame(t)
	r.land(0, 1, 0, 260_000)
	// mark says whether a frame that leaves the queue with so many bytes behind is marked.
	mark := func(queue uint32) bool {
		return ipHeader(r.leave(1, queue, uint32(r.port(1).Class[lossless].Burst), frame)).ECN() == wire.CE
	}
	for _, queue := range []uint32{400_000, 250_000, 200_001, 200_000} {
		if mark(queue) {
			t.Errorf("marked in a burst, queue %d", queue)
		}
		// Arrivals above Q_ECN keep it up, however often.
		if r.land(0, 1, 0, int(queue)+dataLen); uint32(r.port(1).Class[lossless].Burst) != ebpf.BurstBurst {
			t.Errorf("burst ended with %d bytes queued", queue)
		}
	}
	if !mark(199_999) {
		t.Error("not marked below Q_ECN")
	}
	// The packet after which the queue is above Q_ECN again finds that the burst has ended.
	if r.land(0, 1, 0, 199_999+dataLen); uint32(r.port(1).Class[lossless].Burst) != ebpf.BurstPersistent {
		t.Errorf("state %d after the burst", r.port(1).Class[lossless].Burst)
	}
	if !mark(230_000) {
		t.Error("not marked after the burst")
	}
	if r.port(1).Bursts != 1 {
		t.Errorf("%d bursts", r.port(1).Bursts)
	}
}

// TestBurstByProfile: Q_ECN belongs to the egress port: it decides when congestion is persistent, a burst ends, and
// packets are marked again.
func TestBurstByProfile(t *testing.T) {
	r := newBurstRig(t, 250_000)
	r.sw().Profiles[5] = r.sw().Profiles[0]
	r.sw().Profiles[5].Q_ecn = 100_000
	r.port(0).Profile = 5 // where packets come in, which decides nothing
	if r.land(0, 1, 0, 150_000); r.port(1).Class[lossless].Burst != uint8(ebpf.BurstNone) {
		t.Error("by the ingress port's Q_ECN")
	}
	r.port(0).Profile, r.port(1).Profile = 0, 5
	for _, c := range []struct {
		queue int
		state uint32
	}{
		{99_999, ebpf.BurstNone},
		{100_000, ebpf.BurstPersistent},
		{250_000, ebpf.BurstBurst},
		{100_000 + dataLen, ebpf.BurstBurst},
		{99_999, ebpf.BurstNone},
	} {
		if r.land(0, 1, 0, c.queue); uint32(r.port(1).Class[lossless].Burst) != c.state {
			t.Errorf("queue %d: state %d, want %d", c.queue, r.port(1).Class[lossless].Burst, c.state)
		}
	}
	r.sw().EcnMode, r.sw().Profiles[5].EcnKmax = ebpf.ECNRED, 50_000
	frame := roce{in: 0, dst: 1, priority: lossless, ecn: wire.ECT0}.frame(t)
	for queue, want := range map[uint32]bool{100_000: false, 99_999: true} {
		if got := ipHeader(r.leave(1, queue, ebpf.BurstBurst, frame)).ECN() == wire.CE; got != want {
			t.Errorf("%d bytes left behind in a burst: marked %v", queue, got)
		}
	}
	// Of the dynamic threshold it is the least.
	r.sw().Q_cnm, r.port(1).ThreeD_c, r.port(1).MaxFanout, r.port(1).MaxFanoutAt = 0, 1<<30, 2, r.State.Pass.Now
	if got := r.land(0, 1, 0, 100_000); got.Want != ebpf.WantWalk {
		t.Errorf("no burst at the port's Q_ECN: want mask %d", got.Want)
	}
}

// Only RoCE data of a lossless priority counts.
func TestBurstIgnores(t *testing.T) {
	r := newBurstRig(t, 1)
	buf := make([]byte, 200)
	h := roce{in: 0, dst: 1}.header(t)
	h.SetTOS(wire.DataTOS(lossless, wire.ECT0))
	tcp := plainIP(0, 1, 6, 64, wire.DataTOS(lossless, 0))
	udp := roce{in: 0, dst: 1, priority: lossless}.frame(t)
	udp[37]++
	fragment := roce{in: 0, dst: 1, priority: lossless}.frame(t)
	ipHeader(fragment)[6] = 0x20
	for name, frame := range map[string][]byte{
		"ACK": buf[:wire.PutAck(buf, h, 0x1f, 1, 1)],
		"NAK": append([]byte(nil), buf[:wire.PutAck(buf, h, 0x60, 1, 1)]...),
		"CNP": append([]byte(nil), buf[:wire.PutCNP(buf, h, wire.CNPBECN, nil)]...),
		"TCP": tcp, "UDP": udp, "fragment": fragment,
		"data of a lossy priority": roce{in: 0, dst: 1, priority: 4}.frame(t),
	} {
		r.after(vtime.Microsecond)
		got := r.enter(0, frame)
		p := r.port(0)
		if got.Verdict != ebpf.VerdictForward || got.Want != 0 || got.Flow != 0 || each(&r.port(1).Class, burst) != [8]uint8{} ||
			p.T_last != 0 || p.Fanout != 0 || r.port(1).Flows != 0 {
			t.Errorf("%s: verdict %d, want mask %d, flow %d, states %v", name, got.Verdict, got.Want, got.Flow,
				each(&r.port(1).Class, burst))
		}
	}
	r.sw().Cnm = 0
	if got := r.land(0, 1, 0, 1_000_000); got.Want != 0 || got.Flow != 0 {
		t.Errorf("burst detection is off: want mask %d, flow %d", got.Want, got.Flow)
	}
	r.sw().Cnm = 1
	if got := r.land(0, 1, 0, 1_000_000); got.Want != ebpf.WantWalk {
		t.Errorf("and on: want mask %d", got.Want)
	}
}

// An ingress port is shared while now - T_last < T, strictly; T_last is the last packet for an egress not in BURST.
func TestSharedWindow(t *testing.T) {
	r := newBurstRig(t, 250_000)
	const window = 120 * vtime.Microsecond
	start := r.now()
	r.land(0, 1, 0, 260_000) // begins the burst; its egress was not in BURST as it came
	if r.port(0).T_last != uint64(start) {
		t.Fatalf("T_last %d, want %d", r.port(0).T_last, start)
	}
	sport := uint16(1)
	want := func(after vtime.Time, in int, mask uint32) {
		t.Helper()
		r.at(start + after)
		if got := r.land(in, 1, sport, 260_000); got.Want != mask {
			t.Errorf("%v later, port %d: want mask %d, want %d", after, in, got.Want, mask)
		}
		sport++
	}
	want(1, 0, ebpf.WantFlow)
	want(window-1, 0, ebpf.WantFlow)
	want(window, 0, 0)
	want(window+vtime.Second, 0, 0)
	want(window-1, 2, 0) // a port by which nothing else ever came
	if r.port(0).T_last != uint64(start) || r.port(2).T_last != 0 {
		t.Error("a packet for the burst moved T_last")
	}
	// A packet for another, uncongested egress makes the port shared again; one of another switch's does not.
	r.at(start + 2*window)
	r.land(0, 0, 0, 10_000)
	want(3*window-1, 0, ebpf.WantFlow)
	want(3*window, 0, 0)
	want(3*window-1, 2, 0)
}

// Judged as the burst begins, a port stays shared for as long as it lasts; what comes for another egress meanwhile
// makes it so too.
func TestSharedAtOnset(t *testing.T) {
	r := newBurstRig(t, 250_000)
	r.sw().SharedAtOnset = 1
	const window = 120 * vtime.Microsecond
	r.land(4, 0, 100, 10_000) // port 4: T before the onset, and a moment more
	r.after(1)
	r.land(0, 0, 101, 10_000) // port 0: T before it
	r.after(window)
	onset := r.now()
	r.land(5, 1, 0, 260_000)
	sport := uint16(1)
	want := func(after vtime.Time, in int, mask uint32) {
		t.Helper()
		r.at(onset + after)
		if got := r.land(in, 1, sport, 260_000); got.Want != mask {
			t.Errorf("%v later, port %d: want mask %d, want %d", after, in, got.Want, mask)
		}
		sport++
	}
	for _, after := range []vtime.Time{1, window, vtime.Second} {
		want(after, 5, ebpf.WantFlow)
		want(after, 4, 0)
		want(after, 0, 0)
		want(after, 2, 0)
	}
	r.land(2, 0, 102, 10_000)
	want(3*vtime.Second, 2, ebpf.WantFlow)
	// The next burst is judged anew.
	r.at(onset + 4*vtime.Second)
	onset = r.now()
	r.land(5, 1, 0, 10_000) // the queue had gone
	r.land(5, 1, 0, 260_000)
	want(1, 2, 0)
	want(2, 5, ebpf.WantFlow)
	// A burst of one priority does not move another's onset.
	if got, other := r.port(1).BurstSince[lossless], r.port(1).BurstSince[lossless+1]; got != uint64(onset) || other != 0 {
		t.Errorf("onsets at %d and %d, want %d and 0", got, other, onset)
	}
}

// Shared by others, a port is not so by the packets of the congested egress that came before the burst.
func TestSharedByOthers(t *testing.T) {
	for _, onset := range []uint32{0, 1} {
		r := newBurstRig(t, 250_000)
		r.sw().SharedBy, r.sw().SharedAtOnset = ebpf.SharedByOther, onset
		r.land(0, 1, 0, 10_000)
		r.land(2, 0, 1, 10_000) // port 2: for another egress, then for this one
		r.land(2, 1, 2, 10_000)
		r.land(4, 1, 3, 10_000) // port 4: for this one, then for another
		r.land(4, 0, 4, 10_000)
		r.after(vtime.Microsecond)
		r.land(0, 1, 0, 260_000)
		built, _ := r.walk(1)
		ports := map[uint32]int{}
		for _, b := range built {
			ports[b.Egress]++
		}
		if len(built) != 2 || ports[2] != 1 || ports[4] != 1 {
			t.Errorf("at onset %d: CNMs leave by ports %v, want one by 2 and one by 4", onset, ports)
		}
		r.after(vtime.Microsecond)
		for in, mask := range map[int]uint32{0: 0, 2: ebpf.WantFlow, 4: ebpf.WantFlow} {
			if got := r.land(in, 1, uint16(10+in), 260_000); got.Want != mask {
				t.Errorf("at onset %d: port %d: want mask %d, want %d", onset, in, got.Want, mask)
			}
		}
	}
}

// Two flows whose ids collide have one entry, and its egress is that of the one that is queued. A port is judged by
// where each packet goes.
func TestSharedDespiteCollision(t *testing.T) {
	flows := collidingFlows(t, 1)
	congested, other := flows[0], flows[len(flows)-1]
	out := int(rigGroups[congested.dst][0])
	for _, onset := range []uint32{0, 1} {
		for _, c := range []struct {
			name   string
			before []roce
			in     []roce // the burst
			want   uint32
		}{
			{
				"the entry is the congested flow's, the other comes before the burst",
				[]roce{congested, other},
				nil,
				ebpf.WantFlow,
			},
			{"the entry is the congested flow's, the other comes in the burst", []roce{congested}, []roce{other}, ebpf.WantFlow},
			{"the entry is the other flow's", []roce{other, congested}, nil, ebpf.WantFlow},
			{"the congested flow's alone", []roce{congested}, nil, 0},
		} {
			r := newBurstRig(t, 250_000)
			r.sw().SharedBy, r.sw().SharedAtOnset = ebpf.SharedByOther, onset
			come := func(p roce, queue int) result {
				p.in = 0
				r.queue(int(rigGroups[p.dst][0]), queue-len(p.frame(t)))
				return r.enter(p.in, p.frame(t))
			}
			for _, p := range c.before {
				come(p, 10_000)
			}
			r.after(1)
			r.land(4, congested.dst, 1, 260_000)
			built, _ := r.walk(out)
			if walked := len(c.before) == 2 && c.before[0] == congested; walked != (len(built) == 1) {
				t.Errorf("at onset %d, %s: %d CNMs as the burst began", onset, c.name, len(built))
			}
			r.after(1)
			for _, p := range c.in {
				come(p, 10_000)
			}
			r.sw().CnmRepeat = 0
			if got := come(congested, 260_000); got.Want != c.want {
				t.Errorf("at onset %d, %s: want mask %d, want %d", onset, c.name, got.Want, c.want)
			}
		}
	}
}

// Shared as the edge asks, a port to a host is so by others, one to a switch by any.
func TestSharedByEdge(t *testing.T) {
	r := newBurstRig(t, 250_000)
	r.sw().SharedBy, r.sw().SharedAtOnset = ebpf.SharedByEdge, 1
	r.port(0).Edge, r.port(2).Edge = 1, 1
	r.land(0, 1, 0, 10_000)
	r.land(2, 0, 1, 10_000)
	r.land(2, 1, 2, 10_000)
	r.land(4, 1, 3, 10_000)
	r.land(5, 1, 4, 260_000)
	r.after(1)
	for in, mask := range map[int]uint32{0: 0, 2: ebpf.WantFlow, 4: ebpf.WantFlow, 5: ebpf.WantFlow} {
		if got := r.land(in, 1, uint16(10+in), 260_000); got.Want != mask {
			t.Errorf("port %d: want mask %d, want %d", in, got.Want, mask)
		}
	}
}

// "Never" is not "at time 0": in the first T of a run too a port that carried nothing else is not shared.
func TestNotSharedEarly(t *testing.T) {
	r := newBurstRig(t, 250_000)
	r.at(vtime.Microsecond)
	r.land(0, 1, 0, 260_000)
	r.after(1)
	if got := r.land(2, 1, 1, 260_000); got.Want != 0 {
		t.Errorf("want mask %d", got.Want)
	}
	if got := r.land(0, 1, 2, 260_000); got.Want != ebpf.WantFlow {
		t.Errorf("want mask %d of the port that began it", got.Want)
	}
}

// A flow that was sent a CNM is sent another after 50 us, or when N has grown by more than an eighth.
func TestCNMRepeat(t *testing.T) {
	r := newBurstRig(t, 250_000)
	const repeat = 50 * vtime.Microsecond
	for i := range uint16(16) {
		r.land(0, 1, i, 100_000)
	}
	r.land(0, 1, 0, 260_000)
	built, _ := r.walk(1)
	if len(built) != 16 {
		t.Fatalf("%d CNMs of 16", len(built))
	}
	start := r.now()
	want := func(after vtime.Time, sport uint16, mask uint32) {
		t.Helper()
		r.at(start + after)
		if got := r.land(0, 1, sport, 260_000); got.Want != mask {
			t.Errorf("%v later with N = %d: want mask %d, want %d", after, r.port(1).Flows, got.Want, mask)
		}
	}
	want(0, 3, 0)
	want(repeat-1, 3, 0)
	want(repeat, 3, ebpf.WantFlow)
	r.generate(1, ebpf.TriggerFlow, roce{dst: 1, sport: 3}.entry(), 0)
	want(2*repeat-1, 3, 0)
	want(2*repeat, 3, ebpf.WantFlow)
	// 17 and 18 flows are no more than 9/8 of 16; 19 are.
	want(1, 100, ebpf.WantFlow) // a new flow always
	want(2, 5, 0)
	want(3, 101, ebpf.WantFlow)
	want(4, 5, 0)
	want(5, 102, ebpf.WantFlow)
	want(6, 5, ebpf.WantFlow)
	if r.port(1).Flows != 19 {
		t.Errorf("N = %d", r.port(1).Flows)
	}
}

// Q_CNM = max(Q_ECN, XOFF/M - 3dC(M-1)) (DCON paper, section 4.4; vectors of Q_CNM).
func TestDynamicThreshold(t *testing.T) {
	r := newBurstRig(t, 0)
	for _, c := range []struct {
		xoff, threeDC uint64
		want          []int // by M, from 1
	}{
		{320_000, 75_000, []int{320_000, 200_000, 200_000}},
		{1_000_000, 37_500, []int{1_000_000, 462_500, 258_333, 200_000}},
		{200_000, 75_000, []int{200_000, 200_000}},
		{100_000, 75_000, []int{200_000}},
	} {
		for m := 1; m <= len(c.want); m++ {
			r.reset()
			r.sw().Cnm, r.sw().Profiles[0].Xoff, r.port(0).ThreeD_c = 1, c.xoff, c.threeDC
			// Port 5 holds packets for m-1 other egress ports, two for each; port 4's do not matter.
			for i, dst := range []int{1, 2, 6}[:m-1] {
				r.data(5, dst, 0)
				r.data(5, dst, 1)
				r.data(4, []int{1, 2, 6}[2-i], 2)
			}
			threshold := c.want[m-1]
			// XOFF itself is of no interest here.
			if got := r.land(5, 0, 0, threshold-1); got.Want&ebpf.WantWalk != 0 || r.port(5).Fanout != uint32(m) {
				t.Errorf("XOFF %d, M = %d: burst one byte below %d (fanout %d)", c.xoff, m, threshold, r.port(5).Fanout)
			}
			if got := r.land(5, 0, 0, threshold); got.Want&ebpf.WantWalk == 0 {
				t.Errorf("XOFF %d, M = %d: no burst at %d", c.xoff, m, threshold)
			}
		}
	}
}

// M counts the egress ports that packets came for in a period of T, or in the one before if those were more, queued or
// not.
func TestThresholdFollowsFanout(t *testing.T) {
	const window = 120 * vtime.Microsecond
	for _, c := range []struct {
		name    string
		gap     vtime.Time // from the packet for port 1 to the first for port 0
		recheck vtime.Time // from that to the one that is looked at
		burst   int        // queue at which a burst begins then
	}{
		{"in one period", 0, 0, 200_000},
		{"at the end of one", window - 1, 0, 200_000},
		{"in the next", window, 0, 320_000},
		{"in one, and looked at in the next", window - 1, 1, 200_000},
		{"in one, and looked at in the last of the next", window - 1, window, 200_000},
		{"in one, and looked at when both are over", window - 1, window + 1, 320_000},
	} {
		r := newBurstRig(t, 0)
		p, _ := r.data(5, 1, 7)
		r.release(5, 1, lossless, int(dataLen), p.entry()+1) // it is queued no more
		r.after(c.gap)
		q, _ := r.data(5, 0, 0)
		r.release(5, 0, lossless, int(dataLen), q.entry()+1)
		r.after(c.recheck)
		r.port(0).MaxFanout = 0 // what T keeps of this is TestThresholdIsOfTheMaximalFanout'
		if got := r.land(5, 0, 0, c.burst-1); got.Want != 0 {
			t.Errorf("%s: queue %d: want mask %d", c.name, c.burst-1, got.Want)
		}
		if got := r.land(5, 0, 0, c.burst); got.Want != ebpf.WantWalk {
			t.Errorf("%s: queue %d: want mask %d", c.name, c.burst, got.Want)
		}
	}
}

// With a dynamic XOFF the threshold is a share of that: 1/8 of what is free.
func TestThresholdFollowsDynamicXOFF(t *testing.T) {
	r := newBurstRig(t, 0)
	r.sw().Cnm, r.sw().Q_cnm, r.sw().Profiles[0].Alpha, r.sw().Profiles[0].Xoff = 1, 0, 1<<13, 0
	r.sw().Used = r.sw().Buffer - 3_200_000 - uint64(2*dataLen)
	if got := r.land(5, 0, 0, 400_000+dataLen/8-1); got.Want != 0 {
		t.Errorf("just below the share: want mask %d", got.Want)
	}
	if got := r.land(5, 0, 0, 400_000); got.Want != ebpf.WantWalk {
		t.Errorf("at the share: want mask %d", got.Want)
	}
}

// TestThresholdIsOfTheMaximalFanout: the threshold is the minimum over the ingress ports. An ingress port with packets
// for two egress ports lowers it for all, for T.
func TestThresholdIsOfTheMaximalFanout(t *testing.T) {
	for _, c := range []struct {
		after vtime.Time // that port's packet for this egress
		queue int
		want  uint32
	}{
		{0, 199_999, 0},
		{0, 200_000, ebpf.WantWalk},
		{120*vtime.Microsecond - 1, 200_000, ebpf.WantWalk},
		{120 * vtime.Microsecond, 319_999, 0},
		{120 * vtime.Microsecond, 320_000, ebpf.WantWalk},
	} {
		r := newBurstRig(t, 0)
		r.data(5, 1, 7)
		r.land(5, 0, 8, 1500) // port 5 now has packets for ports 1 and 0
		r.after(c.after)
		if got := r.land(4, 0, 9, c.queue); got.Want != c.want || r.port(4).Fanout != 1 {
			t.Errorf("%v later, queue %d: want mask %d, not %d (fan-out %d)", c.after, c.queue, got.Want, c.want,
				r.port(4).Fanout)
		}
	}
}
