package workload

import (
	"iter"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/vtime"
)

// fabric returns ten racks of 24 hosts, as in DCON's section 6.2.1.
func fabric() (hosts []int, racks []int32) {
	for h := range 240 {
		hosts, racks = append(hosts, h), append(racks, int32(h/24))
	}
	return hosts, racks
}

// kolmogorov returns the Kolmogorov-Smirnov statistic of values against a distribution function, times the root of
// their number. Its distribution does not depend on theirs; it exceeds 1.63 once in 100 samples and 2.23 once in 10
// 000.
func kolmogorov(values []float64, f func(float64) float64) float64 {
	slices.Sort(values)
	n, most := float64(len(values)), 0.0
	for i, v := range values {
		p := f(v)
		most = max(most, p-float64(i)/n, float64(i+1)/n-p)
	}
	return most * math.Sqrt(n)
}

// improbable holds a Kolmogorov-Smirnov statistic that one correct sample in 10 000 exceeds. Seeds are fixed: a test
// that passes once passes always.
const improbable = 2.23

// TestKolmogorov checks that the statistic detects a slightly wrong distribution, and accepts the right one.
func TestKolmogorov(t *testing.T) {
	uniform := make([]float64, 20_000)
	for i := range uniform {
		uniform[i] = Stream(3).Uniform(uint64(i))
	}
	if d := kolmogorov(uniform, func(x float64) float64 { return x }); d > improbable {
		t.Errorf("%.2f of a uniform sample", d)
	}
	if d := kolmogorov(uniform, func(x float64) float64 { return math.Pow(x, 1.06) }); d < improbable {
		t.Errorf("%.2f of a sample that is not uniform", d)
	}
	// By hand: of 0.1 and 0.6 the distance is 0.4, just below 1 at 0.6.
	if d := kolmogorov([]float64{0.6, 0.1}, func(x float64) float64 { return x }); math.Abs(d-0.4*math.Sqrt2) > 1e-12 {
		t.Errorf("%.4f of two values", d)
	}
}

// TestOfferedLoad checks that the payload that a Poisson workload sends between racks, as a fraction of the capacity,
// is the requested load.
func TestOfferedLoad(t *testing.T) {
	hosts, racks := fabric()
	pairs := NewPairs(hosts, hosts, racks, Anywhere)
	const capacity = 10 * 8 * 40e9 // uplinks, b/s
	if part := pairs.AcrossPart(); math.Abs(part-216.0/239) > 1e-12 {
		t.Errorf("%g of the pairs are of different racks, want 216/239", part)
	}
	for _, c := range []struct {
		sizes     string
		load      float64
		flows     int     // enough for 1 % to be three times the standard deviation
		perSecond float64 // computed by an independent program
	}{
		{"websearch", 0.4, 600_000, 103_455},
		{"websearch", 0.8, 600_000, 206_910},
		{"datamining-ns2", 0.8, 6_000_000, 47_400},
		{"datamining", 0.8, 6_000_000, 27_972},
		{"fbhadoop", 0.3, 6_000_000, math.NaN()},
	} {
		s := sizes(t, c.sizes)
		rate := c.load * capacity / 8 / s.Mean() / pairs.AcrossPart()
		if math.Abs(rate/c.perSecond-1) > 1e-4 {
			t.Errorf("%s %g: %.0f flows a second, want %.0f", c.sizes, c.load, rate, c.perSecond)
		}
		w := &Poisson{
			Clock: Clock{Every: 1e12 / rate, Random: true, Until: vtime.Never, Count: c.flows}, Sizes: s,
			Pairs: pairs,
		}
		var across int64
		var last vtime.Time
		for f := range w.Flows(NewStream(1, "test")) {
			if racks[f.From] != racks[f.To] {
				across += f.Size
			}
			last = f.Start
		}
		if offered := float64(across) * 8 / last.Seconds() / capacity; math.Abs(offered/c.load-1) > 0.01 {
			t.Errorf("%s: offered load %.4f, want %g", c.sizes, offered, c.load)
		}
	}
}

