package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/interval"
)

func TestThinKeepsSpikes(t *testing.T) {
	s := Series{Step: true}
	for i := range int64(450_000) {
		y := 10.0
		switch i {
		case 77_777:
			y = 6e6 // one sample high
		case 300_001:
			y = -3 // one sample low
		}
		s.Append(i*1000, y)
	}
	if len(s.X) > holdAll {
		t.Errorf("holds %d points", len(s.X))
	}
	if !slices.IsSorted(s.X) {
		t.Error("points out of order")
	}
	points := s.drawn()
	if len(points) > 5*columns {
		t.Errorf("draws %d points", len(points))
	}
	lo, hi, _ := (&line{points: points}).extent(math.Inf(-1), math.Inf(1))
	if lo != -3 || hi != 6e6 {
		t.Errorf("spikes are gone: %v to %v", lo, hi)
	}
	if first, last := points[0].x, points[len(points)-1].x; first != 0 || last != 449_999_000 {
		t.Errorf("from %v to %v", first, last)
	}
	if n := testing.AllocsPerRun(1, func() { s.drawn() }); n > 3 {
		t.Errorf("%v allocations", n)
	}
}

func TestThinKeepsGaps(t *testing.T) {
	var s Series
	for i := range int64(10_000) {
		y := 1.0
		if i == 5000 {
			y = math.NaN()
		}
		s.Append(i, y)
	}
	if !slices.ContainsFunc(s.drawn(), func(p point) bool { return math.IsNaN(p.y) }) {
		t.Error("the gap is gone")
	}
}

