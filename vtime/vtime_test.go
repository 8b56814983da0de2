package vtime_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/vtime"
)

func TestString(t *testing.T) {
	for _, c := range []struct {
		t    vtime.Time
		want string
	}{
		{0, "0s"},
		{1, "1ps"},
		{999, "999ps"},
		{1000, "1ns"},
		{209_600, "209.6ns"},
		{vtime.Microsecond - 1, "999.999ns"},
		{120 * vtime.Microsecond, "120us"},
		{20 * vtime.Millisecond, "20ms"},
		{1500 * vtime.Millisecond, "1.5s"},
		{106 * 86400 * vtime.Second, "9158400s"},
		{-209_600, "-209.6ns"},
		{-vtime.Second, "-1s"},
		{vtime.Never, "never"},
	} {
		if got := c.t.String(); got != c.want {
			t.Errorf("%d ps is %q, want %q", int64(c.t), got, c.want)
		}
	}
}

func TestWallText(t *testing.T) {
	if a, b := vtime.WallText(2930*time.Nanosecond), vtime.WallText(62*time.Second); a != "2.93us" || b != "1m2s" {
		t.Errorf("%q, %q", a, b)
	}
}

func TestConversions(t *testing.T) {
	const x = 1_234_567_890 // ps
	if got := vtime.Time(x); got.Nanoseconds() != 1_234_567 || got.Duration() != 1_234_567*time.Nanosecond ||
		got.Microseconds() != 1234.56789 || got.Seconds() != 0.00123456789 {
		t.Errorf("%d ns, %v, %v us, %v s", got.Nanoseconds(), got.Duration(), got.Microseconds(), got.Seconds())
	}
	for _, c := range []struct{ got, want vtime.Time }{
		{vtime.FromDuration(1500 * time.Microsecond), 1500 * vtime.Microsecond},
		{vtime.FromDuration(-time.Nanosecond), -1000},
	} {
		if c.got != c.want {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
}

// A conversion loses less than a nanosecond of the times of any run: up to a day.
func TestRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := vtime.Time(rapid.Int64Range(0, int64(86400*vtime.Second)).Draw(t, "t"))
		if got := vtime.FromDuration(x.Duration()); got > x || x-got >= vtime.Nanosecond {
			t.Fatalf("%v by time.Duration is %v", x, got)
		}
	})
}
