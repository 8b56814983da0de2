package units_test

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// As many as there are: input, value; refused where it is -1.
func TestParse(t *testing.T) {
	rate := func(s string) (int64, error) { v, err := units.ParseRate(s); return int64(v), err }
	size := func(s string) (int64, error) { v, err := units.ParseBytes(s); return int64(v), err }
	span := func(s string) (int64, error) { v, err := units.ParseTime(s); return int64(v), err }
	for _, c := range []struct {
		what  string
		parse func(string) (int64, error)
		in    string
		want  int64
	}{
		{"rate", rate, "40Gbps", 40e9},
		{"rate", rate, "40G", 40e9},
		{"rate", rate, "40 Gb/s", 40e9},
		{"rate", rate, "\t100mbps\n", 100e6},
		{"rate", rate, "2.5Gb/s", 2_500_000_000},
		{"rate", rate, "100Kbps", 100_000},
		{"rate", rate, "100Kb/s", 100_000},
		{"rate", rate, "1Tbit", 1e12},
		{"rate", rate, "9600", 9600},
		{"rate", rate, "1e9", 1e9},
		{"rate", rate, "1e-3G", 1e6},
		{"rate", rate, "40_000Mbps", 40e9},
		{"rate", rate, "0", 0},
		{"rate", rate, "40GB", -1}, // bytes are no rate
		{"rate", rate, "40Gibps", -1},
		{"rate", rate, "-1Gbps", -1},
		{"rate", rate, "Gbps", -1},
		{"rate", rate, "", -1},
		{"rate", rate, "40 40Gbps", -1},
		{"rate", rate, "1e300Gbps", -1},
		{"rate", rate, "10000000Tbps", -1},
		{"rate", rate, "NaN", -1},
		{"rate", rate, "Inf", -1},
		{"rate", rate, "0x10", -1},
		{"size", size, "320KB", 320_000},
		{"size", size, "64KiB", 65_536},
		{"size", size, "22MB", 22_000_000},
		{"size", size, "1.5GB", 1_500_000_000},
		{"size", size, "1GiB", 1 << 30},
		{"size", size, "2 MiB", 2 << 20},
		{"size", size, "1048", 1048},
		{"size", size, "1048B", 1048},
		{"size", size, "22e6", 22_000_000},
		{"size", size, "22E6B", 22_000_000},
		{"size", size, "22e", -1},
		{"size", size, "1 KBps", -1},
		{"size", size, "1TiB", -1},
		{"size", size, "-5KB", -1},
		{"size", size, "1.2.3KB", -1},
		{"size", size, "10ZB", -1},
		{"time", span, "5us", 5_000_000},
		{"time", span, "5µs", 5_000_000},
		{"time", span, "5μs", 5_000_000}, // Greek mu, not the micro sign
		{"time", span, "1.5ms", 1_500_000_000},
		{"time", span, "209.6ns", 209_600},
		{"time", span, "2s", 2_000_000_000_000},
		{"time", span, "7ps", 7},
		{"time", span, "0", 0},
		{"time", span, "5 us", 5_000_000},
		{"time", span, "1e-3s", 1_000_000_000},
		{"time", span, "5", -1}, // of what?
		{"time", span, "-5", -1},
		{"time", span, "5e3", -1},
		{"time", span, "5min", -1},
		{"time", span, "5Kus", -1},
		{"time", span, "-5us", -1},
		{"time", span, "never", -1},
		{"time", span, "1e20s", -1},
	} {
		got, err := c.parse(c.in)
		switch {
		case c.want < 0 && err == nil:
			t.Errorf("%s %q was read as %d", c.what, c.in, got)
		case c.want >= 0 && (err != nil || got != c.want):
			t.Errorf("%s %q is %d, want %d (%v)", c.what, c.in, got, c.want, err)
		case err != nil && err.Error() == "":
			t.Errorf("%s %q is refused without a word", c.what, c.in)
		}
	}
}

