//go:build linux

package ebpf_test

import (
	"bytes"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/internal/wire"
)

// ce returns a frame with CE set and the checksum recomputed.
func ce(frame []byte) []byte {
	f := slices.Clone(frame)
	ipHeader(f)[1] |= 3
	ipHeader(f).UpdateChecksum()
	return f
}

// splitMix draws the numbers of a seed one after the other: what the C code does by count.
type splitMix struct{ seed, drawn uint64 }

func (s *splitMix) next() uint64 {
	s.drawn++
	return splitmix.At(s.seed, s.drawn-1)
}

// redProbability returns Pmax*(q-Kmin)/(Kmax-Kmin) of 2^32, in 128 bits.
func redProbability(sw *ebpf.SwitchState, q uint64) uint64 {
	hi, lo := bits.Mul64(sw.EcnPmax, q-sw.Profiles[0].EcnKmin)
	p, _ := bits.Div64(hi, lo, sw.Profiles[0].EcnKmax-sw.Profiles[0].EcnKmin)
	return p
}

// RED marks as often as its curve says, and just the frames that the port's random numbers pick.
func TestREDFrequency(t *testing.T) {
	r := newRig(t)
	frame := roce{in: 0, dst: 1, priority: lossless, ecn: wire.ECT0, payload: 1}.frame(t)
	marked := ce(frame)
	for _, c := range []struct {
		kmin, kmax uint64
		pmax       float64
		queue      uint32
		want       float64
		frames     int
	}{
		{5_000, 200_000, 0.01, 50_000, 0.0023077, 50_000}, // vectors, of the DCQCN paper's section 3.1
		{5_000, 200_000, 0.01, 102_500, 0.005, 30_000},
		{5_000, 200_000, 0.01, 200_000, 0.01, 20_000},
		{100_000, 400_000, 0.2, 250_000, 0.1, 5_000}, // profile B
		{0, 200_000, 1, 100_000, 0.5, 5_000},
		{0, 4_000_000_000, 1, 3_000_000_000, 0.75, 5_000}, // wide numbers
	} {
		r.reset()
		sw := r.sw()
		sw.EcnMode, sw.Profiles[0].EcnKmin, sw.Profiles[0].EcnKmax, sw.EcnPmax =
			ebpf.ECNRED, c.kmin, c.kmax, uint64(c.pmax*(1<<32))
		const out = 4
		random := splitMix{seed: sw.Seed + out<<40}
		threshold := redProbability(sw, uint64(c.queue))
		count := 0
		for i := range c.frames {
			want := frame
			if random.next()>>32 < threshold {
				want = marked
				count++
			}
			if got := r.leave(out, c.queue, ebpf.BurstNone, frame); !bytes.Equal(got, want) {
				t.Fatalf("%+v: frame %d left as\n%x, want\n%x", c, i, got, want)
			}
		}
		if p := r.port(out); p.EcnMarked != uint64(count) || p.Draws != uint64(c.frames) {
			t.Errorf("%+v: %d marks counted of %d, %d draws", c, p.EcnMarked, count, p.Draws)
		}
		n := float64(c.frames)
		if sd := math.Sqrt(n * c.want * (1 - c.want)); math.Abs(float64(count)-n*c.want) > 4*sd {
			t.Errorf("%+v: %d of %d frames marked, want %.1f ± %.1f", c, count, c.frames, n*c.want, sd)
		}
	}
}

// Each port of each switch has random numbers of its own.
func TestREDPortsAreIndependent(t *testing.T) {
	r := newRig(t)
	frame := roce{in: 0, dst: 1, priority: lossless, ecn: wire.ECT0, payload: 1}.frame(t)
	const frames = 256
	seen := map[[frames]bool]int{}
	for out := range rigHostPort {
		sw := &r.State.Switches[r.port(out).Node]
		sw.EcnMode, sw.EcnPmax = ebpf.ECNRED, 1<<31
		var pattern [frames]bool
		for i := range pattern {
			pattern[i] = !bytes.Equal(r.leave(out, 200_000, ebpf.BurstNone, frame), frame)
		}
		if other, ok := seen[pattern]; ok {
			t.Errorf("ports %d and %d mark alike", other, out)
		}
		seen[pattern] = out
	}
}

