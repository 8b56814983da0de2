package deadlock

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/topologies"
)

// DefaultPriority holds the lossless priority of a topology without a scenario: that of hosts' data by default.
const DefaultPriority = 3

// ControlPriority holds the default priority of hosts' ACKs and CNPs. Remedies do not change it.
const ControlPriority = 6

// ErrLossy reports that nothing can be paused.
var ErrLossy = errors.New("no priority is lossless, so nothing can deadlock: set switch.pfc.priorities")

// AnyTraffic returns the class of traffic from any host to any other, in some priorities.
func AnyTraffic(plan *topologies.Plan, priorities ...uint8) []Class {
	return []Class{{Priorities: priorities, Pairs: AllPairs(plan)}}
}

// Lossless returns the lossless priorities of a scenario as returned by scenario.Scenario.Under, in order.
func Lossless(s *scenario.Scenario) (priorities []uint8, err error) {
	for p := range uint8(8) {
		if s.Switch.Lossless()>>p&1 != 0 {
			priorities = append(priorities, p)
		}
	}
	if priorities == nil {
		err = ErrLossy
	}
	return priorities, err
}

// OwnTraffic returns the classes of a scenario's flows and their ACKs: one for each lossless priority with any. A flow
// with via may use any path here.
func OwnTraffic(s *scenario.Scenario) ([]Class, error) {
	priorities, err := Lossless(s)
	if err != nil {
		return nil, err
	}
	plan := s.Topology
	var trips [8][][2]int
	seen := map[[3]int]bool{}
	add := func(priority uint8, from, to int) {
		if key := [3]int{int(priority), from, to}; !seen[key] {
			seen[key] = true
			trips[priority] = append(trips[priority], [2]int{from, to})
		}
	}
	for i := range s.Flows {
		f := &s.Flows[i]
		from, to := plan.Interface(f.Source, f.Pair.From), plan.Interface(f.Destination, f.Pair.To)
		add(s.PriorityOf(f), from, to)
		if s.Host.ACKsWithData {
			add(s.PriorityOf(f), to, from)
		} else {
			add(s.Host.ControlPriority, to, from)
		}
	}
	volumes := volumesOf(s)
	var classes []Class
	for _, p := range priorities {
		if len(trips[p]) > 0 {
			c := Class{Priorities: []uint8{p}, Pairs: PairsOf(plan, trips[p]), Trips: trips[p]}
			if volumes != nil {
				c.volume = &volumes[p]
			}
			classes = append(classes, c)
		}
	}
	return classes, nil
}

// SettingsOf returns the settings of a scenario's file that a demonstration keeps.
func SettingsOf(source []byte, sets []string) (of Settings, err error) {
	var all, kept yaml.MapSlice
	if err := yaml.Unmarshal(source, &all); err != nil {
		return of, err
	}
	for _, item := range all {
		if item.Key == "switch" || item.Key == "host" {
			kept = append(kept, item)
		}
	}
	if len(kept) > 0 {
		if of.YAML, err = yaml.Marshal(kept); err != nil {
			return of, err
		}
	}
	for _, set := range sets {
		if strings.HasPrefix(set, "switch.") || strings.HasPrefix(set, "host.") {
			of.Sets = append(of.Sets, set)
		}
	}
	return of, nil
}
