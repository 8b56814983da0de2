package animation

import (
	"math"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/scenario"
)

// prefix is a unit with its name as it follows a number, and the least number that is written with it.
type prefix struct {
	least float64
	name  string
}

var (
	bytePrefixes  = []prefix{{1e9, " GB"}, {1e6, " MB"}, {1e3, " KB"}, {1, " B"}}
	ratePrefixes  = []prefix{{1e12, " Tb/s"}, {1e9, " Gb/s"}, {1e6, " Mb/s"}, {1e3, " kb/s"}, {1, " b/s"}}
	timePrefixes  = []prefix{{1e9, " s"}, {1e6, " ms"}, {1e3, " µs"}, {1, " ns"}}
	countPrefixes = []prefix{{1e6, "M"}, {1e3, "k"}, {1, ""}}
)

// prefixesOf are those of a series' values.
func prefixesOf(q scenario.Quantity) []prefix {
	switch q {
	case scenario.QueueBytes, scenario.IngressBytes:
		return bytePrefixes
	case scenario.Throughput, scenario.SendingRate:
		return ratePrefixes
	case scenario.PauseRate, scenario.CongestedMarks, scenario.UndeterminedMarks:
		return []prefix{{1e6, "M/s"}, {1e3, "k/s"}, {1, "/s"}}
	case scenario.PortState:
	}
	return countPrefixes
}

// number is a value with three significant digits at most and its unit.
func number(v float64, prefixes []prefix) string {
	if v == 0 {
		return "0"
	}
	p := prefixes[len(prefixes)-1]
	for _, each := range prefixes {
		if math.Abs(v) >= each.least {
			p = each
			break
		}
	}
	v /= p.least
	digits := 2
	switch {
	case math.Abs(v) >= 100:
		digits = 0
	case math.Abs(v) >= 10:
		digits = 1
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s + p.name
}

// factor is a number with two significant digits.
func factor(v float64) string {
	power := math.Pow(10, math.Floor(math.Log10(v))-1)
	return strconv.FormatFloat(math.Round(v/power)*power, 'f', max(0, -int(math.Log10(power))), 64)
}

// clock is a moment, with as many digits as tell neighbouring frames apart, so that its letters stand still.
func clock(t, step float64) string {
	unit := timePrefixes[1]
	if t >= 1e10 {
		unit = timePrefixes[0]
	}
	digits := 0
	for size := unit.least; size > step && digits < 6; size /= 10 {
		digits++
	}
	return strconv.FormatFloat(t/unit.least, 'f', digits, 64) + unit.name
}

// roundStep is a round number that divides a length into about so many parts.
func roundStep(length float64, parts int) float64 {
	raw := length / float64(parts)
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, n := range []float64{1, 2, 5} {
		if n*power >= raw {
			return n * power
		}
	}
	return 10 * power
}
