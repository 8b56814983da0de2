package settings

import (
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/vtime"
)

// Occurrence says when a fault happens, once or again and again, and when it is undone.
type Occurrence struct {
	At  vtime.Time
	For vtime.Time // after which it is undone; 0: it is not
	// Every is the time from one occurrence to the next, of Times; 0: there is one. Times 0: until the run's duration.
	Every vtime.Time
	Times int
}

// MostFaults bounds how many faults there are, and how often one happens.
const MostFaults = 1 << 16

// FaultTimes is the table of when a fault happens, bound to o.
func FaultTimes(o *Occurrence) keys.Table {
	return keys.Table{
		keys.Time("at", &o.At).Need().AtMost("3600s").Means("virtual time of the fault"),
		keys.Time("for", &o.For).Usually("permanent").
			NotZero("a fault that is undone at once is none; leave it out for one that stays").Optional().Means(
			"time until the fault is undone, which restores the earlier values"),
		keys.Time("every", &o.Every).AtLeast("1us").Usually("once").Optional().Means(
			"time from one occurrence to the next"),
		keys.Integer("times", &o.Times).Between("1", "65536").Usually("until the run's `duration`").Optional().Means(
			"number of occurrences, with `every`"),
	}
}
