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

// drainLimit reads for how long a run may drain.
func (d *decoder) drainLimit(m *yamlspec.Mapping) {
	limit := m.Get("drain_limit")
	if d.s.Drain {
		d.s.DrainLimit = min(max(leastDrain, drainDurations*d.s.Duration), maxDuration)
	}
	if !limit.Time(&d.s.DrainLimit) {
		return
	}
	switch {
	case !d.s.Drain:
		m.Key("drain_limit").Errorf("drain_limit has no effect without drain: true")
	case d.s.DrainLimit == 0:
		limit.Errorf("drain_limit must be positive; leave drain out to have the run end with its duration")
	case d.s.DrainLimit > maxDuration:
		limit.Errorf("drain_limit %v is above %v", d.s.DrainLimit, maxDuration)
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

// expectUnused reads what the run may have no use for.
func (d *decoder) expectUnused(v *yamlspec.Value) {
	for _, item := range v.Items() {
		var name string
		if item.Choice(&name, unusedNames...) {
			d.s.ExpectUnused = append(d.s.ExpectUnused, name)
		}
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

// UnusedNames are what a run may have no use for without the verdict's saying so, as expect_unused takes them.
func UnusedNames() []string { return unusedNames }
