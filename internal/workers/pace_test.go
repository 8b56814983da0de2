package workers

import (
	"math/rand/v2"
	"testing"
	"time"
)

// machine simulates a machine: the elapsed time and processor time of phases of 100 events with one worker and with
// several.
type machine struct {
	one, several func() (took, used time.Duration)

	now, used, byOne, bySeveral time.Duration
}

// drive has a pace choose for so many phases. It says which part of them several drove, and how much longer all took
// than the quicker way alone would have.
func (m *machine) drive(p *pace, phases int) (part, longer float64) {
	from := m.now
	m.byOne, m.bySeveral = 0, 0
	for range phases {
		took, used := m.one()
		more, usedMore := m.several()
		m.byOne, m.bySeveral = m.byOne+took, m.bySeveral+more
		if p.several {
			part++
			took, used = more, usedMore
		}
		started := m.now
		m.now, m.used = m.now+took, m.used+used
		p.measure(started, m.now, 100)
	}
	return part / float64(phases), float64(m.now-from) / float64(min(m.byOne, m.bySeveral))
}

// quiet returns a machine with no other work. used sets whether it reports processor time.
func quiet(one, several time.Duration, used bool) *machine {
	always := func(d, of time.Duration) func() (took, used time.Duration) {
		if !used {
			of = 0
		}
		return func() (time.Duration, time.Duration) { return d, of }
	}
	return &machine{one: always(one, one), several: always(several, 2*several)}
}

// on is a pace for the machine.
func (m *machine) pace() *pace {
	p := newPace(func() time.Duration { return m.used })
	return &p
}

const us = time.Microsecond

// TestPace: whichever is quicker does nearly all of the work, also when that changes, and to find out costs little.
func TestPace(t *testing.T) {
	for _, used := range []bool{true, false} {
		m := &machine{}
		p := m.pace()
		for i, k := range []struct {
			one, several time.Duration
			most, least  float64
			longer       float64
		}{
			{20 * us, 11 * us, 1, 0.98, 1.02},
			{20 * us, 60 * us, 0.02, 0, 1.03},
			{20 * us, 20 * us, 1, 0, 1.001},
			{20 * us, 11 * us, 1, 0.9, 1.06},
			{40 * us, 22 * us, 1, 0.97, 1.02},
			{20 * us, 200 * us, 0.02, 0, 1.03},
		} {
			next := quiet(k.one, k.several, used)
			m.one, m.several = next.one, next.several
			part, longer := m.drive(p, 100_000)
			if part > k.most || part < k.least || longer > k.longer {
				t.Errorf("%d: %v by one and %v by several: several did %.3f, in all %.3f times as long as the quicker", i, k.one,
					k.several, part, longer)
			}
		}
	}
}

// TestPaceShort: of a run of a tenth of a second, too, the quicker way does most.
func TestPaceShort(t *testing.T) {
	for _, k := range []struct {
		phases       int
		one, several time.Duration
		longer       float64
	}{
		{5000, 20 * us, 11 * us, 1.05},
		{500, 200 * us, 110 * us, 1.05},
		{50, 2000 * us, 1100 * us, 1.07},
		{20, 20_000 * us, 11_000 * us, 1.05},
		{5000, 20 * us, 22 * us, 1.03},
	} {
		m := quiet(k.one, k.several, true)
		if part, longer := m.drive(m.pace(), k.phases); longer > k.longer {
			t.Errorf("%d phases, %v by one and %v by several: several did %.3f, in all %.3f times as long as the quicker",
				k.phases, k.one, k.several, part, longer)
		}
	}
}

// TestPaceBusy: where the system puts workers aside now and then for long, which several have to wait for, one does the
// most, and to find out costs little.
func TestPaceBusy(t *testing.T) {
	for seed := range uint64(20) {
		for _, k := range []struct{ one, several, aside time.Duration }{
			{200 * us, 110 * us, 3 * time.Millisecond},
			{200 * us, 180 * us, 12 * time.Millisecond},
			{200 * us, 105 * us, 12 * time.Millisecond},
			{7000 * us, 3700 * us, 12 * time.Millisecond},
		} {
			random := rand.New(rand.NewPCG(seed, 1))
			busy := func(quick time.Duration, workers int, turn time.Duration) func() (took, used time.Duration) {
				return func() (took, used time.Duration) {
					for range workers { // each is put aside after its turn
						of := quick
						for left := quick; left > 0; left -= turn {
							if random.Float64() < min(1, float64(left)/float64(turn)) {
								of += k.aside
							}
						}
						took = max(took, of)
					}
					return took, time.Duration(workers) * quick
				}
			}
			// The pool gets no more of the processors than one worker does: its workers' turns are half as long.
			m := &machine{one: busy(k.one, 1, 3*time.Millisecond), several: busy(k.several, 2, 1500*us)}
			if part, longer := m.drive(m.pace(), int(4*time.Second/k.one)); longer > 1.04 {
				t.Errorf("seed %d, %v: several did %.3f, in all %.3f times as long as the quicker; %v by one, %v by several", seed,
					k, part, longer, m.byOne, m.bySeveral)
			}
		}
	}
}

func TestWorkers(t *testing.T) {
	c := New(4)
	defer c.Close()
	for _, k := range []struct{ events, most, want int }{{20, 5, 1}, {1000, 990, 1}, {160, 40, 1}, {160, 30, 4}, {1000, 10, 4}} {
		if n := c.Useful(k.events, k.most); n != k.want || c.pace.timing != (n > 1) {
			t.Errorf("%+v: %d workers, to be measured: %v", k, n, c.pace.timing)
		}
		c.PhaseDone(int64(k.events))
	}
	if c.pace.now.phases != 2 {
		t.Errorf("%d phases were measured", c.pace.now.phases)
	}
	c.pace.several = false
	if n := c.Useful(1000, 10); n != 1 || !c.pace.timing {
		t.Errorf("%d workers where one is quicker", n)
	}
}
