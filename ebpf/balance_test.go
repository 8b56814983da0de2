//go:build linux

package ebpf_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/vtime"
)

// toMany names a host that switch 0 has several ports to.
const toMany = 7

// nextSplitMix returns the n-th output of SplitMix64 from a state (Steele, Lea and Flood, OOPSLA 2014, figure 17).
func nextSplitMix(state, n uint64) uint64 {
	z := state + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// drawn returns the n-th number below count by which a switch chooses.
func (r *rig) drawn(n uint64, count int) int {
	return int(nextSplitMix(r.sw().Seed+0xfffffe<<40, n) >> 32 * uint64(count) >> 32)
}

// sent returns the port that a packet of a flow to toMany leaves by.
func (r *rig) sent(sport uint16) uint64 {
	r.t.Helper()
	return r.sentTo(toMany, sport)
}

func (r *rig) sentTo(host int, sport uint16) uint64 {
	r.t.Helper()
	got := r.enter(5, roce{in: 5, src: 1, dst: host, sport: sport, priority: lossless}.frame(r.t))
	if got.Verdict != ebpf.VerdictForward || !slices.Contains(rigGroups[host], uint64(got.Egress)) {
		r.fatalf("verdict %d, port %d; the group is %v", got.Verdict, got.Egress, rigGroups[host])
	}
	return uint64(got.Egress)
}

// Fields that are not hashed are as zeros.
func TestHashOfFields(t *testing.T) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(1, 4))
	for range 1000 {
		fields := rng.Uint32N(16)
		r.sw().Choice, r.sw().HashFields, r.sw().EcmpSeed = ebpf.ChoiceFields, fields, rng.Uint32()
		p := roce{in: 5, src: rng.IntN(rigHosts), dst: toMany, sport: uint16(rng.Uint32()), priority: lossless}
		source, destination, sport, dport, protocol := hostIP(p.src), hostIP(p.dst), p.sport|0xc000, uint16(4791), uint8(17)
		if fields&ebpf.FieldSource == 0 {
			source = [4]byte{}
		}
		if fields&ebpf.FieldDestination == 0 {
			destination = [4]byte{}
		}
		if fields&ebpf.FieldPorts == 0 {
			sport, dport = 0, 0
		}
		if fields&ebpf.FieldProtocol == 0 {
			protocol = 0
		}
		want := rigGroups[toMany][murmur(r.sw().EcmpSeed, source, destination, sport, dport, protocol)%5]
		if got := r.enter(5, p.frame(t)); uint64(got.Egress) != want {
			t.Fatalf("fields %#x: port %d, want %d", fields, got.Egress, want)
		}
	}
}

// TestSprayAtRandom: each packet takes a random port, drawn by the switch's count of such choices.
func TestSprayAtRandom(t *testing.T) {
	r := newRig(t)
	r.sw().Choice = ebpf.ChoiceRandom
	for i := range uint64(500) {
		if got, want := r.sent(9), rigGroups[toMany][r.drawn(i, 5)]; got != want {
			t.Fatalf("packet %d: port %d, want %d", i, got, want)
		}
	}
	if r.sw().Choices != 500 {
		t.Errorf("%d choices", r.sw().Choices)
	}
}

// Ports to a leaf are taken in turn, whichever flow a packet is of and however many go elsewhere.
func TestSprayInTurn(t *testing.T) {
	r := newRig(t)
	r.sw().Choice = ebpf.ChoiceRoundRobin
	first := slices.Index(rigGroups[toMany], r.sent(0))
	elsewhere := slices.Index(rigGroups[4], r.sentTo(4, 0))
	for i := 1; i < 200; i++ {
		if got, want := r.sent(uint16(i%3)), rigGroups[toMany][(first+i)%5]; got != want {
			t.Fatalf("packet %d: port %d, want %d", i, got, want)
		}
		if got, want := r.sentTo(4, 0), rigGroups[4][(elsewhere+i)%3]; got != want {
			t.Fatalf("packet %d elsewhere: port %d, want %d", i, got, want)
		}
	}
}

