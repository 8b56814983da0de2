package report

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/units"
)

// Unit holds the base unit of a plot's values. Values of the named units are printed with SI prefixes (a KB is 1000
// bytes, as everywhere in pausenet). Any other string is shown as it is, with values such as 1, 10k, 2M.
type Unit string

// Units.
const (
	Bytes         Unit = "B"
	BitsPerSecond Unit = "bps"
	Nanoseconds   Unit = "ns"
	Percent       Unit = "%"
	None          Unit = ""
)

// measure holds a unit with a prefix, so that all numbers of one axis or table row are comparable at a glance.
type measure struct {
	div    float64
	suffix string // printed after each number
	name   string // printed once per axis, or after a space
}

var prefixes = map[Unit][]measure{
	Bytes:         measuresOf(units.Sizes),
	BitsPerSecond: measuresOf(units.Rates),
	Nanoseconds:   measuresOf(units.Times),
	Percent:       {{1, "%", ""}},
}

func measuresOf(all []units.Unit) []measure {
	return lists.Map(all, func(u units.Unit) measure { return measure{u.Size, "", u.Name} })
}

// measure chooses the prefix for numbers up to top.
func (u Unit) measure(top float64) measure {
	choice, ok := prefixes[u]
	if !ok {
		n := string(u)
		choice = []measure{{1, "", n}, {1e3, "k", n}, {1e6, "M", n}, {1e9, "G", n}}
	}
	best := choice[0]
	for _, m := range choice[1:] {
		if top >= m.div {
			best = m
		}
	}
	return best
}

// measureOf chooses the prefix for numbers that are read beside each other. One that is printed after each number is
// for large numbers: 58 beside 69k is 58, not 0.058k.
func (u Unit) measureOf(values []float64) measure {
	top, least := 0.0, math.Inf(1)
	for _, v := range values {
		if v > 0 {
			top, least = max(top, v), min(least, v)
		}
	}
	m := u.measure(top)
	if m.suffix != "" && least < m.div/10 {
		return u.measure(least)
	}
	return m
}

// number prints v with three significant digits and no needless zeros, without the unit's name: "5.98", "20k".
func (m measure) number(v float64) string {
	s := trimZeros(digits(v / m.div))
	if s == "0" && m.name != "" {
		return s // "0 frames/s", not "0k frames/s"
	}
	return s + m.suffix
}

// text prints v with its unit: "5.98 MB".
func (m measure) text(v float64) string { return m.named(m.number(v)) }

// between prints a range: "0–5.98".
func (m measure) between(lo, hi float64) string {
	a, b := m.number(lo), m.number(hi)
	switch {
	case a == b:
		return a
	case lo < 0:
		return a + " to " + b
	default:
		return a + "–" + b
	}
}

// named puts the unit's name after s, if it has one.
func (m measure) named(s string) string {
	if m.name == "" {
		return s
	}
	return s + "\u00a0" + m.name // a number and its unit stay on one line
}

// plusMinus prints a mean and the half-width of its interval: three significant digits of the mean, four where the
// interval is small, and of the interval two at most. What did not vary has no interval.
func (m measure) plusMinus(mean, half float64) string {
	if half == 0 {
		return m.cell(mean, m.div == 1 && mean == math.Trunc(mean))
	}
	if half/m.div >= 100 {
		return m.cell(mean, m.div == 1) + " ± " + m.cell(half, m.div == 1)
	}
	digitsOf := func(v float64, n int) int { return max(0, n-1-int(math.Floor(math.Log10(math.Abs(v/m.div))))) }
	decimals := digitsOf(half, 2)
	if mean != 0 {
		decimals = min(decimals, digitsOf(mean, 3))
		if half/m.div < math.Pow10(-decimals)/2 {
			decimals = digitsOf(mean, 4)
		}
	}
	print := func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) + m.suffix }
	if least := math.Pow10(-decimals); half/m.div < least/2 {
		return print(mean/m.div) + " ± <" + print(least)
	}
	return print(mean/m.div) + " ± " + print(half/m.div)
}

// quantity matches a number and its unit as scenarios and messages write them, unless the preceding character makes it
// a part of a name or a setting.
var quantity = regexp.MustCompile(`(^|[\s(\[,;:/±<–])(\d+(?:\.\d+)?) ?(ps|ns|us|ms|s|B|KB|MB|GB|TB|[KMGT]?bps)\b`)

// withUnits returns text with its quantities in the page's style: "25Gbps, 1us" becomes "25 Gbps, 1 us", which are not
// broken across lines.
func withUnits(text string) string { return quantity.ReplaceAllString(text, "$1$2\u00a0$3") }

// rounded does the work of withUnits, but rounds quantities with decimals to three significant digits: "266.616KB"
// becomes "267 KB".
func rounded(text string) string {
	return withUnits(quantity.ReplaceAllStringFunc(text, func(s string) string {
		m := quantity.FindStringSubmatch(s)
		v, err := strconv.ParseFloat(m[2], 64)
		if whole, decimals, found := strings.Cut(m[2], "."); err != nil || !found ||
			len(strings.TrimLeft(whole+decimals, "0")) <= 3 {
			return s
		}
		return m[1] + trimZeros(digits(v)) + m[3]
	}))
}

// titled returns a column's heading: its name and the unit of its numbers.
func (m measure) titled(s string) string {
	if m.name == "" || strings.Contains(s, m.name) {
		return s
	}
	return s + ", " + m.name
}

// digits prints v with three significant digits, without an exponent for any value that a run can measure.
func digits(v float64) string {
	a := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return "–"
	case a == 0:
		return "0"
	case a >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.9995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a >= 0.0005:
		return strconv.FormatFloat(v, 'f', 3, 64)
	default:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") || strings.ContainsAny(s, "eE") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// count prints n with its digits in groups of three.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 && s[i-1] != '-' {
			b.WriteRune('\u202f') // narrow, and no line break
		}
		b.WriteRune(c)
	}
	return b.String()
}
