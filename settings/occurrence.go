package settings

import (
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/vtime"
)

// Occurrence sets when a fault occurs, once or repeatedly, and when it ends.
type Occurrence struct {
	At  vtime.Time
	For vtime.Time // duration; 0: permanent
	// Every sets the time between occurrences, of which there are Times; 0: the fault occurs once. Times 0: it occurs
	// until the end of the run's duration.
	Every vtime.Time
	Times int
}

// MostFaults limits the number of faults and of occurrences of one fault.
const MostFaults = 1 << 16

// FaultTimes returns the keys of a fault's occurrence, bound to o.
func FaultTimes(o *Occurrence) keys.Table {
	return keys.Table{
		keys.Time("at", &o.At).Need().AtMost("3600s").Means("virtual time of the fault"),
		keys.Time("for", &o.For).Usually("permanent").
			NotZero("a fault must last some time; remove for to make it permanent").Optional().Means(
			"time until the fault is undone, which restores the earlier values"),
		keys.Time("every", &o.Every).AtLeast("1us").Usually("once").Optional().Means(
			"time from one occurrence to the next"),
		keys.Integer("times", &o.Times).Between("1", "65536").Usually("until the run's `duration`").Optional().Means(
			"number of occurrences, with `every`"),
	}
}