func TestStrings(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{units.Rate(40e9).String(), "40Gbps"},
		{units.Rate(2_500_000_000).String(), "2.5Gbps"},
		{units.Rate(1e12).String(), "1Tbps"},
		{units.Rate(999_999).String(), "999.999Kbps"},
		{units.Rate(7).String(), "7bps"},
		{units.Bytes(320_000).String(), "320KB"},
		{units.Bytes(329_600).String(), "329.6KB"},
		{units.Bytes(22e6).String(), "22MB"},
		{units.Bytes(1_500_000_000_000).String(), "1.5TB"},
		{units.Bytes(999).String(), "999B"},
		{units.Bytes(0).String(), "0B"},
		{units.Bytes(-1500).String(), "-1.5KB"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if j, err := json.Marshal(units.Rate(40e9)); err != nil || string(j) != "40000000000" {
		t.Errorf("%s, %v", j, err)
	}
	if g := units.Rate(2_500_000_000).Gigabits(); g != 2.5 {
		t.Errorf("%v Gbps", g)
	}
}

// What is printed can be read again: exactly, as far as a double reaches.
func TestPrintedIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<50).Draw(t, "n")
		if r, err := units.ParseRate(units.Rate(n).String()); err != nil || r != units.Rate(n) {
			t.Fatalf("%v is read as %d (%v)", units.Rate(n), r, err)
		}
		if b, err := units.ParseBytes(units.Bytes(n).String()); err != nil || b != units.Bytes(n) {
			t.Fatalf("%v is read as %d (%v)", units.Bytes(n), b, err)
		}
		if s, err := units.ParseTime(vtime.Time(n).String()); err != nil || s != vtime.Time(n) {
			t.Fatalf("%v is read as %d (%v)", vtime.Time(n), s, err)
		}
	})
}

func TestTimeFor(t *testing.T) {
	for _, c := range []struct {
		rate  units.Rate
		bytes int64
		want  vtime.Time
	}{
		{40 * units.Gbps, 1, 200},
		{40 * units.Gbps, 1048, 209_600},
		{100 * units.Gbps, 1048, 83_840},
		{400 * units.Gbps, 1, 20},
		{3 * units.Gbps, 1, 2667}, // 2666.7 rounded up
		{1, 10_000_000_000, vtime.Never},
		{1, 1_000_000, 8_000_000 * vtime.Second},
		{units.Gbps, 0, 0},
		{1, math.MaxInt64, vtime.Never},
		{math.MaxInt64, math.MaxInt64, 8 * vtime.Second},
		{math.MaxInt64, 1, 1},
	} {
		if got := c.rate.TimeFor(c.bytes); got != c.want {
			t.Errorf("%d B at %v take %v, want %v", c.bytes, c.rate, got, c.want)
		}
	}
	for _, f := range []func(){func() { units.Rate(0).TimeFor(1) }, func() { units.Gbps.TimeFor(-1) }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		}()
	}
}

// TimeFor is exact and rounds up, BytesIn is exact and rounds down; so they undo each other.
func TestTimeForAndBytesIn(t *testing.T) {
	bits := big.NewInt(8_000_000_000_000)
	rapid.Check(t, func(t *rapid.T) {
		rate := units.Rate(rapid.Int64Range(1, int64(10*units.Tbps)).Draw(t, "rate"))
		n := rapid.Int64Range(0, 1<<40).Draw(t, "n")
		want := new(big.Int).Mul(big.NewInt(n), bits)
		want.Add(want, big.NewInt(int64(rate)-1))
		want.Div(want, big.NewInt(int64(rate)))
		got := rate.TimeFor(n)
		if !want.IsInt64() {
			if got != vtime.Never {
				t.Fatalf("%d B at %d b/s take %v, want never", n, rate, got)
			}
			return
		}
		if int64(got) != want.Int64() {
			t.Fatalf("%d B at %d b/s take %d ps, want %v", n, rate, got, want)
		}
		if rate <= 8*units.Tbps { // a picosecond is no more than a byte's time
			if back := rate.BytesIn(got); back != n {
				t.Fatalf("%d B at %d b/s take %v, in which %d pass", n, rate, got, back)
			}
		}
		span := vtime.Time(rapid.Int64Range(0, int64(1000*vtime.Second)).Draw(t, "span"))
		passes := new(big.Int).Mul(big.NewInt(int64(rate)), big.NewInt(int64(span)))
		passes.Div(passes, bits)
		if got := rate.BytesIn(span); got != passes.Int64() {
			t.Fatalf("%d B pass at %d b/s in %v, want %v", got, rate, span, passes)
		}
	})
}

// FuzzParse checks that the parser never panics, accepts no negative or infinite value, and accepts its own output.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"40Gbps", "320KB", "5us", "1e9", "1e-3 G", "1_000", "-1", ".", "e", "1e", "5µs", "+",
		"0x1p3", "9e18",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := units.ParseRate(s); err == nil && v < 0 {
			t.Errorf("rate %q is %d", s, v)
		}
		if v, err := units.ParseBytes(s); err == nil {
			again, err := units.ParseBytes(v.String())
			if v < 0 || err != nil || math.Abs(float64(again-v)) > 1e-14*float64(v) {
				t.Errorf("size %q is %d, printed %v, read as %d (%v)", s, v, v, again, err)
			}
		}
		if v, err := units.ParseTime(s); err == nil {
			again, err := units.ParseTime(v.String())
			if v < 0 || err != nil || math.Abs(float64(again-v)) > 1e-14*float64(v) {
				t.Errorf("time %q is %d, printed %v, read as %d (%v)", s, v, v, again, err)
			}
		}
	})
}
