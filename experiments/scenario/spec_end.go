package scenario

import (
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/vtime"
)

// The default drain_limit is leastDrain, or drainDurations times the duration if that is longer.
const (
	leastDrain     = vtime.Second
	drainDurations = 10
)

// drainLimit sets the default of drain_limit, and rejects the key in a scenario without drain.
func (d *decoder) drainLimit(m *yamlspec.Mapping) {
	switch limit := m.Key("drain_limit"); {
	case limit != nil && !d.s.Drain:
		limit.Errorf("drain_limit has no effect without drain: true")
	case limit == nil && d.s.Drain:
		d.s.DrainLimit = min(max(leastDrain, drainDurations*d.s.Duration), maxDuration)
	}
}

// DrainTime returns how long a run may drain; 0 if it does not.
func (s *Scenario) DrainTime() vtime.Time {
	if !s.Drain {
		return 0
	}
	return s.DrainLimit
}

// endless rejects drain in a scenario with a flow that never ends. Call it after the flows are read.
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
		m.Key("drain").Errorf("drain waits until every flow has ended, but flow %d (%s, %s to %s) never ends: give it a "+
			"size or remove drain",
			i, f.Tag, plan.Nodes[f.Source].Name, plan.Nodes[f.Destination].Name)
		return
	}
}

// Names in expect_unused: features about which the verdict does not warn if a run never uses them.
const (
	UnusedPFC        = "pfc"
	UnusedECN        = "ecn"
	UnusedCNM        = "cnm"
	UnusedController = "controller"
	UnusedFlows      = "flows"
	UnusedFaults     = "faults"
)

var unusedNames = []string{UnusedPFC, UnusedECN, UnusedCNM, UnusedController, UnusedFlows, UnusedFaults}
