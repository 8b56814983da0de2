package animation

import (
	"math"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/units"
)

var counts = []units.Unit{{Name: "", Size: 1}, {Name: "k", Size: 1e3}, {Name: "M", Size: 1e6}}

// unitsOf returns the units of a series' values.
func unitsOf(q scenario.Quantity) []units.Unit {
	switch q {
	case scenario.QueueBytes, scenario.IngressBytes:
		return units.Sizes
	case scenario.Throughput, scenario.SendingRate:
		return units.Rates
	case scenario.PauseRate, scenario.CongestedMarks, scenario.UndeterminedMarks:
		return []units.Unit{{Name: "/s", Size: 1}, {Name: "k/s", Size: 1e3}, {Name: "M/s", Size: 1e6}}
	case scenario.PortState:
	}
	return counts
}

// number prints a value with three significant digits at most and its unit.
func number(v float64, all []units.Unit) string {
	if v == 0 {
		return "0"
	}
	unit := units.Largest(all, v)
	v /= unit.Size
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
	if all[0].Name == "" || all[0].Name == "/s" {
		return s + unit.Name
	}
	return s + " " + unit.Name
}

// factor returns a number with two significant digits.
func factor(v float64) string {
	power := math.Pow(10, math.Floor(math.Log10(v))-1)
	return strconv.FormatFloat(math.Round(v/power)*power, 'f', max(0, -int(math.Log10(power))), 64)
}

// clock returns a moment, with as many digits as tell neighbouring frames apart, so that its letters stand still.
func clock(t, step float64) string {
	unit := units.Times[2]
	if t >= 1e10 {
		unit = units.Times[3]
	}
	digits := 0
	for size := unit.Size; size > step && digits < 6; size /= 10 {
		digits++
	}
	return strconv.FormatFloat(t/unit.Size, 'f', digits, 64) + " " + unit.Name
}

// roundStep returns a round number that divides a length into about so many parts.
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
