package runner

import (
	"github.com/pausenet/pausenet/vtime"
)

// tally adds up the flows with a tag for panels. It goes through those that are under way, not through all that there are:
// of a workload that is a few hundred of a hundred thousand.
type tally struct {
	waiting starting
	active  []int32 // flows that had started and not ended when last looked at
	ended   int64   // payload bytes of the others that have started
}

// look brings a tally up to now.
func (t *tally) look(now vtime.Time, flows flowSet) {
	for i, ok := t.waiting.before(now + 1); ok; i, ok = t.waiting.before(now + 1) {
		t.active = append(t.active, int32(i))
	}
	kept := t.active[:0]
	for _, i := range t.active {
		if flows.finished(int(i)) == vtime.Never {
			kept = append(kept, i)
		} else {
			t.ended += flows.delivered(int(i))
		}
	}
	t.active = kept
}

// delivered is the payload bytes that have arrived.
func (t *tally) delivered(flows flowSet) int64 {
	sum := t.ended
	for _, i := range t.active {
		sum += flows.delivered(int(i))
	}
	return sum
}

// rate is the sum of the controllers' rates, in bits per second.
func (t *tally) rate(flows flowSet) float64 {
	sum := 0.0
	for _, i := range t.active {
		sum += flows.rate(int(i))
	}
	return sum
}
