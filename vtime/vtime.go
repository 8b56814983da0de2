// Package vtime defines the unit of the virtual clock.
//
// Virtual time counts picoseconds since the start of a run. A byte takes 200 ps at 40 Gbps, 80 ps at 100 Gbps and 20 ps
// at 400 Gbps, so serialisation times are exact integers at every Ethernet rate. A nanosecond clock would round
// 209.6 ns up to 210 ns for each frame and lose 0.2 % of the line rate. An int64 holds 106 days.
package vtime

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Time represents a point in virtual time, or a span of it, in picoseconds.
type Time int64

// Spans.
const (
	Picosecond  Time = 1
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// Units lists the units in which output gives times, the smallest first.
var Units = []struct {
	Name string
	Span Time
}{{"ps", Picosecond}, {"ns", Nanosecond}, {"us", Microsecond}, {"ms", Millisecond}, {"s", Second}}

// Never is later than the time of any event.
const Never Time = math.MaxInt64

// Nanoseconds returns t in whole nanoseconds, rounded down.
func (t Time) Nanoseconds() int64 { return int64(t / Nanosecond) }

// RoundNanoseconds returns t in nanoseconds, the unit of result files, rounded to the nearest.
func (t Time) RoundNanoseconds() int64 { return int64((t + Nanosecond/2) / Nanosecond) }

// Microseconds returns t in microseconds.
func (t Time) Microseconds() float64 { return float64(t) / float64(Microsecond) }

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / float64(Second) }

// Duration returns t as a wall-clock duration, rounded down to a nanosecond.
func (t Time) Duration() time.Duration { return time.Duration(t.Nanoseconds()) }

// FromDuration returns d in virtual time.
func FromDuration(d time.Duration) Time { return Time(d.Nanoseconds()) * Nanosecond }

// WallText formats a wall-clock duration with the units of output, because time.Duration's own text has µs.
func WallText(d time.Duration) string { return strings.Replace(d.String(), "µs", "us", 1) }

// String formats t in the largest unit that leaves a whole part, such as "209.6ns" or "20ms".
func (t Time) String() string {
	switch t {
	case Never:
		return "never"
	case 0:
		return "0s"
	}
	sign := ""
	v := t
	if v < 0 {
		sign, v = "-", -v
	}
	unit := Units[0]
	for _, u := range Units {
		if v >= u.Span {
			unit = u
		}
	}
	return fmt.Sprintf("%s%s%s", sign, strconv.FormatFloat(float64(v)/float64(unit.Span), 'f', -1, 64), unit.Name)
}
