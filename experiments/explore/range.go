package explore

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/units"
)

// Range holds the values that one quantity may take: a list, or all numbers between two ends.
type Range struct {
	Values []string // a list; nil: the numbers of Low..High

	Low, High float64      // in the base unit
	Log       bool         // draw the logarithm uniformly
	Whole     bool         // whole numbers only
	scale     []units.Unit // of the ends; empty: plain numbers
}

// ReadRange reads a single value, a list of values, "A..B" or "A..B log". It reports mistakes, and returns nil for an
// absent value.
func ReadRange(v *yamlspec.Value) *Range {
	if v == nil {
		return nil
	}
	r := new(Range)
	if v.IsSequence() {
		for _, item := range v.Items() {
			r.Values = append(r.Values, item.Flow())
		}
		if len(r.Values) == 0 {
			v.Errorf("the list is empty: name the values, or a range such as 10KB..1MB")
		}
		return r
	}
	low, high, isRange := strings.Cut(v.Raw(), "..")
	if !isRange || !v.IsScalar() {
		r.Values = []string{v.Flow()}
		return r
	}
	high, r.Log = strings.CutSuffix(strings.TrimSpace(high), " log")
	a, scaleA, okA := quantity(low)
	b, scaleB, okB := quantity(high)
	if okA && okB && a == 0 && len(scaleA) == 0 {
		scaleA = scaleB // 0..5us
	}
	switch {
	case !okA || !okB || len(scaleA) != len(scaleB) || len(scaleA) > 0 && scaleA[0] != scaleB[0]:
		v.Errorf("%q is not a range: write both ends with a unit of one kind, such as 10KB..1MB or 1..20, "+
			"and \" log\" after it for uniform logarithms", v.Raw())
	case a > b:
		v.Errorf("range %q runs backwards: swap its ends", v.Raw())
	case r.Log && a <= 0:
		v.Errorf("range %q: a logarithmic range must start above 0", v.Raw())
	}
	r.Low, r.High, r.scale = a, b, scaleA
	r.Whole = len(scaleA) == 0 && !strings.ContainsAny(v.Raw(), "/%eE") && !strings.Contains(low, ".") &&
		!strings.Contains(high, ".")
	return r
}

// quantity returns a number in its base unit, and its units; none for a plain number.
func quantity(text string) (value float64, scale []units.Unit, ok bool) {
	text = strings.TrimSpace(text)
	if f, err := yamlspec.ParseFloat(text); err == nil {
		return f, nil, true
	}
	if t, err := units.ParseTime(text); err == nil {
		return float64(t) / 1e3, units.Times, true
	}
	if b, err := units.ParseBytes(text); err == nil {
		return float64(b), units.Sizes, true
	}
	if b, err := units.ParseRate(text); err == nil {
		return float64(b), units.Rates, true
	}
	return 0, nil, false
}

// Draw returns a random value.
func (r *Range) Draw(random *Random) string { return r.at(random.Float()) }

// at returns the value at a fraction u of the range.
func (r *Range) at(u float64) string {
	if r.Values != nil {
		return r.Values[min(int(u*float64(len(r.Values))), len(r.Values)-1)]
	}
	if r.Whole {
		return strconv.Itoa(int(r.Low) + min(int(u*(r.High-r.Low+1)), int(r.High-r.Low)))
	}
	if r.Log {
		return r.text(r.Low*math.Pow(r.High/r.Low, u), 2)
	}
	return r.text(r.Low+u*(r.High-r.Low), 2)
}

// text returns a number, rounded to this many significant digits and limited to the range, with its unit.
func (r *Range) text(x float64, digits int) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64)
	rounded = min(max(rounded, r.Low), r.High)
	if len(r.scale) == 0 {
		return strconv.FormatFloat(rounded, 'g', -1, 64)
	}
	unit := units.Largest(r.scale, rounded)
	n, _ := strconv.ParseFloat(strconv.FormatFloat(rounded/unit.Size, 'g', 12, 64), 64)
	return strconv.FormatFloat(n, 'f', -1, 64) + unit.Name
}

// Change returns a value near another one or, with probability 1/4 and for any list, an independent one.
func (r *Range) Change(from string, random *Random) string {
	u, step := random.Float(), random.Float()
	if r.Values != nil || u < 0.25 {
		return r.at(step)
	}
	return r.at(min(max(r.position(from)+0.3*(2*step-1)*(u-0.25), 0), 1))
}

// position returns the fraction of the range at a value; 0 for a value that is no number.
func (r *Range) position(value string) float64 {
	x, _, _ := quantity(value)
	switch {
	case r.High <= r.Low:
		return 0
	case r.Log:
		return math.Log(max(x, r.Low)/r.Low) / math.Log(r.High/r.Low)
	case r.Whole:
		return (x - r.Low + 0.5) / (r.High - r.Low + 1)
	}
	return (x - r.Low) / (r.High - r.Low)
}

// Neighbours returns the values a tenth of the range below and above a value, or before and after it in a list. It
// leaves out equal values.
func (r *Range) Neighbours(value string) (near []string) {
	candidates := []string{}
	if i := slices.Index(r.Values, value); r.Values != nil {
		candidates = append(candidates, r.Values[max(i-1, 0)], r.Values[min(i+1, len(r.Values)-1)])
	} else {
		for _, step := range []float64{-0.1, 0.1} {
			candidates = append(candidates, r.at(min(max(r.position(value)+step, 0), 1)))
		}
	}
	for _, c := range candidates {
		if c != value && !slices.Contains(near, c) {
			near = append(near, c)
		}
	}
	return near
}

// Simpler returns simpler values to try instead of one, the simplest first: the low end of the range, and the value
// with one digit. In a list, these are the values before it.
func (r *Range) Simpler(value string) (simpler []string) {
	if r.Values != nil {
		return before(r.Values, value)
	}
	x, _, _ := quantity(value)
	for _, text := range []string{r.at(0), r.text(x, 1)} {
		if r.Whole {
			text = strings.TrimSuffix(text, ".0")
		}
		if text == value {
			break
		}
		simpler = append(simpler, text)
	}
	return simpler
}

// before returns the values that precede one in a list; none if the list does not have it.
func before(values []string, value string) []string {
	return values[:max(slices.Index(values, value), 0)]
}