// TestREDEdges: the packets that RED marks, and those that it does not.
func TestREDEdges(t *testing.T) {
	r := newRig(t)
	ect := func(priority uint8, ecn wire.ECN) []byte {
		return roce{in: 0, dst: 1, priority: priority, ecn: ecn, payload: 1}.frame(t)
	}
	const kmin, kmax = 5_000, 200_000
	for _, c := range []struct {
		name   string
		edit   func(sw *ebpf.SwitchState)
		out    int
		queue  uint32
		burst  uint32
		frame  []byte
		marked bool // always; otherwise never
		draws  bool
	}{
		{name: "empty queue", queue: 0, frame: ect(3, 2)},
		{name: "at Kmin", queue: kmin, frame: ect(3, 2)},
		{name: "just above Kmin", queue: kmin + 1, frame: ect(3, 2), draws: true},
		{name: "above Kmax", queue: kmax + 1, frame: ect(3, 2), marked: true},
		{name: "far above Kmax", queue: math.MaxUint32, frame: ect(3, 2), marked: true},
		{name: "ECT(1)", queue: kmax + 1, frame: ect(3, 1), marked: true},
		{name: "Not-ECT", queue: kmax + 1, frame: ect(3, 0)},
		{name: "CE stays CE", queue: kmax + 1, frame: ect(3, 3)},
		{name: "another priority", queue: kmax + 1, frame: ect(2, 2)},
		{name: "priority 0", queue: kmax + 1, frame: ect(0, 2)},
		{
			name: "each priority that is to be marked", queue: kmax + 1, frame: ect(7, 2), marked: true,
			edit: func(sw *ebpf.SwitchState) { sw.EcnPriorities = 0xff },
		},
		{name: "off", queue: kmax + 1, frame: ect(3, 2), edit: func(sw *ebpf.SwitchState) { sw.EcnMode = ebpf.ECNOff }},
		{
			name: "step marks at enqueue", queue: kmax + 1, frame: ect(3, 2),
			edit: func(sw *ebpf.SwitchState) { sw.EcnMode, sw.EcnAtEnqueue = ebpf.ECNStep, 1 },
		},
		{
			name: "Pmax 1", queue: kmax, frame: ect(3, 2), edit: func(sw *ebpf.SwitchState) { sw.EcnPmax = 1 << 32 },
			marked: true, draws: true,
		},
		{name: "Pmax 0", queue: kmax, frame: ect(3, 2), edit: func(sw *ebpf.SwitchState) { sw.EcnPmax = 0 }, draws: true},
		{
			name: "Kmin = Kmax, at it", queue: kmax, frame: ect(3, 2),
			edit: func(sw *ebpf.SwitchState) { sw.Profiles[0].EcnKmin = kmax },
		},
		{
			name: "Kmin = Kmax, above", queue: kmax + 1, frame: ect(3, 2),
			edit: func(sw *ebpf.SwitchState) { sw.Profiles[0].EcnKmin = kmax }, marked: true,
		},
		{name: "a host does not mark", out: rigHostPort, queue: kmax + 1, frame: ect(3, 2)},
		{name: "the other switch has its own mode", out: 6, queue: kmax + 1, frame: ect(3, 2)},
		{name: "in a burst", queue: kmax + 1, burst: ebpf.BurstBurst, frame: ect(3, 2), edit: withCNM},
		{
			name: "in a burst, at Q_ECN", queue: 200_000, burst: ebpf.BurstBurst, frame: ect(3, 2),
			edit: func(sw *ebpf.SwitchState) { sw.Cnm, sw.Profiles[0].EcnKmax = 1, 199_000 },
		},
		{
			name: "a burst that ends, below Q_ECN", queue: 199_999, burst: ebpf.BurstBurst, frame: ect(3, 2),
			edit: func(sw *ebpf.SwitchState) { sw.Cnm, sw.Profiles[0].EcnKmax = 1, 199_000 }, marked: true,
		},
		{
			name: "persistent congestion", queue: kmax + 1, burst: ebpf.BurstPersistent, frame: ect(3, 2), edit: withCNM,
			marked: true,
		},
		{
			name: "burst state means nothing without DCON", queue: kmax + 1, burst: ebpf.BurstBurst, frame: ect(3, 2),
			marked: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			r.reset()
			r.sw().EcnMode, r.sw().Profiles[0].EcnKmin, r.sw().Profiles[0].EcnKmax = ebpf.ECNRED, kmin, kmax
			if c.edit != nil {
				c.edit(r.sw())
			}
			want := r.port(c.out).copy()
			for range 20 {
				wantData := c.frame
				if c.marked {
					wantData = ce(c.frame)
					want.EcnMarked++
				}
				if c.draws {
					want.Draws++
				}
				if got := r.leave(c.out, c.queue, c.burst, c.frame); !bytes.Equal(got, wantData) {
					t.Fatalf("left as\n%x, want\n%x", got, wantData)
				}
			}
			if got := r.port(c.out).copy(); got != want {
				t.Errorf("port\n%+v, want\n%+v", got, want)
			}
		})
	}
}

