// Package units parses and prints the quantities users write: rates ("40Gbps"), sizes ("320KB", "64KiB") and
// spans of virtual time ("5us").
package units

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/vtime"
)

// Unit represents a unit in which output gives a quantity.
type Unit struct {
	Name string
	Size float64 // in the base unit
}

// The units of output, the base unit first. The terminal, files and pages use only these spellings. Input may use
// others. experiments/pages/view/page/format.js has a copy.
var (
	Rates = []Unit{{"bps", 1}, {"Kbps", 1e3}, {"Mbps", 1e6}, {"Gbps", 1e9}, {"Tbps", 1e12}}
	Sizes = []Unit{{"B", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}
	Times = unitsOfTime()
)

// unitsOfTime returns the units of virtual time from the nanosecond, the base unit of results, upwards.
func unitsOfTime() []Unit {
	var all []Unit
	for _, u := range vtime.Units {
		if u.Span >= vtime.Nanosecond {
			all = append(all, Unit{u.Name, float64(u.Span / vtime.Nanosecond)})
		}
	}
	return all
}

// Largest returns the largest unit that leaves v, which is in the base unit, a whole part, or the base unit if none
// does.
func Largest(all []Unit, v float64) Unit {
	largest := all[0]
	for _, u := range all[1:] {
		if math.Abs(v) >= u.Size {
			largest = u
		}
	}
	return largest
}

// Rate represents a data rate in bits per second.
type Rate int64

// Rates.
const (
	BitPerSecond Rate = 1
	Kbps              = 1000 * BitPerSecond
	Mbps              = 1000 * Kbps
	Gbps              = 1000 * Mbps
	Tbps              = 1000 * Gbps
)

// TimeFor returns the time that n bytes take at rate r, rounded up to a picosecond; vtime.Never if it does not fit. It
// panics unless r > 0 and n >= 0.
func (r Rate) TimeFor(n int64) vtime.Time {
	if r <= 0 || n < 0 {
		panic("units: TimeFor needs a positive rate and a size that is not negative")
	}
	// n*8e12/r in 128 bits: 10 GB at 1 b/s does not fit in 64.
	hi, lo := bits.Mul64(uint64(n), 8_000_000_000_000)
	if hi >= uint64(r) {
		return vtime.Never
	}
	q, rem := bits.Div64(hi, lo, uint64(r))
	if rem != 0 {
		q++
	}
	if q > math.MaxInt64 {
		return vtime.Never
	}
	return vtime.Time(q)
}

// BytesIn returns the number of whole bytes that pass at rate r within t.
func (r Rate) BytesIn(t vtime.Time) int64 {
	hi, lo := bits.Mul64(uint64(r), uint64(t))
	q, _ := bits.Div64(hi, lo, 8_000_000_000_000)
	return int64(q)
}

// Gigabits returns r in Gbps.
func (r Rate) Gigabits() float64 { return float64(r) / float64(Gbps) }

// String formats r as in "40Gbps".
func (r Rate) String() string { return exactly(int64(r), Rates) }

// MarshalJSON encodes r as a number of bits per second.
func (r Rate) MarshalJSON() ([]byte, error) { return json.Marshal(int64(r)) }

// Bytes represents a size in bytes.
type Bytes int64

// Sizes.
const (
	KB Bytes = 1000
	MB       = 1000 * KB
	GB       = 1000 * MB
	TB       = 1000 * GB
)

// String formats b in decimal units, as in "320KB".
func (b Bytes) String() string { return exactly(int64(b), Sizes) }

// exactly formats v with all its digits, in the unit that Largest chooses.
func exactly(v int64, all []Unit) string {
	unit := Largest(all, float64(v))
	return strconv.FormatFloat(float64(v)/unit.Size, 'f', -1, 64) + unit.Name
}

// ParseRate parses a rate such as "40Gbps", "40G", "100Mbps" or "2.5Gb/s". A number without a unit is in bits per
// second.
func ParseRate(s string) (Rate, error) {
	if strings.HasSuffix(strings.TrimSpace(s), "B/s") {
		return 0, fmt.Errorf("rate %q is in bytes: write it in bits per second, such as 40Gbps", s)
	}
	v, err := parse(s, "rate", "40Gbps", map[string]float64{
		"": 1, "b/s": 1, "bps": 1, "bit": 1,
		"k": 1e3, "kbps": 1e3, "kb/s": 1e3, "kbit": 1e3,
		"m": 1e6, "mbps": 1e6, "mb/s": 1e6, "mbit": 1e6,
		"g": 1e9, "gbps": 1e9, "gb/s": 1e9, "gbit": 1e9,
		"t": 1e12, "tbps": 1e12, "tb/s": 1e12, "tbit": 1e12,
	})
	return Rate(math.Round(v)), err
}

// ParseBytes parses a size such as "320KB" (1000 B), "64KiB" (1024 B), "22MB" or "1.5GB". A number without a unit is in
// bytes.
func ParseBytes(s string) (Bytes, error) {
	v, err := parse(s, "size", "320KB", map[string]float64{
		"": 1, "b": 1,
		"k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "t": 1e12, "tb": 1e12,
		"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30,
	})
	return Bytes(math.Round(v)), err
}

// ParseTime parses a span of virtual time such as "5us", "1.5ms", "209.6ns" or "2s". It refuses a number without a
// unit, except 0.
func ParseTime(s string) (vtime.Time, error) {
	t := strings.TrimSpace(s)
	if f, err := strconv.ParseFloat(t, 64); err == nil && f != 0 {
		return 0, fmt.Errorf("time %q has no unit: write %sus or %sms", s, t, t)
	}
	v, err := parse(s, "time", "5us", map[string]float64{
		"": 1, "ps": 1, "ns": 1e3, "us": 1e6, "µs": 1e6, "μs": 1e6, "ms": 1e9, "s": 1e12,
	})
	return vtime.Time(math.Round(v)), err
}

// inBits matches a size in bits, such as 1Mb. It does not match 1mb, which constants of controllers use for bytes.
var inBits = regexp.MustCompile(`[KMGT]b$`)

func parse(s, what, example string, suffixes map[string]float64) (float64, error) {
	t := strings.TrimSpace(s)
	end := strings.IndexFunc(t, func(r rune) bool {
		return (r < '0' || r > '9') && r != '.' && r != '-' && r != '+' && r != '_'
	})
	// An exponent ("22e6") belongs to the number when digits follow it.
	if end > 0 && (t[end] == 'e' || t[end] == 'E') && end+1 < len(t) {
		rest := t[end+1:]
		n := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '-' && r != '+' })
		if n != 0 {
			if n < 0 {
				end = -1
			} else {
				end += 1 + n
			}
		}
	}
	number, suffix := t, ""
	if end >= 0 {
		number, suffix = t[:end], strings.ToLower(strings.TrimSpace(t[end:]))
	}
	if what == "size" && end >= 0 && inBits.MatchString(t) {
		return 0, fmt.Errorf("%q: b is for bits, and a size is in bytes: write %sB", s, t[:len(t)-1])
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(number, "_", ""), 64)
	factor, known := suffixes[suffix]
	if err != nil || !known {
		return 0, fmt.Errorf("%q is not a %s: write one like %s", s, what, example)
	}
	v *= factor
	if math.IsNaN(v) || math.Abs(v) > 9e18 {
		return 0, fmt.Errorf("%s %q is too large", what, s)
	}
	if v < 0 {
		return 0, fmt.Errorf("%s %q is negative", what, s)
	}
	return v, nil
}
