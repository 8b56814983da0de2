package fluid

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

const (
	ns       = vtime.Nanosecond
	unit     = 8 * units.Gbps // a byte a nanosecond
	forever  = math.MaxInt64  // of a flow that has not ended, in ns
	rounding = 0.01           // ps
)

// TestRun checks times computed by hand, in ns, on links that carry a byte per nanosecond.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		name           string
		rates          []units.Rate
		flows          []Flow
		until          vtime.Time
		maxMin, served []int64 // ns from each flow's start
	}{
		{
			// Both at a half until the short one has had its 500; the long one's last 500 at the full rate.
			"two flows on a link",
			[]units.Rate{unit},
			[]Flow{{Work: 1000, Path: []int{0}}, {Work: 500, Path: []int{0}}},
			vtime.Never,
			[]int64{1500, 1000},
			[]int64{1500, 500},
		},
		{
			// The first has 600 left as the second comes with 500, so that one goes first.
			"a late arrival",
			[]units.Rate{unit},
			[]Flow{{Start: 400 * ns, Work: 500, Path: []int{0}}, {Work: 1000, Path: []int{0}}},
			vtime.Never,
			[]int64{1000, 1500},
			[]int64{500, 1500},
		},
		{
			// The first has 300 left as the second comes with 500, and goes on.
			"a late arrival that waits",
			[]units.Rate{unit},
			[]Flow{{Work: 1000, Path: []int{0}}, {Start: 700 * ns, Work: 500, Path: []int{0}}},
			vtime.Never,
			[]int64{1300, 800},
			[]int64{1000, 800},
		},
		{
			// A parking lot. Max-min: halves; the first cross flow ends at 1200, yet the long one stays at a half on
			// the second link, to 2000; then the second cross flow has 1000 left. Shortest first: the first cross flow
			// keeps the long one from both links, so the second one has its own until 600, stands still while the long
			// one runs, and has 1400 left.
			"a long flow over two links, one across each",
			[]units.Rate{unit, unit},
			[]Flow{{Work: 1000, Path: []int{0, 1}}, {Work: 600, Path: []int{0}}, {Work: 2000, Path: []int{1}}},
			vtime.Never,
			[]int64{2000, 1200, 3000},
			[]int64{1600, 600, 3000},
		},
		{
			// The long flow is kept at a half by the first link; on the second, twice as fast, the other has all the
			// rest.
			"links of two rates",
			[]units.Rate{unit, 2 * unit},
			[]Flow{{Work: 500, Path: []int{0, 1}}, {Work: 500, Path: []int{0}}, {Work: 1500, Path: []int{1}}},
			vtime.Never,
			[]int64{1000, 1000, 1000},
			// The long one is served before its equal, by number, and leaves 1 on the second link.
			[]int64{500, 1000, 1000},
		},
		{
			// One takes a fifth at most, two share the rest: 0.4 each, then 0.8.
			"a flow with a cap",
			[]units.Rate{unit},
			[]Flow{{Work: 400, Cap: unit / 5, Path: []int{0}}, {Work: 400, Path: []int{0}}, {Work: 800, Path: []int{0}}},
			vtime.Never,
			[]int64{2000, 1000, 1500},
			// 0.2 and 0.8, so the second ends at 500; then 0.2 and 0.8 until 1500.
			[]int64{2000, 500, 1500},
		},
		{
			"a cap above the fair share is none",
			[]units.Rate{unit},
			[]Flow{{Work: 500, Cap: unit * 3 / 4, Path: []int{0}}, {Work: 500, Path: []int{0}}},
			vtime.Never,
			[]int64{1000, 1000},
			// 0.75 and 0.25, so the first ends at 666.67; the second has 333.33 left then.
			[]int64{-1, 1000},
		},
		{
			// An unbounded flow has half of the link, or what nobody with a size wants.
			"an unbounded flow",
			[]units.Rate{unit},
			[]Flow{{Path: []int{0}}, {Start: 100 * ns, Work: 500, Path: []int{0}}},
			vtime.Never,
			[]int64{forever, 1000},
			[]int64{forever, 500},
		},
		{
			"a run that stops",
			[]units.Rate{unit},
			[]Flow{{Work: 1000, Path: []int{0}}, {Work: 500, Path: []int{0}}, {Start: 2000 * ns, Work: 1, Path: []int{0}}},
			1200 * ns,
			[]int64{forever, 1000, forever},
			[]int64{forever, 500, forever},
		},
		{
			"flows apart from each other",
			[]units.Rate{unit, unit},
			[]Flow{
				{Start: 5000 * ns, Work: 10, Path: []int{1}},
				{Work: 10, Path: []int{0}},
				{Start: 10 * ns, Work: 20, Path: []int{0}},
			},
			vtime.Never,
			[]int64{10, 10, 20},
			[]int64{10, 10, 20},
		},
	} {
		for d, want := range map[Discipline][]int64{MaxMin: c.maxMin, ShortestFirst: c.served} {
			for i, took := range Run(c.rates, c.flows, d, c.until) {
				wanted := float64(want[i]) * float64(ns)
				switch want[i] {
				case forever:
					wanted = math.Inf(1)
				case -1:
					wanted = 2e6 / 3
				}
				if took != wanted && !(math.Abs(took-wanted) <= rounding) {
					t.Errorf("%s, %v: flow %d took %v ps, by hand %v", c.name, d, i, took, wanted)
				}
			}
		}
	}
}

