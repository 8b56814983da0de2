//go:build linux

package wallclock

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pausenet/pausenet/vtime"
)

// TestClock: whatever the slow-down is changed to and when, virtual time does not fall, is the same before and after a
// change, says how far away it is, and stands still for as long as it is stalled.
func TestClock(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	start := time.Unix(1000, 0)
	for range 200 {
		now, slowdown := start, 1+float64(random.IntN(1000))
		c := newClock(start, slowdown)
		for range 20 {
			now = now.Add(time.Duration(random.IntN(1e9)))
			before := c
			switch random.IntN(3) {
			case 0:
				slowdown *= 1 + random.Float64()
				c = c.slowed(now, slowdown)
				for range 10 {
					at := start.Add(time.Duration(random.Int64N(int64(now.Sub(start)) + 1)))
					if a, b := before.Virtual(at), c.Virtual(at); a != b {
						t.Fatalf("%v: %v before the change, %v after", at, a, b)
					}
				}
			case 1:
				d := time.Duration(random.IntN(1e9))
				if c = c.stalled(d); c.Virtual(now.Add(d)) != before.Virtual(now) {
					t.Fatalf("stalled for %v: %v, before %v", d, c.Virtual(now.Add(d)), before.Virtual(now))
				}
				now = now.Add(d)
			}
			if c.Slowdown() != slowdown {
				t.Fatalf("slow-down %v, want %v", c.Slowdown(), slowdown)
			}
			a := start.Add(time.Duration(random.Int64N(int64(2 * now.Sub(start)))))
			b := a.Add(time.Duration(random.IntN(1e9)))
			if c.Virtual(b) < c.Virtual(a) {
				t.Fatalf("%v at %v, %v later", c.Virtual(a), a, c.Virtual(b))
			}
			if d := c.until(c.Virtual(b), a) - b.Sub(a); d < -time.Microsecond || d > time.Microsecond {
				t.Fatalf("%v is %v away, off by %v", c.Virtual(b), b.Sub(a), d)
			}
		}
	}
	if d := newClock(start, 1e6).until(vtime.Never, start); d < 1<<61 {
		t.Errorf("what never comes is %v away", d)
	}
}

// TestPace: virtual time slows down once two spans in a row had too many late events. It does not for a single span,
// for a few events, or while all events are on time.
func TestPace(t *testing.T) {
	const late = vtime.Microsecond + 1
	for name, c := range map[string]struct {
		spans [][2]int // in time, late
		want  []int    // the spans after which it was raised
	}{
		"in time":      {[][2]int{{100, 0}, {1000, 10}, {99, 1}}, nil},
		"a hiccup":     {[][2]int{{100, 0}, {0, 100}, {100, 0}, {0, 100}}, nil},
		"too slow":     {[][2]int{{900, 100}, {900, 100}, {900, 100}, {900, 100}, {100, 0}}, []int{1, 3}},
		"little to do": {[][2]int{{0, 49}, {0, 49}, {0, 49}}, nil},
		"a pause":      {[][2]int{{0, 100}, {0, 0}, {0, 100}}, []int{2}},
	} {
		p := pace{tooLate: vtime.Microsecond}
		now := time.Unix(1000, 0)
		if raise, _ := p.poll(now); raise {
			t.Errorf("%s: raised before anything was seen", name)
		}
		var got []int
		for i, span := range c.spans {
			for range span[0] {
				p.saw(vtime.Microsecond)
			}
			for range span[1] {
				p.saw(late)
			}
			if raise, _ := p.poll(now.Add(paceSpan - 1)); raise {
				t.Errorf("%s: raised before the end of span %d", name, i)
			}
			now = now.Add(paceSpan)
			if raise, why := p.poll(now); raise {
				got = append(got, i)
				if why == "" {
					t.Errorf("%s: raised for no reason", name)
				}
			}
		}
		if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] || len(got) > 1 && got[1] != c.want[1] {
			t.Errorf("%s: raised after the spans %v, want %v", name, got, c.want)
		}
	}
	steps := []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
	for i, s := range steps[1:] {
		if got := raised(steps[i]); got != s {
			t.Errorf("%v is raised to %v, want %v", steps[i], got, s)
		}
	}
	if got := raised(mostSlowdown); got != mostSlowdown {
		t.Errorf("the most is raised to %v", got)
	}
}

// TestRoundSlowdown: a slow-down is rounded up by at most a third, and a round one is unchanged.
func TestRoundSlowdown(t *testing.T) {
	for least, want := range map[float64]float64{
		0: 1, 0.3: 1, 1: 1, 1.1: 1.2, 2.2: 2.5, 8.1: 10, 112: 120, 120: 120,
		870: 1000, 14_800: 15_000, 81e6: 100e6,
	} {
		if got := RoundSlowdown(least); got != want {
			t.Errorf("%v is rounded to %v, want %v", least, got, want)
		}
	}
	for n := 1.0; n < 1e7; n *= 1.01 {
		if got := RoundSlowdown(n); got < n || got > 1.34*n || RoundSlowdown(got) != got {
			t.Errorf("%v is rounded to %v", n, got)
		}
	}
}