func withCNM(sw *ebpf.SwitchState) { sw.Cnm = 1 }

// Frames that are not IPv4, generated packets, and frames that left no port pass the egress pipeline untouched.
func TestEgressLeavesAlone(t *testing.T) {
	r := newRig(t)
	r.sw().EcnMode, r.sw().EcnPriorities = ebpf.ECNRED, 0xff
	before := r.snapshot()
	frame := roce{in: 0, dst: 1, priority: lossless, ecn: wire.ECT0}.frame(t)
	for _, ethertype := range []uint16{wire.EtherTypeCNM, wire.EtherTypeMACControl, 0x86de, wire.EtherTypeARP} {
		other := slices.Clone(frame)
		wire.Ethernet(other).SetType(ethertype)
		if got := r.leave(0, 1_000_000, 0, other); !bytes.Equal(got, other) {
			t.Errorf("EtherType %#x left as\n%x", ethertype, got)
		}
	}
	x := r.State.Pass
	x.QueueBytes = 1_000_000
	for _, c := range []struct{ trigger, port uint32 }{
		{ebpf.TriggerPause, 0},
		{ebpf.TriggerWalk, ebpf.NoPort},
		{ebpf.TriggerNone, ebpf.NoPort},
		{ebpf.TriggerNone, rigPorts},
	} {
		x.Trigger, x.OutPort = c.trigger, c.port
		marked := x.Marked
		if code, got := r.run(r.Egress, frame); code != actOK || !bytes.Equal(got, frame) || x.Marked != marked+1 {
			t.Errorf("%+v: action %d, marked moved by %d", c, code, x.Marked-marked)
		}
	}
	r.unchanged(before)
}

// A frame too short to be one is not for the egress pipeline to swallow: nobody would learn what became of it.
func TestEgressShortFrame(t *testing.T) {
	r := newRig(t)
	r.sw().EcnMode = ebpf.ECNRED
	frame := roce{in: 0, dst: 1, priority: lossless, ecn: wire.ECT0}.frame(t)[:ebpf.FrameMin-1]
	if got := r.leave(0, 1_000_000, 0, frame); !bytes.Equal(got, frame) {
		t.Errorf("left as %x", got)
	}
}

// Step marks the packet with which the queue is longer than the threshold.
func TestStep(t *testing.T) {
	r := newRig(t)
	n := uint64(dataLen)
	const k = 120_000
	for _, c := range []struct {
		name   string
		queue  uint64 // before the packet
		ecn    wire.ECN
		dst    int
		burst  uint32
		marked bool
	}{
		{name: "up to the threshold", queue: k - n, ecn: wire.ECT0},
		{name: "beyond it", queue: k - n + 1, ecn: wire.ECT0, marked: true},
		{name: "ECT(1)", queue: k, ecn: wire.ECT1, marked: true},
		{name: "Not-ECT", queue: k, ecn: wire.NotECT},
		{name: "CE stays CE", queue: k, ecn: wire.CE},
		{name: "the queue of another port", queue: k, ecn: wire.ECT0, dst: 1},
		{name: "in a burst", queue: k, ecn: wire.ECT0, burst: ebpf.BurstBurst},
		{name: "persistent congestion", queue: k, ecn: wire.ECT0, burst: ebpf.BurstPersistent, marked: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			r.reset()
			r.sw().EcnMode, r.sw().EcnAtEnqueue, r.sw().Profiles[0].EcnKmax = ebpf.ECNStep, 1, k
			r.port(0).Class[lossless].QueueBytes = uint32(c.queue)
			r.port(0).Class[lossless].Burst = uint8(c.burst)
			frame := roce{in: 2, dst: c.dst, priority: lossless, ecn: c.ecn}.frame(t)
			want, marks := routed(frame, c.dst), uint64(0)
			if c.marked {
				want, marks = ce(want), 1
			}
			if got := r.enter(2, frame); !bytes.Equal(got.data, want) {
				t.Errorf("forwarded\n%x, want\n%x", got.data[:60], want[:60])
			}
			if p := r.port(c.dst); p.EcnMarked != marks || p.Draws != 0 {
				t.Errorf("%d marks and %d draws counted, want %d and 0", p.EcnMarked, p.Draws, marks)
			}
			// A priority that is not to be marked is not, whatever its queue.
			r.port(0).Class[4].QueueBytes = 1 << 31
			other := roce{in: 2, dst: 0, priority: 4, ecn: wire.ECT0}.frame(t)
			if got := r.enter(2, other); !bytes.Equal(got.data, routed(other, 0)) {
				t.Error("a packet of another priority was changed")
			}
		})
	}
}