// fabric returns a random fabric with running flows, after some of their work.
func fabric(rng *rand.Rand) *model {
	rates := make([]units.Rate, 1+rng.IntN(12))
	for i := range rates {
		rates[i] = units.Rate(1+rng.IntN(4)) * 10 * units.Gbps
	}
	flows := make([]Flow, 1+rng.IntN(40))
	for i := range flows {
		f := &flows[i]
		f.Path = rng.Perm(len(rates))[:1+rng.IntN(min(len(rates), 6))]
		if f.Work = rng.Int64N(1_000_000); rng.IntN(3) == 0 {
			f.Cap = units.Rate(1 + rng.Int64N(int64(20*units.Gbps)))
		}
	}
	m := newModel(rates, flows)
	for i := range flows {
		m.begin(i)
	}
	return m
}

// load returns the load of each link of a model. It fails the test if a load is above the link's capacity.
func load(t *testing.T, m *model) []float64 {
	t.Helper()
	carried := make([]float64, len(m.capacity))
	for _, f := range m.active {
		for _, l := range f.path {
			carried[l] += f.rate
		}
	}
	for l := range carried {
		if carried[l] > m.capacity[l]*(1+1e-9) {
			t.Fatalf("link %d carries %g of %g", l, carried[l], m.capacity[l])
		}
	}
	return carried
}

// TestMaxMinIsFair checks the shares against the definition of max-min fairness: no link carries more than its
// capacity, and every flow uses a full link on which no other flow has more (Bertsekas and Gallager's bottleneck).
func TestMaxMinIsFair(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		m := fabric(rng)
		m.maxMin()
		carried := load(t, m)
		most := make([]float64, len(m.capacity))
		for _, f := range m.active {
			for _, l := range f.path {
				most[l] = max(most[l], f.rate)
			}
		}
		for _, f := range m.active {
			if !slices.ContainsFunc(f.path, func(l int) bool {
				return carried[l] >= m.capacity[l]*(1-1e-9) && f.rate >= most[l]*(1-1e-9)
			}) {
				t.Fatalf("flow %d of %d has %g and no bottleneck on %v", f.flow, len(m.active), f.rate, f.path)
			}
		}
	}
}

// TestShortestFirstWastesNothing checks that no link carries more than its capacity, and that every flow uses a link
// that is full with the flow itself and those served before it.
func TestShortestFirstWastesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		m := fabric(rng)
		m.shortestFirst()
		load(t, m)
		left := math.Inf(-1)
		carried := make([]float64, len(m.capacity))
		for _, f := range m.active {
			if f.left < left {
				t.Fatalf("a flow with %g left goes after one with %g", f.left, left)
			}
			left = f.left
			for _, l := range f.path {
				carried[l] += f.rate
			}
			if !slices.ContainsFunc(f.path, func(l int) bool { return carried[l] >= m.capacity[l]*(1-1e-9) }) {
				t.Fatalf("flow %d leaves something on every link of %v", f.flow, f.path)
			}
		}
	}
}

// TestOneLink checks that on one link max-min fairness and any other order without waste end the last flow at the same
// time, and that shortest first has the sum of SRPT.
func TestOneLink(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		flows, jobs := make([]Flow, 1+rng.IntN(30)), []Job(nil)
		for i := range flows {
			flows[i] = Flow{Start: vtime.Time(rng.IntN(20_000)) * ns, Work: 1 + rng.Int64N(2000), Path: []int{0}}
			jobs = append(jobs, Job{Release: float64(flows[i].Start), Work: float64(flows[i].Work) * float64(ns)})
		}
		fair, served := Run([]units.Rate{unit}, flows, MaxMin, vtime.Never), Run([]units.Rate{unit}, flows, ShortestFirst,
			vtime.Never)
		var lastFair, lastServed, sumFair, sum float64
		for i := range flows {
			lastFair, lastServed = max(lastFair, float64(flows[i].Start)+fair[i]), max(lastServed,
				float64(flows[i].Start)+served[i])
			sumFair, sum = sumFair+fair[i], sum+served[i]
		}
		if math.Abs(lastFair-lastServed) > 1 {
			t.Errorf("the last flow ends at %v, and at %v", lastFair, lastServed)
		}
		if bound := LowerBound(jobs); math.Abs(sum-bound) > 1 || sumFair < bound-1 {
			t.Errorf("the sum is %v by Run, %v by LowerBound; %v in max-min shares", sum, bound, sumFair)
		}
	}
}
