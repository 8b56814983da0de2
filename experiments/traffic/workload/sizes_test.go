package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/internal/yamlspec"
)

func sizes(t testing.TB, name string) *Sizes {
	t.Helper()
	s, err := BuiltinSizes(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parseSizes(text string) (*Sizes, string) {
	report := new(yamlspec.Report)
	s := ParseSizes(report, "mine", "mine.txt", []byte(text))
	if err := report.Err(); err != nil {
		return s, err.Error()
	}
	return s, ""
}

// TestBuiltinSizes compares the built-ins with values that an independent program computes from the same points.
func TestBuiltinSizes(t *testing.T) {
	names := []string{}
	for _, c := range []struct {
		name              string
		mean              float64
		points            int
		median, p99       int64
		upTo100K, over1MB float64 // percent
	}{
		{"datamining", 12658198.6, 13, 1100, 550000000, 82.308, 8.913},
		{"datamining-ns2", 7469871, 9, 1460, 97333820, 82.365, 8.865},
		{"fbhadoop", 120420.75, 20, 700, 2000000, 88.5, 2.5},
		{"irn", 275433, 4, 1000, 2813333, 67.412, 10.714},
		{"websearch", 1711250, 12, 73077, 23333333, 54.167, 30},
	} {
		s := sizes(t, c.name)
		names = append(names, c.name)
		if len(s.Points) != c.points || math.Abs(s.Mean()-c.mean) > 1e-3 {
			t.Errorf("%s: %d points, mean %f, want %d, %f", c.name, len(s.Points), s.Mean(), c.points, c.mean)
		}
		if m, p := s.Quantile(0.5), s.Quantile(0.99); abs(m-c.median) > 1 || abs(p-c.p99) > 1 {
			t.Errorf("%s: median %d, 99 %% %d, want %d, %d", c.name, m, p, c.median, c.p99)
		}
		if below, over := 100*distribution(s, 100e3), 100-100*distribution(s, 1e6); math.Abs(below-c.upTo100K) > 0.001 ||
			math.Abs(over-c.over1MB) > 0.001 {
			t.Errorf("%s: %.3f %% up to 100 KB, %.3f %% over 1 MB, want %.3f, %.3f", c.name, below, over, c.upTo100K, c.over1MB)
		}
	}
	if !slices.Equal(names, BuiltinNames()) {
		t.Errorf("tested %q, there are %q", names, BuiltinNames())
	}
	if _, err := BuiltinSizes("web-search"); err == nil || !strings.Contains(err.Error(), `did you mean "websearch"?`) {
		t.Errorf("web-search: %v", err)
	}
}

func abs(n int64) int64 { return max(n, -n) }

// distribution returns the fraction of flows up to x bytes, found by search and not by the formula under test.
func distribution(s *Sizes, x float64) float64 {
	p := s.Points
	switch {
	case x < p[0].Bytes:
		return 0
	case x >= p[len(p)-1].Bytes:
		return 1
	}
	i := 0
	for p[i+1].Bytes <= x {
		i++
	}
	return (p[i].Percent + (x-p[i].Bytes)/(p[i+1].Bytes-p[i].Bytes)*(p[i+1].Percent-p[i].Percent)) / 100
}

func TestSizesProblems(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "# nothing\n", "mine.txt: a size distribution has at least one line of bytes and percent"},
		{"everything", "0 0\n10 x\n5KB 7\n20\n30 -1\n40 101\n1e13 50\nNaN 50\n", `
mine.txt:2:4: "x" is not a percentage
  2 | 10 x
    |    ^
mine.txt:3:1: "5KB" is not a size in bytes
  3 | 5KB 7
    | ^^^
mine.txt:4:1: a line is a size in bytes and the percentage of flows up to it, such as 10000 15
  4 | 20
    | ^^
mine.txt:5:4: -1 is outside 0..100
  5 | 30 -1
    |    ^^
mine.txt:6:4: 101 is outside 0..100
  6 | 40 101
    |    ^^^
mine.txt:7:1: 1e13 is outside 0..1e+12
  7 | 1e13 50
    | ^^^^
mine.txt:8:1: "NaN" is not a size in bytes
  8 | NaN 50
    | ^^^`},
		{"order", "0 0\n20 50\n10 60\n30 40\n30 40\n40 100\n", `
mine.txt:3:1: sizes must ascend: 10 comes after 20
  3 | 10 60
    | ^^
mine.txt:4:4: percentages must ascend: 40 comes after 60
  4 | 30 40
    |    ^^
mine.txt:5:1: this point stands here twice
  5 | 30 40
    | ^^^^^`},
		{"fractions", "0 0\n10 0.5\n20 1\n", `
mine.txt:3:4: the last percentage is 1 and must be 100: are these fractions? Multiply them by 100
  3 | 20 1
    |    ^`},
		{"short", "0 0\n10 99\n", `
mine.txt:2:4: the last percentage is 99 and must be 100
  2 | 10 99
    |    ^^`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, got := parseSizes(c.text)
			if got != strings.TrimPrefix(c.want, "\n") || s != nil {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestSteps checks that a first point above 0 %, or a point directly above another, gives that fraction of the flows
// one size.
func TestSteps(t *testing.T) {
	s, problems := parseSizes("100 25\n200 50\n200 75\n400 100 # the end\n")
	if problems != "" {
		t.Fatal(problems)
	}
	for _, c := range []struct {
		u    float64
		want int64
	}{{0, 100}, {0.25, 100}, {0.375, 150}, {0.5, 200}, {0.6, 200}, {0.75, 200}, {0.875, 300}, {0.9999, 399}} {
		if got := s.Quantile(c.u); got != c.want {
			t.Errorf("quantile %g is %d, want %d", c.u, got, c.want)
		}
	}
	if want := 0.25*100 + 0.25*150 + 0.25*200 + 0.25*300; s.Mean() != want {
		t.Errorf("mean %g, want %g", s.Mean(), want)
	}
	if one := Fixed(64000); one.Quantile(0) != 64000 || one.Quantile(0.999) != 64000 || one.Mean() != 64000 {
		t.Errorf("a fixed size is %d to %d, mean %g", one.Quantile(0), one.Quantile(0.999), one.Mean())
	}
}

// TestQuantileProperties checks that quantiles ascend and lie within the points, and that the fraction of the flows up
// to a quantile is the requested one, except for the rounding to whole bytes.
func TestQuantileProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "points")
		var b strings.Builder
		bytes, percent := 0, 0
		for i := range n {
			bytes += rapid.IntRange(1, 1e6).Draw(t, "bytes")
			percent += rapid.IntRange(1, 100/n).Draw(t, "percent")
			if i == n-1 {
				percent = 100
			}
			fmt.Fprintf(&b, "%d %d\n", bytes, percent)
		}
		s, problems := parseSizes(b.String())
		if problems != "" {
			t.Fatal(problems)
		}
		u := rapid.Float64Range(0, 1-1e-9).Draw(t, "u")
		v := rapid.Float64Range(u, 1-1e-9).Draw(t, "v")
		x, y := s.Quantile(u), s.Quantile(v)
		first, last := s.Points[0].Bytes, s.Points[n-1].Bytes
		if x > y || float64(x) < math.Floor(first) || float64(y) > last {
			t.Fatalf("quantiles %g and %g are %d and %d", u, v, x, y)
		}
		if got := distribution(s, float64(x)+1); got < u-1e-9 {
			t.Fatalf("%g of the flows are up to %d B, the quantile of %g", got, x, u)
		}
		if got := distribution(s, float64(x)-1e-6); u > s.Points[0].Percent/100 && got > u+1e-9 {
			t.Fatalf("%g of the flows are below %d B, the quantile of %g", got, x, u)
		}
	})
}

func FuzzParseSizes(f *testing.F) {
	for _, seed := range []string{
		"", "0 0\n10 100", "1 100", "# c\n 1e3\t50\r\n2e3 100 # x", "0 0\n0 100", "5 50\n5 100",
		"\xff", "1 2 3", "0x10 100", "1_0 100", "Inf 100", "3 1e2",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, problems := parseSizes(text)
		if (s == nil) == (problems == "") {
			t.Fatalf("distribution %v, problems %q", s, problems)
		}
		if s == nil {
			return
		}
		low, high := s.Points[0].Bytes, s.Points[len(s.Points)-1].Bytes
		if !(s.Mean() >= low-1e-3 && s.Mean() <= high*(1+1e-12)) {
			t.Errorf("mean %g outside %g..%g", s.Mean(), low, high)
		}
		before := int64(1)
		for _, u := range []float64{0, 0.1, 0.5, 0.9, 1 - 1.0/(1<<53)} {
			if q := s.Quantile(u); q < before || float64(q) > max(1, high) {
				t.Errorf("quantile %g is %d after %d", u, q, before)
			} else {
				before = q
			}
		}
	})
}