// TestSizesDrawn checks that sizes follow their distribution. Sizes rounded down to bytes are up to a byte smaller.
func TestSizesDrawn(t *testing.T) {
	hosts, racks := fabric()
	for _, name := range BuiltinNames() {
		w := &Poisson{
			Clock: Clock{Every: 1e6, Random: true, Until: vtime.Never, Count: 100_000},
			Sizes: sizes(t, name), Pairs: NewPairs(hosts, hosts, racks, Anywhere),
		}
		var values []float64
		for f := range w.Flows(NewStream(1, name)) {
			values = append(values, float64(f.Size)+0.5)
		}
		of := func(like *Sizes) float64 {
			return kolmogorov(slices.Clone(values), func(x float64) float64 { return distribution(like, x) })
		}
		if d := of(w.Sizes); d > improbable {
			t.Errorf("%s: Kolmogorov-Smirnov %.2f", name, d)
		}
		for _, other := range BuiltinNames() {
			if d := of(sizes(t, other)); other != name && d < 5*improbable {
				t.Errorf("sizes of %s pass for %s: %.2f", name, other, d)
			}
		}
	}
}

// TestArrivalsAreExponential checks that the times between arrivals are exponential and independent of each other.
func TestArrivalsAreExponential(t *testing.T) {
	c := Clock{Start: 5 * vtime.Microsecond, Every: 4.8e6, Random: true, Until: vtime.Never, Count: 100_000}
	last := c.Start
	var gaps []float64
	for _, at := range c.events(NewStream(1, "gaps")) {
		gaps = append(gaps, float64(at-last)/c.Every)
		last = at
	}
	var together, mean float64
	for i := 1; i < len(gaps); i++ {
		together += (gaps[i] - 1) * (gaps[i-1] - 1) / float64(len(gaps))
		mean += gaps[i] / float64(len(gaps))
	}
	if sigma := 1 / math.Sqrt(float64(len(gaps))); math.Abs(together) > 4*sigma || math.Abs(mean-1) > 4*sigma {
		t.Errorf("mean %.4f, correlation of neighbours %.4f", mean, together)
	}
	if d := kolmogorov(gaps, func(x float64) float64 { return 1 - math.Exp(-x) }); d > improbable {
		t.Errorf("Kolmogorov-Smirnov %.2f", d)
	}
}

// TestPeriods checks that periodic events are exact to the picosecond, after any number of them.
func TestPeriods(t *testing.T) {
	c := Clock{Start: 7, Every: 1e9 / 3, Until: vtime.Millisecond*1000 + 7}
	var times []vtime.Time
	for i, at := range c.events(0) {
		if want := vtime.Time(math.Round(7 + float64(i)*1e9/3)); at != want {
			t.Fatalf("event %d at %d, want %d", i, at, want)
		}
		times = append(times, at)
	}
	if len(times) != 3000 || c.Expected() != 3000 {
		t.Errorf("%d events, expected %g", len(times), c.Expected())
	}
}

// chi returns the chi-square statistic of counts that should be equal, as deviations from its mean in its standard
// deviation.
func chi(counts []int) float64 {
	sum, square := 0, 0.0
	for _, c := range counts {
		sum += c
	}
	want := float64(sum) / float64(len(counts))
	for _, c := range counts {
		square += (float64(c) - want) * (float64(c) - want) / want
	}
	degrees := float64(len(counts) - 1)
	return (square - degrees) / math.Sqrt(2*degrees)
}

