package measure

import (
	"math"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/interval"
	"github.com/pausenet/pausenet/units"
)

// Over returns the estimate of a metric of all flows over runs, without those that cannot be trusted.
func (m *Metric) Over(runs []*Summary) interval.Estimate {
	return EstimateOf(runs, func(s *Summary) float64 { return m.Of(s, &s.Flows) })
}

// EstimateOf returns the estimate of a figure over runs, without those that cannot be trusted or have none (NaN).
func EstimateOf(runs []*Summary, figure func(*Summary) float64) interval.Estimate {
	var values []float64
	for _, s := range runs {
		if s == nil || !s.Trusted() {
			continue
		}
		if v := figure(s); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return interval.Of(values)
}

// Column returns the metric's name with its base unit: "fct_mean_ns", "fct_mean_ns:victim".
func (m *Metric) Column() string {
	if len(m.Kind.units) == 0 {
		return m.Name
	}
	name, _, _ := strings.Cut(m.Name, ":")
	column := name + "_" + map[string]string{"ns": "ns", "bps": "bps", "B": "bytes"}[m.Kind.units[0].Name]
	if m.Tag != "" {
		column += ":" + m.Tag
	}
	return column
}

// Text returns a value, in the kind's base unit, with three significant digits and a unit, for people: "5.21 ms".
func (k Kind) Text(value float64) string {
	m := Metric{Kind: k}
	return m.Text(interval.Of([]float64{value}))
}

// Text returns an estimate of the metric with three significant digits, four where an interval is small, and a unit,
// for people: "5.21 ms", "5.21 ± 0.04 ms", "38173", "-" of none.
func (m *Metric) Text(e interval.Estimate) string {
	if e.N == 0 {
		return "-"
	}
	unit, factor := "", 1.0
	if len(m.Kind.units) > 0 {
		u := units.Largest(m.Kind.units, e.Mean)
		unit, factor = " "+u.Name, u.Size
	}
	mean, half := e.Mean/factor, e.Half/factor
	if mean == 0 && !(half > 0) {
		return "0"
	}
	decimals := 0
	if mean != math.Trunc(mean) {
		decimals = max(0, 2-int(math.Floor(math.Log10(math.Abs(mean)))))
	} else if unit != "" && mean != 0 {
		decimals = max(0, 2-int(math.Floor(math.Log10(math.Abs(mean))+1e-9)))
	}
	if half > 0 && half < math.Pow10(-decimals)/2 {
		decimals++
	}
	text := strconv.FormatFloat(mean, 'f', decimals, 64)
	switch least := math.Pow10(-decimals); {
	case half == 0 || math.IsNaN(half):
	case half < least/2:
		text += " ± <" + strconv.FormatFloat(least, 'f', decimals, 64)
	default:
		text += " ± " + strconv.FormatFloat(half, 'f', decimals, 64)
	}
	return text + unit
}