// A flow keeps its port while its packets come within the gap of each other, and takes another, at random, after it.
func TestFlowlets(t *testing.T) {
	const gap = 50 * vtime.Microsecond
	r := newRig(t)
	r.sw().Choice, r.sw().FlowletGap = ebpf.ChoiceFlowlet, uint64(gap)
	choices := uint64(0)
	for range 60 {
		want := rigGroups[toMany][r.drawn(choices, 5)]
		choices++
		for range 4 {
			if got := r.sent(7); got != want {
				t.Fatalf("flowlet %d: port %d, want %d", choices, got, want)
			}
			r.after(gap - 1)
		}
		r.after(1)
	}
	if r.sw().Choices != choices {
		t.Errorf("%d choices for %d flowlets", r.sw().Choices, choices)
	}
	// Another flow has flowlets of its own: its packets do not keep this one's from ending.
	r.sent(7)
	r.after(gap / 2)
	r.sent(8)
	r.after(gap / 2)
	before := r.sw().Choices
	r.sent(8)
	if r.sw().Choices != before {
		t.Error("a flow began another flowlet within the gap")
	}
	if r.sent(7); r.sw().Choices != before+1 {
		t.Error("a flow began no flowlet after the gap")
	}
}

// TestFlowletAfterReroute: the port remembered for a flowlet is one of the present route, after links failed, and for
// another flow with the same entry.
func TestFlowletAfterReroute(t *testing.T) {
	r := newRig(t)
	r.sw().Choice, r.sw().FlowletGap = ebpf.ChoiceFlowlet, uint64(vtime.Second)
	for sport := range uint16(50) {
		r.sent(sport)
	}
	route := &r.State.Routes[toMany]
	route.Count = 2
	for sport := range uint16(50) {
		if got := r.sent(sport); !slices.Contains(rigGroups[toMany][:2], got) {
			t.Fatalf("port %d of a route with ports %v", got, rigGroups[toMany][:2])
		}
	}
}

// The shortest queue of the packet's priority is taken, as the time that the port's rate takes for it, and at random
// among equal ones.
func TestAdaptive(t *testing.T) {
	r := newRig(t)
	r.sw().Choice = ebpf.ChoiceAdaptive
	rng := rand.New(rand.NewPCG(5, 6))
	for range 400 {
		least := [5]float64{}
		for i, p := range rigGroups[toMany] {
			port := r.port(int(p))
			port.RateMbps = []uint32{10_000, 40_000, 400_000}[rng.IntN(3)]
			port.Class[lossless].QueueBytes = rng.Uint32N(2_000_000)
			port.Class[1].QueueBytes = 0 // another priority's says nothing
			least[i] = float64(port.Class[lossless].QueueBytes) / float64(port.RateMbps)
		}
		want := rigGroups[toMany][slices.Index(least[:], slices.Min(least[:]))]
		if got := r.sent(3); got != want {
			t.Fatalf("port %d of queues %v, want %d", got, least, want)
		}
	}
	used := map[uint64]int{}
	for _, p := range rigGroups[toMany] {
		r.port(int(p)).Class[lossless].QueueBytes = 0
	}
	for range 500 {
		before := r.sw().Choices
		got := r.sent(3)
		if want := rigGroups[toMany][r.drawn(before, 5)]; got != want {
			t.Fatalf("of equal queues port %d, want %d", got, want)
		}
		used[got]++
	}
	if len(used) != 5 {
		t.Errorf("of equal queues %v were taken", used)
	}
}

// By the flowlet, the queues are looked at as one begins.
func TestAdaptiveByFlowlet(t *testing.T) {
	const gap = 10 * vtime.Microsecond
	r := newRig(t)
	r.sw().Choice, r.sw().FlowletGap = ebpf.ChoiceAdaptiveFlowlet, uint64(gap)
	for _, p := range rigGroups[toMany] {
		r.queue(int(p), 10_000)
	}
	r.queue(3, 0)
	if got := r.sent(1); got != 3 {
		t.Fatalf("port %d, want 3", got)
	}
	r.queue(3, 50_000)
	r.queue(2, 0)
	r.after(gap - 1)
	if got := r.sent(1); got != 3 {
		t.Fatalf("port %d within the gap, want 3", got)
	}
	r.after(gap)
	if got := r.sent(1); got != 2 {
		t.Fatalf("port %d after the gap, want 2", got)
	}
}

// Of more ports than it compares the search takes one among those that it has looked at.
func TestAdaptiveAmongMost(t *testing.T) {
	r := newRig(t)
	r.sw().Choice = ebpf.ChoiceAdaptive
	route := &r.State.Routes[toMany]
	// The table has 16 next hops: what lies beyond it is no port, and ends the search.
	route.Count = 1000
	for range 100 {
		x := r.enter(5, roce{in: 5, src: 1, dst: toMany, priority: lossless}.frame(t))
		if x.Verdict != ebpf.VerdictForward && x.Verdict != ebpf.VerdictDrop {
			t.Fatalf("verdict %d", x.Verdict)
		}
	}
}
