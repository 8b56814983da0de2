package scenario

import (
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/vtime"
)

// Without drain_limit a run drains for leastDrain, or for drainDurations times its duration if that is longer.
const (
	leastDrain     = vtime.Second
	drainDurations = 10
)

// drainLimit works out for how long a run may drain.
func (d *decoder) drainLimit(m *yamlspec.Mapping) {
	switch limit := m.Key("drain_limit"); {
	case limit != nil && !d.s.Drain:
		limit.Errorf("drain_limit has no effect without drain: true")
	case limit == nil && d.s.Drain:
		d.s.DrainLimit = min(max(leastDrain, drainDurations*d.s.Duration), maxDuration)
	}
}

// DrainTime is for how long a run may drain, 0 if it does not.
func (s *Scenario) DrainTime() vtime.Time {
	if !s.Drain {
		return 0
	}
	return s.DrainLimit
}

// endless refuses to drain what never ends. It comes after the flows.
func (d *decoder) endless(m *yamlspec.Mapping) {
	if !d.s.Drain || d.live {
		return
	}
	for i := range d.s.Flows {
		f := &d.s.Flows[i]
		if own := f.own(); f.Size > 0 || own.Stop > 0 {
			continue
		}
		plan := d.s.Topology
		m.Key("drain").Errorf("drain waits until every flow has ended, and flow %d (%s, %s to %s) never does: give it a size, or leave drain out",
			i, f.Tag, plan.Nodes[f.Source].Name, plan.Nodes[f.Destination].Name)
		return
	}
}

// What a run may have no use for without the verdict's saying so, by the names that scenarios give in expect_unused.
const (
	UnusedPFC        = "pfc"
	UnusedECN        = "ecn"
	UnusedCNM        = "cnm"
	UnusedController = "controller"
	UnusedFlows      = "flows"
	UnusedFaults     = "faults"
)

var unusedNames = []string{UnusedPFC, UnusedECN, UnusedCNM, UnusedController, UnusedFlows, UnusedFaults}