func TestExtent(t *testing.T) {
	all := math.Inf(1)
	points := []point{{0, 0}, {10, 100}, {20, 50}, {30, math.NaN()}, {40, 7}}
	for _, c := range []struct {
		step             bool
		from, to, lo, hi float64
		ok               bool
	}{
		{true, -all, all, 0, 100, true},
		{true, 2, 4, 0, 0, true},       // between two points
		{true, 10, 15, 100, 100, true}, // a point on the edge ends the step before it
		{false, 2, 4, 20, 40, true},
		{false, 15, 20, 50, 75, true},
		{true, 31, 39, all, -all, false}, // in a gap
		{false, 50, 60, all, -all, false},
	} {
		lo, hi, ok := (&line{points: points, step: c.step}).extent(c.from, c.to)
		if lo != c.lo || hi != c.hi || ok != c.ok {
			t.Errorf("%+v: got %v to %v, %v", c, lo, hi, ok)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis axis
		want string
	}{
		{roundAxis(0, 5.98e6, Bytes, 5), "0 2 4 6 [MB]"},
		{roundAxis(0, 395e3, Bytes, 5), "0 100 200 300 400 [KB]"},
		{roundAxis(0, 20.3e9, BitsPerSecond, 5), "0 5 10 15 20 25 [Gbps]"},
		{roundAxis(0, 0, Bytes, 5), "0.0 0.2 0.4 0.6 0.8 1.0 [B]"},
		{roundAxis(-3, 7, None, 5), "-4 -2 0 2 4 6 8 []"},
		{roundAxis(0, 90e3, "frames/s", 5), "0 20k 40k 60k 80k 100k [frames/s]"},
		{roundAxis(0, 100, Percent, 4), "0 50% 100% []"},
		{exactAxis(0, 40e6, Nanoseconds, 8), "0 5 10 15 20 25 30 35 40 [ms]"},
		{exactAxis(2e9, 2.05e9, Nanoseconds, 8), "2.00 2.01 2.02 2.03 2.04 2.05 [s]"},
		{exactAxis(0, 450e3, Nanoseconds, 8), "0 100 200 300 400 [us]"},
		{logAxis(1, 233, None), "1 2 5 10 20 50 100 200 500 []"},
		{logAxis(1, 90e3, None), "1 10 100 1k 10k 100k []"},
		{logAxis(0, 0, Bytes), "0.1 0.2 0.5 1 [B]"},
	} {
		var got []string
		for _, k := range c.axis.ticks {
			got = append(got, k.label)
			if k.value < c.axis.lo-1e-6*c.axis.hi || k.value > c.axis.hi*(1+1e-6) {
				t.Errorf("tick %v off the axis %v to %v", k.value, c.axis.lo, c.axis.hi)
			}
		}
		if s := strings.Join(got, " ") + " [" + c.axis.in.name + "]"; s != c.want {
			t.Errorf("got %s, want %s", s, c.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Bytes.measure(5.98e6).text(5.98e6), "5.98\u00a0MB"},
		{Bytes.measure(320e3).text(320e3), "320\u00a0KB"},
		{BitsPerSecond.measure(40e9).between(0.31e9, 20e9), "0.31–20"},
		{Nanoseconds.measure(7.1e6).text(7.1e6), "7.1\u00a0ms"},
		{Percent.measure(100).text(99.9), "99.9%"},
		{Unit("frames/s").measure(20e3).text(20e3), "20k\u00a0frames/s"},
		{Unit("frames/s").measure(20e3).text(0), "0\u00a0frames/s"},
		{count(1234567), "1\u202f234\u202f567"},
		{count(-123), "-123"},
		{digits(0.00001), "1e-05"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// TestPlusMinus checks that only significant digits are printed, and no interval for a value that did not vary.
func TestPlusMinus(t *testing.T) {
	for _, c := range []struct {
		unit       Unit
		mean, half float64
		want       string
	}{
		{Nanoseconds, 5.207878e6, 75, "5.208 ± <0.001"},
		{Nanoseconds, 5.207878e6, 0, "5.21"},
		{Nanoseconds, 5.207878e6, 4e4, "5.21 ± 0.04"},
		{Nanoseconds, 18.6e6, 4.94e6, "18.6 ± 4.9"},
		{Nanoseconds, 1.72e6, 35e6, "2 ± 35"},
		{None, 0, 0, "0"},
		{None, 476, 0, "476"},
		{None, 92027, 9457, "92\u202f027 ± 9\u202f457"},
		{None, 0.2, 1.3, "0.2 ± 1.3"},
		{None, 0, 0.043, "0.000 ± 0.043"},
	} {
		m := c.unit.measure(c.mean)
		if c.unit == None {
			m = measure{div: 1}
		}
		if got := m.plusMinus(c.mean, c.half); got != c.want {
			t.Errorf("%g ± %g: got %s, want %s", c.mean, c.half, got, c.want)
		}
	}
}

// TestUnitSpelling checks that a page spells units in one way, with at most three digits for quantities with decimals,
// and does not change names and settings.
func TestUnitSpelling(t *testing.T) {
	for _, c := range [][3]string{
		{"10 links: 8 of 25Gbps, 1us; 2 of 100Gbps", "10 links: 8 of 25~Gbps, 1~us; 2 of 100~Gbps", ""},
		{"buffered 266.616KB in 200 us", "buffered 266.616~KB in 200~us", "buffered 267~KB in 200~us"},
		{"at 1.201007 ms, 12.5KB, 125902 B", "at 1.201007~ms, 12.5~KB, 125902~B", "at 1.2~ms, 12.5~KB, 125902~B"},
		{
			"--set switch.pfc.xoff=100KB, x-4us, h1s, 3 hops, 5 bytes",
			"--set switch.pfc.xoff=100KB, x-4us, h1s, 3 hops, 5 bytes", "",
		},
		{"1us 2us (3Mbps) 4 Kbps", "1~us 2~us (3~Mbps) 4~Kbps", ""},
	} {
		if got := strings.ReplaceAll(withUnits(c[0]), "\u00a0", "~"); got != c[1] {
			t.Errorf("%s: got %s, want %s", c[0], got, c[1])
		}
		if got := strings.ReplaceAll(rounded(c[0]), "\u00a0", "~"); got != cmp.Or(c[2], c[1]) {
			t.Errorf("%s, rounded: got %s, want %s", c[0], got, cmp.Or(c[2], c[1]))
		}
	}
}

// TestForPage checks that the page gets a line without the points that its picture does not need, and whole numbers as
// differences.
func TestForPage(t *testing.T) {
	points := []point{{0, 0}, {10, 0}, {20, 0}, {30, 50}, {30, 20}, {40, math.NaN()}, {50, 1}, {60, 1}}
	for _, c := range []struct {
		line line
		want string
	}{
		{
			line{label: "<a>", points: points, step: true},
			`"step":true,"x":{"d":[0,30,0,[10,3]]},"y":{"d":[0,50,-30,null,-19,0]}`,
		},
		{line{points: points}, `"x":{"d":[0,20,10,0,[10,3]]},"y":{"d":[[0,2],50,-30,null,-19,0]}`},
		{
			line{points: points[:3], dots: true, halves: []float64{0.5, math.NaN(), 1. / 3}},
			`"x":{"d":[0,[10,2]]},"y":{"d":[[0,3]]},"half":[0.5,null,0.3333333]`,
		},
		{line{points: []point{{1, 1e300}, {2, 0.1 + 0.2}}}, `"x":{"d":[[1,2]]},"y":[1e+300,0.3]`},
	} {
		got, err := json.Marshal((&chart{lines: []line{c.line}}).forPage().Lines[0])
		if err != nil || !strings.Contains(string(got), c.want) {
			t.Errorf("%s, want %s (%v)", got, c.want, err)
		}
	}
}

func TestContest(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		values []float64
		better better
		mayWin []bool
		want   string
	}{
		{"lower wins", []float64{2e6, 1e6, 3e6}, lower, []bool{true, true, true}, "2.00 1.00* 3.00"},
		{"a failed run cannot win", []float64{2e6, 1e6, 3e6}, lower, []bool{true, false, true}, "2.00* 1.00 3.00"},
		{"nobody to beat", []float64{2e6, 1e6}, lower, []bool{true, false}, "2.00 1.00"},
		{"no merit", []float64{2e6, 1e6}, neither, []bool{true, true}, "2.00 1.00"},
		{"equal as printed", []float64{2.0001e6, 2e6}, lower, []bool{true, true}, "2.00 2.00"},
		{"a tie", []float64{2e6, 2e6, 3e6}, lower, []bool{true, true, true}, "2.00* 2.00* 3.00"},
		{"nothing", []float64{nan, 2e6}, lower, []bool{true, true}, "– 2.00"},
		{"zero wins", []float64{0, 2e6}, lower, []bool{true, true}, "0* 2.00"},
	} {
		values := make([]estimate, len(c.values))
		for i, v := range c.values {
			if values[i].Estimate = (interval.Estimate{Mean: v, Half: nan}); !math.IsNaN(v) {
				values[i].N = 1
			}
		}
		cells, unit := contest(values, Nanoseconds, c.better, c.mayWin)
		var got []string
		for _, cell := range cells {
			s := cell.Text
			if cell.Best {
				s += "*"
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != c.want || unit != "ms" {
			t.Errorf("%s: got %s %s, want %s ms", c.name, s, unit, c.want)
		}
	}
}

// contrast returns the WCAG 2 contrast ratio of two colours.
func contrast(a, b string) float64 {
	luminance := func(hex string) float64 {
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n, _ := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
			c := float64(n) / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func TestContrast(t *testing.T) {
	for name, th := range map[string]theme{"light": light, "dark": dark} {
		check := func(what, colour, on string, want float64) {
			if got := contrast(colour, on); got < want {
				t.Errorf("%s: %s has a contrast of %.2f on %s, want %v", name, what, got, on, want)
			}
		}
		for _, paper := range []string{th.paper, th.span} {
			check("ink", th.ink, paper, 4.5)
			check("muted", th.muted, paper, 4.5)
			check("level", th.level, paper, 3)
			for i, c := range th.series {
				check(fmt.Sprint("series ", i), c, paper, 4)
			}
		}
	}
}

// TestGroupTables checks that values to compare are side by side, as long as they fit.
func TestGroupTables(t *testing.T) {
	for runs, want := range map[int]struct{ tables, heads, sub int }{
		2: {2, 4, 2}, 4: {2, 4, 4}, 5: {4, 2, 5},
		6: {4, 2, 6}, 7: {8, 7, 0}, 10: {8, 10, 0},
	} {
		var names []string
		for i := range runs {
			names = append(names, fmt.Sprintf("c%d", i))
		}
		tables := groupTables(synthetic(names...))
		if len(tables) != want.tables {
			t.Errorf("%d runs: %d tables, want %d", runs, len(tables), want.tables)
		}
		captions := map[string]bool{}
		for _, table := range tables {
			captions[table.Caption+strings.Join(table.Heads, " ")] = true
			if len(table.Heads) != want.heads || len(table.Sub) != want.sub {
				t.Errorf("%d runs: %q under %q", runs, table.Sub, table.Heads)
			}
			for _, b := range table.Bodies {
				for _, row := range b.Rows {
					if len(row.Cells) != table.span()-1 {
						t.Errorf("%d runs: %d cells in %d columns", runs, len(row.Cells), table.span())
					}
				}
			}
		}
		if len(captions) != want.tables {
			t.Errorf("%d runs: tables that cannot be told apart: %v", runs, captions)
		}
	}
}

// TestMeasureOf checks that all numbers of a row have one prefix, and that a prefix printed after each number is not
// too large for the smallest.
func TestMeasureOf(t *testing.T) {
	for _, c := range []struct {
		unit   Unit
		values []float64
		want   string
	}{
		{"frames/s", []float64{1131, 58, 69_900, 0}, "1\u202f131 58.0 69\u202f900 0"},
		{"hops/s", []float64{2.46e6, 2.13e6}, "2.46M 2.13M"},
		{"frames/s", []float64{1131, 69_900}, "1.13k 69.9k"},
		{"frames/s", []float64{8_000, 69_900}, "8.00k 69.9k"},
		{Nanoseconds, []float64{5e6, 5e3}, "5.00 0.005"},
		{"frames/s", []float64{0, math.NaN()}, "0 –"},
	} {
		m := c.unit.measureOf(c.values)
		var texts []string
		for _, v := range c.values {
			texts = append(texts, m.cell(v, false))
		}
		if got := strings.Join(texts, " "); got != c.want {
			t.Errorf("%v %s: %s, want %s", c.values, c.unit, got, c.want)
		}
	}
}

// TestLevelsOfTheirOwn checks that a chart has its own run's reference lines, and that their values are printed only if
// runs differ.
func TestLevelsOfTheirOwn(t *testing.T) {
	described := func(first, second *Level) [2]string {
		r := synthetic()
		r.Panels = r.Panels[1:2]
		r.Panels[0].Series["dcqcn"][0].Reference, r.Panels[0].Series["dcon"][0].Reference = first, second
		var texts [2]string
		for i, c := range newPlots(r, 0, r.Runs).charts {
			for _, l := range c.levels {
				texts[i] += fmt.Sprintf("%s at %g;", l.Label, l.Value)
			}
		}
		return texts
	}
	for _, c := range []struct {
		first, second *Level
		want          [2]string
	}{
		{&Level{320e3, "XOFF"}, &Level{320e3, "XOFF"}, [2]string{"XOFF at 320000;", "XOFF at 320000;"}},
		{&Level{320e3, "XOFF"}, &Level{640e3, "XOFF"}, [2]string{
			"XOFF 320\u00a0KB at 320000;",
			"XOFF 640\u00a0KB at 640000;",
		}},
		{&Level{320e3, "XOFF"}, nil, [2]string{"XOFF at 320000;", ""}},
		{&Level{320e3, "XOFF"}, &Level{640e3, "XON"}, [2]string{"XOFF at 320000;", "XON at 640000;"}},
	} {
		if got := described(c.first, c.second); got != c.want {
			t.Errorf("%v and %v: %q, want %q", c.first, c.second, got, c.want)
		}
	}
}

// TestPrint checks that nothing stays folded on paper, and that no heading is the last line of a page.
func TestPrint(t *testing.T) {
	sheet, err := os.ReadFile("page/page.css")
	if err != nil {
		t.Fatal(err)
	}
	_, print, found := strings.Cut(string(sheet), "@media print{\n")
	print, _, ended := strings.Cut(print, "\n}\n")
	if !found || !ended {
		t.Fatal("the page has no rules for print")
	}
	if !strings.Contains(print, "details::details-content{content-visibility:visible") ||
		!strings.Contains(render(t, synthetic()), `addEventListener("beforeprint"`) {
		t.Error("what is folded stays so on paper")
	}
	for _, line := range strings.Split(print, "\n") {
		if rule, ok := strings.CutSuffix(line, "{break-after:avoid}"); ok {
			for _, heading := range []string{"h2", "h3", "caption", "tr.heading", "summary"} {
				if !slices.Contains(strings.Split(rule, ","), heading) {
					t.Errorf("%s may end a page", heading)
				}
			}
			return
		}
	}
	t.Error("headings may end a page")
}

// TestSample checks that a sample keeps its ends, its median and at most as many points as its picture needs, also for
// repeats together.
func TestSample(t *testing.T) {
	var odd, even, all []float64
	for v := 100_000; v > 0; v-- { // 1 to 100 000, downwards
		all = append(all, float64(v))
		if v%2 == 0 {
			even = append(even, float64(v))
		} else {
			odd = append(odd, float64(v))
		}
	}
	whole, pooled := NewSample(all), NewSample(odd, nil, even)
	for name, s := range map[string]Sample{"one run": whole, "repeats": pooled} {
		if s.lo != 1 || s.hi != 100_000 || s.median != 50_000 || len(s.points) > 2200 ||
			s.points[len(s.points)-1] != (point{100_000, 100}) {
			t.Errorf("%s: from %g over %g to %g in %d points", name, s.lo, s.median, s.hi, len(s.points))
		}
		for _, p := range s.points[1:] {
			if p.y != p.x/1000 {
				t.Fatalf("%s: %g %% up to %g", name, p.y, p.x)
			}
		}
	}
	if whole.most != 100_000 || pooled.most != 50_000 || NewSample(nil).most != 0 || NewSample().most != 0 {
		t.Errorf("%d and %d values of a run", whole.most, pooled.most)
	}
}

// TestImbalanceAndRecovery checks tables for which only some runs have values. They are absent if no run has any.
func TestImbalanceAndRecovery(t *testing.T) {
	r := &Report{Runs: []Run{{Controller: "ecmp"}, {Controller: "spray"}}}
	if imbalanceTable(r) != nil || recoveryTable(r) != nil || lossyTable(r) != nil {
		t.Error("tables of runs that have neither")
	}
	r.Runs[0].Summary.Imbalance = []Imbalance{
		{Tier: 2, MaxOverMean: 1.5, Jain: 0.9, Worst: "agg0"},
		{Tier: 1, MaxOverMean: 2, Jain: 0.5, Worst: "leaf0"},
	}
	r.Runs[1].Summary.Recovery = &Recovery{Retransmitted: 2e6, Spurious: 12}
	uneven := imbalanceTable(r)[0]
	if len(uneven.Bodies) != 2 || uneven.Bodies[0].Heading != "Tier 1" {
		t.Fatalf("%+v", uneven.Bodies)
	}
	for i, want := range [][2]string{{"2.00", "–"}, {"0.500", "–"}, {"leaf0", "–"}} {
		if c := uneven.Bodies[0].Rows[i].Cells; c[0].Text != want[0] || c[1].Text != want[1] {
			t.Errorf("row %d: %q and %q, want %q", i, c[0].Text, c[1].Text, want)
		}
	}
	r.Runs[1].Summary.Lossy = LossyDrops{Threshold: 12}
	if c := lossyTable(r)[0].Bodies[0].Rows[1].Cells; c[0].Text != "0" || c[1].Text != "12" {
		t.Errorf("dropped: %q and %q", c[0].Text, c[1].Text)
	}
	r.Runs[1].Summary.Drop = []DropPosition{{At: "leaf1 to h5", Cause: "by the PFC watchdog", Frames: 150394}}
	if got := dropTable(r)[0].Bodies[0].Rows; len(got) != 1 || got[0].Label != "leaf1 to h5, by the PFC watchdog" ||
		got[0].Cells[0].Text != "0" || got[0].Cells[1].Text != "150\u202f394" {
		t.Errorf("drops by port: %+v", got)
	}
	repairs := recoveryTable(r)[0].Bodies[0].Rows
	if c := repairs[1].Cells; c[0].Text != "–" || c[1].Text != "12" {
		t.Errorf("spurious: %q and %q", c[0].Text, c[1].Text)
	}
	if repairs[0].Unit != "MB" || repairs[0].Cells[1].Text != "2.00" {
		t.Errorf("sent again: %s %s", repairs[0].Cells[1].Text, repairs[0].Unit)
	}
}

// TestStepsTablesWithFaults checks that the captions of jobs and collectives say so where their limits leave faults
// out.
func TestStepsTablesWithFaults(t *testing.T) {
	steps := Summary{
		Jobs:        []Job{{Tag: "sum", JCT: 2, Limit: 1}},
		Collectives: []Collective{{Name: "sum, allreduce", Completed: 1, Limit: 1}},
	}
	r := &Report{Runs: []Run{{Controller: "none", Summary: steps}, {Controller: "dcqcn", Summary: steps}}}
	for _, faults := range []bool{false, true} {
		r.Runs[1].Faults = faults
		tables := stepsTables(r)
		if len(tables) != 2 {
			t.Fatalf("%d tables, want 2", len(tables))
		}
		for _, own := range tables {
			if !strings.Contains(own.Caption, "below the limit") ||
				strings.Contains(own.Caption, "of the fabric without faults") != faults {
				t.Errorf("faults %v: caption %q", faults, own.Caption)
			}
		}
	}
}