// A port goes by the thresholds of its profile: RED and the step by those of the port that the packet leaves by.
func TestECNByProfile(t *testing.T) {
	r := newRig(t)
	data := roce{in: 2, dst: 0, priority: lossless, ecn: wire.ECT0}.frame(t)
	r.sw().Profiles[3].EcnKmin, r.sw().Profiles[3].EcnKmax = 800_000, 800_000
	r.port(0).Profile = 3
	r.sw().EcnMode = ebpf.ECNRED
	for _, c := range []struct {
		port   int
		queue  uint32
		marked bool
	}{{0, 800_000, false}, {0, 800_001, true}, {1, 200_001, true}} {
		if marked := !bytes.Equal(r.leave(c.port, c.queue, ebpf.BurstNone, data), data); marked != c.marked {
			t.Errorf("RED at port %d with a queue of %d: marked %v", c.port, c.queue, marked)
		}
	}
	r.sw().EcnMode, r.sw().EcnAtEnqueue = ebpf.ECNStep, 1
	for _, c := range []struct {
		dst    int
		queue  uint64
		marked bool
	}{{0, 800_000 - uint64(len(data)), false}, {0, 800_001 - uint64(len(data)), true}, {1, 200_001, true}} {
		r.port(c.dst).Class[lossless].QueueBytes = uint32(c.queue)
		frame := roce{in: 2, dst: c.dst, priority: lossless, ecn: wire.ECT0}.frame(t)
		if marked := !bytes.Equal(r.enter(2, frame).data, routed(frame, c.dst)); marked != c.marked {
			t.Errorf("step at port %d with a queue of %d: marked %v", c.dst, c.queue, marked)
		}
	}
}

// At which end of the queue a packet is marked, and by which queue: with itself as it comes, what it leaves behind as
// it goes.
func TestECNPoint(t *testing.T) {
	const k = 30_000
	r := newRig(t)
	frame := roce{in: 2, dst: 0, priority: lossless, ecn: wire.ECT0}.frame(t)
	n := uint64(len(frame))
	for name, mode := range map[string]uint32{"step": ebpf.ECNStep, "red": ebpf.ECNRED} {
		for _, c := range []struct {
			enqueue uint32
			queue   uint64
			burst   uint32
			comes   bool // marked as it comes
			leaves  bool
		}{
			{enqueue: 1, queue: k - n},
			{enqueue: 1, queue: k - n + 1, comes: true},
			{enqueue: 1, queue: k + 1, burst: ebpf.BurstBurst},
			{enqueue: 0, queue: k},
			{enqueue: 0, queue: k + 1, leaves: true},
			{enqueue: 0, queue: k + 1, burst: ebpf.BurstBurst},
		} {
			r.reset()
			sw := r.sw()
			sw.EcnMode, sw.EcnAtEnqueue, sw.Cnm = mode, c.enqueue, uint32(c.burst/ebpf.BurstBurst)
			sw.Profiles[0].Q_ecn = 1
			sw.Profiles[0].EcnKmin, sw.Profiles[0].EcnKmax = k, k
			r.port(0).Class[lossless].QueueBytes, r.port(0).Class[lossless].Burst = uint32(c.queue), uint8(c.burst)
			if got := !bytes.Equal(r.enter(2, frame).data, routed(frame, 0)); got != c.comes {
				t.Errorf("%s, %+v: marked as it comes: %v", name, c, got)
			}
			if got := !bytes.Equal(r.leave(0, uint32(c.queue), c.burst, frame), frame); got != c.leaves {
				t.Errorf("%s, %+v: marked as it leaves: %v", name, c, got)
			}
			marks := uint64(0)
			if c.comes || c.leaves {
				marks = 1
			}
			if p := r.port(0); p.EcnMarked != marks || p.Draws != 0 {
				t.Errorf("%s, %+v: %d marks counted, %d draws", name, c, p.EcnMarked, p.Draws)
			}
		}
	}
	// RED draws for a queue between its thresholds, at either end once.
	for _, enqueue := range []uint32{0, 1} {
		r.reset()
		sw := r.sw()
		sw.EcnMode, sw.EcnAtEnqueue, sw.EcnPmax = ebpf.ECNRED, enqueue, 1<<32
		sw.Profiles[0].EcnKmin, sw.Profiles[0].EcnKmax = 0, 100_000
		r.port(0).Class[lossless].QueueBytes = 50_000
		r.enter(2, frame)
		r.leave(0, 50_000, ebpf.BurstNone, frame)
		if p := r.port(0); p.Draws != 1 {
			t.Errorf("at enqueue %d: %d draws", enqueue, p.Draws)
		}
	}
}
