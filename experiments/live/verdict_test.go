//go:build linux

package live

import (
	"strings"
	"testing"
	"time"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/orchestrator/wallclock"
	"github.com/pausenet/pausenet/vtime"
)

// TestJudgeClock checks the messages about how the machine kept up with the clock. The shortest round trip is 4 us, 800
// us of wall-clock time.
func TestJudgeClock(t *testing.T) {
	t.Parallel()
	const base, us, ms = 4 * vtime.Microsecond, time.Microsecond, time.Millisecond
	for name, c := range map[string]struct {
		late, median    vtime.Time // events, p99 and p50
		p50, p99, worst time.Duration
		stalled         time.Duration
		lost            int64
		fitting         float64
		want            measure.Status
		says            []string // one of each reason
	}{
		"in time": {late: base, p50: 40 * us, p99: 800 * us, worst: 200 * ms, want: measure.Pass},
		"events late": {
			late: base + 1, want: measure.Warn,
			says: []string{"1 % of the events were later than a round trip between two hosts of a switch (4us): " +
				"times that programs measured are off by that (try --slowdown 250)"},
		},
		"frames late": {
			p50: 40 * us, p99: 900 * us, worst: 30 * ms, want: measure.Warn,
			says: []string{"processed more than 900us late, 4.5us of virtual time, and one by 30ms"},
		},
		"both late": {
			late: 2 * base, p99: 2 * ms, worst: 2 * ms, want: measure.Warn,
			says: []string{"try --slowdown 500"},
		},
		"half late": {
			p50: 900 * us, p99: 2 * ms, worst: 9 * ms, want: measure.Fail,
			says: []string{"half of the 1000 frames that programs sent were processed more than 900us late, 4.5us of virtual time"},
		},
		"too low": {
			late: base + 1, p50: 900 * us, p99: 2 * ms, worst: 9 * ms, fitting: 2000, want: measure.Fail,
			says: []string{"try --slowdown 2000"},
		},
		"events later": {
			late: 9 * base, p50: 900 * us, p99: 900 * us, worst: 9 * ms, want: measure.Fail,
			says: []string{"try --slowdown 2000"},
		},
		"half of events": {
			late: 9 * base, median: 2 * base, p50: 40 * us, p99: 900 * us, worst: 9 * ms, want: measure.Fail,
			says: []string{"half of the events were more than 8us late, but a round trip between two hosts of a switch takes " +
				"4us: programs measured this machine, not the fabric (try --slowdown 2000)"},
		},
		"one frame in all": {
			p50: 40 * us, p99: 40 * us, worst: 201 * ms, want: measure.Fail,
			says: []string{"a frame that a program sent was processed 201ms late"},
		},
		"stood still": {
			late: 9 * base, stalled: 5 * time.Second, want: measure.Fail,
			says: []string{"virtual time stood still for 5s (try --slowdown 500)"},
		},
		"a stall": {
			p99: 2 * time.Second, worst: 2 * time.Second, stalled: 1800 * ms, want: measure.Fail,
			says: []string{"virtual time stood still for 1.8s", "was processed 2s late"},
		},
		"a flood": {lost: 7, want: measure.Warn, says: []string{"programs sent 7 frames faster"}},
	} {
		v := Verdict{Status: measure.Pass}
		v.judgeClock(wallclock.Status{
			Slowdown: 200, Wall: 10 * time.Second, LatenessP50: c.median, LatenessP99: c.late, Stalled: c.stalled, Lost: c.lost,
			Frames: 1000, FrameP50: c.p50, FrameP99: c.p99, FrameMax: c.worst,
		}, base, c.fitting)
		if v.Status != c.want || len(v.Reasons) != len(c.says) {
			t.Errorf("%s: %s, %q", name, v.Status, v.Reasons)
			continue
		}
		for i, says := range c.says {
			if !strings.Contains(v.Reasons[i], says) {
				t.Errorf("%s: %q does not say %q", name, v.Reasons[i], says)
			}
		}
	}
}
