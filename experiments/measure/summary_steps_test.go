package measure

import (
	"math"
	"testing"

	"github.com/pausenet/pausenet/experiments/traffic/steps"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/vtime"
)

// TestLateOf checks that the first of the latest ranks counts, relative to the lower of two medians.
func TestLateOf(t *testing.T) {
	for _, c := range []struct {
		times  []vtime.Time
		latest int
		late   vtime.Time
	}{
		{[]vtime.Time{5}, 0, 0},
		{[]vtime.Time{3, 9, 1}, 1, 6},
		{[]vtime.Time{1, 9, 4, 9}, 1, 5},
		{[]vtime.Time{10, 20}, 1, 10},
	} {
		if latest, late := LateOf(c.times); latest != c.latest || late != c.late {
			t.Errorf("%v: %d, by %d; want %d, by %d", c.times, latest, late, c.latest, c.late)
		}
	}
}

// TestSummariseCollectives summarises two all-reduces of 1 MB among 4 ranks that take 1 and 3 ms, and one that does not
// end. By hand: 8 Mb in 2 ms is 4 Gb/s, and the bus carries 2x3/4 of that. Of equally frequent stragglers the first
// counts.
func TestSummariseCollectives(t *testing.T) {
	one := func(kind string, ended bool, took, limit vtime.Time, straggler string) CollectiveRun {
		return CollectiveRun{
			Kind: kind, Algorithm: "ring", Size: 1_000_000, Factor: 1.5, Ended: ended, Time: took,
			Limit: limit, Straggler: straggler,
		}
	}
	const ms = vtime.Millisecond
	all := SummariseCollectives("job", 4, []CollectiveRun{
		one("all-reduce", true, ms, ms/2, "h1"), one("all-gather", true, ms, ms/2, "h3"),
		one("all-reduce", true, 3*ms, ms/2, "h2"), one("all-reduce", false, 0, 0, ""),
	})
	if len(all) != 2 || all[0].Kind != "all-reduce" || all[1].Kind != "all-gather" {
		t.Fatalf("%+v", all)
	}
	s := &all[0]
	if s.Count != 3 || s.Completed != 2 || s.Limit != 500_000 || s.Time.Mean != 2e6 || s.Algorithmic != 4e9 ||
		s.Bus != 6e9 || s.Straggler != "h1" || s.Stragglers != 1 {
		t.Errorf("%+v", s)
	}
	// The all-gather's bus carries 12 Gb/s: of three that have ended two have 6.
	sum := Summary{Collectives: all}
	if got := sum.overCollectives(func(c *CollectiveSummary) float64 { return c.Bus }); got != 8e9 {
		t.Errorf("%v bps on average", got)
	}
	if got := new(Summary).overCollectives(func(c *CollectiveSummary) float64 { return c.Bus }); !math.IsNaN(got) {
		t.Errorf("%v of no collective", got)
	}
}

// TestStepsLimit uses a star of 100 Gb/s, 80 ps a byte, with a delay of 1 us to each host but h2, which is 50 us away.
// A message that waits until another has left may start with that message's last packet. Two messages share their
// receiver's link, also where packets may be moved.
func TestStepsLimit(t *testing.T) {
	plan, err := spec.Parse("t.yaml", []byte("delay: 1us\nrate: 100Gbps\nstar: {hosts: 3}\n"+
		"change_links: [{from: h2, to: s0, delay: 50us}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	const size = 10_000_000
	way := func(plan *topologies.Plan, from, to int) Part {
		return Part{
			size, plan.PathOf(plan.Hosts[from], plan.Hosts[to], topologies.Pair{}),
			plan.PathOf(plan.Hosts[to], plan.Hosts[from], topologies.Pair{}),
		}
	}
	_, last, bytes := FramesOf(plan, size)
	lastLine := plan.Framing.LineBytes(last)
	limit := func(plan *topologies.Plan, g *steps.Graph, ends [][2]int) vtime.Time {
		return StepsLimit(plan, g, nil, 0, g.Added(),
			func(m int32) []Part { return []Part{way(plan, ends[m][0], ends[m][1])} })
	}

	g := &steps.Graph{Ranks: 3}
	send, _ := g.Message(0, 1, size, nil, nil)
	g.Message(0, 2, size, []steps.Wait{{Operation: send, Until: steps.Sent}}, nil)
	far := way(plan, 0, 2)
	if got, want := limit(plan, g, [][2]int{{0, 1}, {0, 2}}), vtime.Time(80*(bytes-lastLine))+IdealFCT(plan, far.Path,
		far.Back, size); got != want {
		t.Errorf("one after the other: %v, want %v", got, want)
	}

	g = &steps.Graph{Ranks: 3}
	g.Message(0, 1, size, nil, nil)
	g.Message(2, 1, size, nil, nil)
	for _, moving := range []bool{false, true} {
		plan := plan.WithHosts(plan.IP, moving)
		// The first packet of h0's is there after its line and 1 us; after the last one's line 1 us is left, and the
		// ACK's way.
		want :=
			vtime.Time(80*lastLine) + vtime.Microsecond + vtime.Time(80*2*bytes) + vtime.Microsecond + 2*vtime.Microsecond +
				vtime.Time(2*80*plan.Framing.LineBytes(ACKFrame(plan)))
		if got := limit(plan, g, [][2]int{{0, 1}, {2, 1}}); got != want {
			t.Errorf("two to one, moving %v: %v, want %v", moving, got, want)
		}
	}
}
