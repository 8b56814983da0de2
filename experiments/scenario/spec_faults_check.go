package scenario

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// checkOverlap reports a fault that would happen while another of its kind, which is undone afterwards, holds at the
// same place.
func (d *decoder) checkOverlap(v *yamlspec.Value, f *Fault) {
	for i := range d.s.Faults {
		g := &d.s.Faults[i]
		if g.Kind != f.Kind || !shareAny(f.NICs, g.NICs) && !d.shareLinks(f.Ports, g.Ports) {
			continue
		}
		if d.within(f, g) || d.within(g, f) {
			name := g.Name
			if name == "" {
				name = fmt.Sprintf("number %d", i)
			}
			v.Errorf("while fault %s, also %s, lasts at the same place: which of them holds?", name, f.Kind)
			return
		}
	}
}

// within says whether f happens while g, which is undone, lasts, or between two times that it does.
func (d *decoder) within(f, g *Fault) bool {
	if g.For == 0 {
		return false
	}
	return f.At < g.last(d.s.Duration)+g.For && f.last(d.s.Duration) >= g.At
}

// last is when the fault happens for the last time in a run of this duration.
func (f *Fault) last(duration vtime.Time) vtime.Time {
	switch {
	case f.Every == 0:
		return f.At
	case f.Times > 0:
		return f.At + vtime.Time(f.Times-1)*f.Every
	}
	return max(f.At, f.At+(duration-f.At)/f.Every*f.Every)
}

func shareAny[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(x T) bool { return slices.Contains(b, x) })
}

func (d *decoder) shareLinks(a, b []topologies.PortID) bool {
	link := func(ids []topologies.PortID) (links []int) {
		for _, id := range ids {
			links = append(links, d.s.Topology.Ports[id].Link)
		}
		return links
	}
	return shareAny(link(a), link(b))
}

// repairs sees to it that flows recover from what faults and watchdogs lose, from what lossy queues drop, and from what
// go-back-N refuses as packets overtake each other: a lost tail would never be missed.
func (d *decoder) repairs(host *yamlspec.Value) {
	faults := slices.ContainsFunc(d.s.Faults, func(f Fault) bool { return settings.FaultOf(f.Kind).Loses })
	drops := func(s *switchagent.Settings) bool { return s.PFC.Watchdog.On() && !s.PFC.Watchdog.Forward }
	loses := faults || drops(&d.s.Switch)
	for i := range d.s.Variants {
		loses = loses || d.s.Variants[i].Switch != nil && drops(d.s.Variants[i].Switch)
	}
	refuses := func(s *switchagent.Settings, h *hostagent.Settings) bool {
		return h.Recovery == hostagent.GoBackN && paths.Balancing(&s.Balancing, h).Moving
	}
	// never refuses flows that wait for ever, where a user has written so.
	never := func(v *yamlspec.Value, loses bool) {
		if loses {
			v.Errorf("with faults or a PFC watchdog that lose frames, a flow whose last packets are lost would wait for ever: give a time, or leave it out for %v", lossyTimeout)
			return
		}
		v.Errorf("where load balancing has packets overtake each other, a flow whose last ones go-back-N refuses would wait for ever: give a time, "+
			"leave it out for %v, or set recovery: selective", lossyTimeout)
	}
	const key = "retransmit_timeout"
	overtake := refuses(&d.s.Switch, &d.s.Host)
	given, said := host.Has(key), false
	switch {
	case !loses && !overtake:
	case !given:
		d.s.Host.RetransmitTimeout = max(d.s.Host.RetransmitTimeout, lossyTimeout)
	case d.s.Host.RetransmitTimeout == 0:
		never(host.At(key), loses)
		said = true
	}
	for i := range d.s.Variants {
		v, own := &d.s.Variants[i], d.ownHosts[i]
		sw, hosts := cmp.Or(v.Switch, &d.s.Switch), *cmp.Or(v.Host, &d.s.Host)
		if own.Has(key) || given {
			at := own
			if !own.Has(key) {
				at = host
			}
			loses := faults || drops(sw)
			if hosts.RetransmitTimeout == 0 && (loses || refuses(sw, &hosts)) && (at == own || !said) {
				never(at.At(key), loses)
				said = said || at == host
			}
			continue
		}
		hosts.RetransmitTimeout = d.s.Host.RetransmitTimeout
		if refuses(sw, &hosts) || d.s.dataOf(hosts.DataPriority)&^sw.Lossless() != 0 {
			hosts.RetransmitTimeout = max(hosts.RetransmitTimeout, lossyTimeout)
		}
		if v.Host != nil || hosts.RetransmitTimeout != d.s.Host.RetransmitTimeout {
			v.Host = &hosts
		}
	}
}