// TestPairsAreUniform checks that each allowed pair occurs equally often, and no other ever.
func TestPairsAreUniform(t *testing.T) {
	racks := []int32{0, 0, 0, 1, 1, 2, 2, 2, 2}
	for _, c := range []struct {
		name     string
		relation Relation
		from, to []int
		across   float64
	}{
		{
			"anywhere", Anywhere,
			[]int{0, 1, 2, 3, 4, 5, 6, 7, 8},
			[]int{8, 7, 6, 5, 4, 3, 2, 1, 0, 0},
			(3*6 + 2*7 + 4*5) / 72.0,
		},
		{"across", Across, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}, 1},
		{"within", Within, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}, 0},
		{"two sets", Anywhere, []int{8, 0, 3}, []int{3, 4}, 2.0 / 3}, // 8 and 0 to both, 3 to 4 alone
		{"one receiver", Anywhere, []int{0, 1, 2, 3, 8}, []int{8}, 1},
		{"nobody across", Across, []int{0, 3}, []int{1}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			allowed := func(from, to int) bool {
				same := racks[from] == racks[to]
				return from != to && slices.Contains(c.from, from) && slices.Contains(c.to, to) &&
					(c.relation == Anywhere || same == (c.relation == Within))
			}
			pairs := NewPairs(c.from, c.to, racks, c.relation)
			if got := pairs.AcrossPart(); math.Abs(got-c.across) > 1e-12 {
				t.Errorf("%g across racks, want %g", got, c.across)
			}
			w := &Poisson{
				Clock: Clock{Every: 1e6, Random: true, Until: vtime.Never, Count: 60_000}, Sizes: Fixed(1),
				Pairs: pairs,
			}
			counts := map[[2]int]int{}
			for f := range w.Flows(NewStream(1, c.name)) {
				counts[[2]int{f.From, f.To}]++
			}
			senders := []int{}
			for from := range racks {
				var each []int
				sum := 0
				for to := range racks {
					n := counts[[2]int{from, to}]
					if allowed(from, to) {
						each = append(each, n)
						sum += n
					} else if n != 0 {
						t.Errorf("%d flows from %d to %d", n, from, to)
					}
				}
				if len(each) > 1 && chi(each) > 4 {
					t.Errorf("receivers of %d: %v", from, each)
				}
				if len(each) > 0 {
					senders = append(senders, sum)
				}
			}
			if len(senders) != pairs.Len() || len(senders) > 1 && chi(senders) > 4 {
				t.Errorf("senders %v", senders)
			}
		})
	}
	if NewPairs([]int{0, 1}, []int{2}, racks, Across).Len() != 0 {
		t.Error("pairs across racks within one")
	}
}

// TestIncast checks that an event has one receiver and so many different senders, and that all senders occur equally
// often.
func TestIncast(t *testing.T) {
	hosts, racks := fabric()
	w := &Incast{
		Clock: Clock{Every: 375e6, Random: true, Until: vtime.Never, Count: 4000}, Sizes: Fixed(500_000),
		Pairs: NewPairs(hosts, hosts, racks, Across), Degree: 60,
	}
	senders, receivers := make([]int, 240), make([]int, 240)
	last, event := Flow{Start: -1}, map[int]bool{}
	events := 0
	for f := range w.Flows(NewStream(1, "incast")) {
		if f.Start != last.Start {
			if events > 0 && len(event) != 60 {
				t.Fatalf("%d senders at %v", len(event), last.Start)
			}
			events++
			receivers[f.To]++
			clear(event)
		} else if f.To != last.To {
			t.Fatalf("two receivers at %v", f.Start)
		}
		if racks[f.From] == racks[f.To] || f.Size != 500_000 {
			t.Fatalf("%+v", f)
		}
		event[f.From] = true
		senders[f.From]++
		last = f
	}
	if events != 4000 || chi(receivers) > 4 || chi(senders) > 4 {
		t.Errorf("%d events, chi %.1f, %.1f", events, chi(receivers), chi(senders))
	}
}

// TestDerangements checks that the nine derangements of four numbers occur equally often.
func TestDerangements(t *testing.T) {
	counts := map[[4]int]int{}
	for i := range uint64(36_000) {
		counts[[4]int(derangement(4, Stream(1).Sub(i)))]++
	}
	var each []int
	for p, n := range counts {
		for i, k := range p {
			if i == k {
				t.Errorf("%v leaves %d in its place", p, i)
			}
		}
		each = append(each, n)
	}
	if len(each) != 9 || chi(each) > 4 {
		t.Errorf("%v", counts)
	}
	if got := derangement(2, 0); !slices.Equal(got, []int{1, 0}) {
		t.Errorf("%v", got)
	}
}

