package workload

import (
	"embed"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// Bounds of a distribution.
const (
	maxPoints = 1 << 16
	maxSize   = 1e12 // bytes
)

//go:embed sizes/*.txt
var builtin embed.FS

// Point holds the percentage of the flows that have at most so many bytes.
type Point struct {
	Bytes   float64 `json:"bytes"`
	Percent float64 `json:"percent"`
}

// Sizes represents a distribution of flow sizes: an empirical one, given by points and uniform between them, as in the
// simulators of HPCC, pFabric and others. A first point above 0 % is the size of that fraction of the flows.
// ParseSizes, BuiltinSizes and Fixed return one; it is read-only.
type Sizes struct {
	Name   string
	Points []Point
	mean   float64
}

// BuiltinNames returns the names of the built-in distributions, in ascending order.
func BuiltinNames() []string {
	entries, err := builtin.ReadDir("sizes")
	if err != nil {
		panic(err) // They are compiled in.
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".txt"))
	}
	slices.Sort(names)
	return names
}

// BuiltinSizes returns a built-in distribution.
func BuiltinSizes(name string) (*Sizes, error) {
	data, err := builtin.ReadFile("sizes/" + name + ".txt")
	if err != nil {
		return nil, fmt.Errorf("no built-in size distribution %q%s", name, spelling.Suggest(name, BuiltinNames()))
	}
	report := new(yamlspec.Report)
	s := ParseSizes(report, name, name+".txt", data)
	return s, report.Err()
}

// Fixed returns the distribution of flows that all have the same size.
func Fixed(bytes int64) *Sizes {
	s := &Sizes{Points: []Point{{float64(bytes), 100}}}
	s.mean = float64(bytes)
	return s
}

// ParseSizes reads a distribution's file: lines of bytes and percent, both ascending, the last at 100 %. Mistakes go to
// the report, and the result is nil then.
func ParseSizes(report *yamlspec.Report, name, filename string, data []byte) *Sizes {
	before := report.Count()
	s := &Sizes{Name: name}
	var longest, end *yamlspec.Value // the last size and percentage
	for row := range report.Rows(filename, data, "") {
		if len(row.Fields) != 2 {
			row.Line.Errorf("a line is a size in bytes and the percentage of flows up to it, such as 10000 15")
			continue
		}
		if len(s.Points) == maxPoints {
			row.Line.Errorf("more than %d points", maxPoints)
			break
		}
		var p Point
		if !number(row.Fields[0], &p.Bytes, "a size in bytes", maxSize) ||
			!number(row.Fields[1], &p.Percent, "a percentage", 100) {
			continue
		}
		if n := len(s.Points); n > 0 {
			switch last := s.Points[n-1]; {
			case p.Bytes < last.Bytes:
				row.Fields[0].Errorf("sizes must ascend: %v comes after %v", p.Bytes, last.Bytes)
			case p.Percent < last.Percent:
				row.Fields[1].Errorf("percentages must ascend: %v comes after %v", p.Percent, last.Percent)
			case p == last:
				row.Line.Errorf("this point stands here twice")
			}
		}
		s.Points, longest, end = append(s.Points, p), row.Fields[0], row.Fields[1]
	}
	if report.Count() != before {
		return nil
	}
	if end == nil {
		report.Problem(filename, "a size distribution has at least one line of bytes and percent")
		return nil
	}
	p := s.Points[len(s.Points)-1]
	if p.Bytes < 1 {
		longest.Errorf("no flow is longer than %v B: a flow has at least 1", p.Bytes)
		return nil
	}
	if p.Percent != 100 {
		hint := ""
		if p.Percent == 1 {
			hint = ": are these fractions? Multiply them by 100"
		}
		end.Errorf("the last percentage is %v and must be 100%s", p.Percent, hint)
		return nil
	}
	s.mean = s.average()
	return s
}

// number decodes a plain number from 0 to most.
func number(v *yamlspec.Value, into *float64, what string, most float64) bool {
	x, err := strconv.ParseFloat(v.Raw(), 64)
	if err != nil || math.IsNaN(x) {
		v.Errorf("%q is not %s", v.Raw(), what)
		return false
	}
	if x < 0 || x > most {
		v.Errorf("%s is outside 0..%g", v.Raw(), most)
		return false
	}
	*into = x
	return true
}

// Mean returns the mean in bytes of the continuous distribution. That of whole bytes, rounded down, is up to a byte
// less.
func (s *Sizes) Mean() float64 { return s.mean }

func (s *Sizes) average() float64 {
	sum := float64(s.Points[0].Bytes * s.Points[0].Percent)
	for i := 1; i < len(s.Points); i++ {
		a, b := s.Points[i-1], s.Points[i]
		sum += float64((a.Bytes + b.Bytes) / 2 * (b.Percent - a.Percent))
	}
	return sum / 100
}

// Quantile returns the size that a fraction u, in [0, 1), of the flows does not exceed, by inverse transform: whole
// bytes, at least one.
func (s *Sizes) Quantile(u float64) int64 {
	percent := float64(u * 100)
	i := sort.Search(len(s.Points)-1, func(i int) bool { return s.Points[i].Percent >= percent })
	b := s.Points[i]
	x := b.Bytes
	if i > 0 {
		a := s.Points[i-1]
		x = min(x, a.Bytes+(b.Bytes-a.Bytes)*(percent-a.Percent)/(b.Percent-a.Percent))
	}
	return max(1, int64(x))
}
