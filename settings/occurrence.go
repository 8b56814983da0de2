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
		{Name: "at", Value: keys.Time(&o.At), Default: "required", Max: "3600s", Doc: "virtual time of the fault"},
		{
			Name: "for", Value: keys.Time(&o.For), Default: "permanent",
			Zero: "a fault that is undone at once is none; leave it out for one that stays", Unset: true,
			Doc: "time until the fault is undone, which restores the earlier values",
		},
		{
			Name: "every", Value: keys.Time(&o.Every), Default: "once", Min: "1us", Unset: true,
			Doc: "time from one occurrence to the next",
		},
		{
			Name: "times", Value: keys.Integer(&o.Times), Default: "until the run's `duration`", Min: "1", Max: "65536",
			Unset: true,
			Doc:   "number of occurrences, with `every`",
		},
	}
}