func TestAllToAll(t *testing.T) {
	racks := []int32{0, 0, 1}
	w := &AllToAll{
		Clock: Clock{Start: 3, Every: 10, Count: 2, Until: vtime.Never}, Sizes: Fixed(9),
		Pairs: NewPairs([]int{0, 1, 2}, []int{0, 1, 2}, racks, Anywhere),
	}
	want := []Flow{{3, 9, 0, 1}, {3, 9, 0, 2}, {3, 9, 1, 0}, {3, 9, 1, 2}, {3, 9, 2, 0}, {3, 9, 2, 1}}
	for _, f := range want[:6] {
		f.Start = 13
		want = append(want, f)
	}
	if got := slices.Collect(w.Flows(0)); !slices.Equal(got, want) || w.PerEvent() != 6 {
		t.Errorf("%v, %d a round", got, w.PerEvent())
	}
}

// TestProperties checks, for any parameters, that flows are ordered by start, within the time and number given, and
// between allowed hosts. One stream gives the same flows twice, and a parameter only changes the properties that it
// controls.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 12).Draw(t, "hosts")
		racks := make([]int32, n)
		hosts := make([]int, n)
		for i := range racks {
			hosts[i], racks[i] = i, int32(rapid.IntRange(0, 2).Draw(t, "rack"))
		}
		set := func(what string) []int {
			return rapid.SliceOfN(rapid.SampledFrom(hosts), 1, n).Draw(t, what)
		}
		from, to := set("from"), set("to")
		relation := Relation(rapid.IntRange(0, 2).Draw(t, "relation"))
		clock := Clock{
			Start: vtime.Time(rapid.IntRange(0, 1000).Draw(t, "start")), Every: rapid.Float64Range(1, 1e4).Draw(t, "every"),
			Random: rapid.Bool().Draw(t, "random"), Until: vtime.Time(rapid.IntRange(1, 100_000).Draw(t, "until")),
			Count: rapid.IntRange(0, 200).Draw(t, "count"),
		}
		if clock.Every < 100 && clock.Count == 0 {
			clock.Count = 1
		}
		stream := NewStream(rapid.Uint64().Draw(t, "seed"), "p")
		pairs := NewPairs(from, to, racks, relation)
		if pairs.Len() == 0 {
			return
		}
		poisson := &Poisson{Clock: clock, Sizes: Fixed(5), Pairs: pairs}
		swapped := NewPairs(to, from, racks, relation)
		degree := n
		for i := range swapped.Len() {
			degree = min(degree, swapped.Choices(swapped.First(i)))
		}
		longer := *poisson
		longer.Sizes = Fixed(6)
		for name, w := range map[string]interface{ Flows(Stream) iter.Seq[Flow] }{
			"poisson": poisson, "incast": &Incast{Clock: clock, Sizes: Fixed(5), Pairs: swapped, Degree: degree},
			"all":         &AllToAll{Clock: clock, Sizes: Fixed(5), Pairs: pairs},
			"permutation": &Permutation{Clock: clock, Sizes: Fixed(5), Hosts: hosts},
		} {
			flows := slices.Collect(w.Flows(stream))
			if !slices.Equal(flows, slices.Collect(w.Flows(stream))) {
				t.Fatalf("%s: not twice the same", name)
			}
			last := clock.Start
			events := map[vtime.Time]bool{}
			for _, f := range flows {
				if f.Start < last || f.Start >= clock.Until || f.From == f.To || f.Size != 5 {
					t.Fatalf("%s: %+v after %v", name, f, last)
				}
				last = f.Start
				events[f.Start] = true
				if name == "permutation" {
					continue
				}
				same := racks[f.From] == racks[f.To]
				if !slices.Contains(from, f.From) || !slices.Contains(to, f.To) || relation == Across && same ||
					relation == Within && !same {
					t.Fatalf("%s: %+v", name, f)
				}
			}
			if clock.Count > 0 && len(events) > clock.Count {
				t.Fatalf("%s: %d events, at most %d were asked for", name, len(events), clock.Count)
			}
		}
		a, b := slices.Collect(poisson.Flows(stream)), slices.Collect(longer.Flows(stream))
		for i := range a {
			a[i].Size = 6
		}
		if !slices.Equal(a, b) {
			t.Fatal("other sizes change more than the sizes")
		}
	})
}
