package settings

import (
	"github.com/pausenet/pausenet/internal/schema"
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
func FaultTimes(o *Occurrence) Table {
	return Table{
		{
			Parameter: schema.Parameter{
				Name: "at", Kind: schema.Time, Default: "required", Max: "3600s",
				Doc: "virtual time of the fault",
			},
			value: span(&o.At),
		},
		{
			Parameter: schema.Parameter{
				Name: "for", Kind: schema.Time, Default: "permanent",
				Doc: "time until the fault is undone, which restores the earlier values",
			},
			Zero: "a fault that is undone at once is none; leave it out for one that stays", Unset: true, value: span(&o.For),
		},
		{
			Parameter: schema.Parameter{
				Name: "every", Kind: schema.Time, Default: "once", Min: "1us",
				Doc: "time from one occurrence to the next",
			},
			Unset: true, value: span(&o.Every),
		},
		{
			Parameter: schema.Parameter{
				Name: "times", Kind: schema.Integer, Default: "until the run's `duration`", Min: "1", Max: "65536",
				Doc: "number of occurrences, with `every`",
			},
			Unset: true, value: integer(&o.Times),
		},
	}
}
