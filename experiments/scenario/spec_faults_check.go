package scenario

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// checkOverlap reports a fault that occurs while another of its kind is active at the same position and ends later.
func (d *decoder) checkOverlap(v *yamlspec.Value, f *Fault) {
	for i := range d.s.Faults {
		g := &d.s.Faults[i]
		if g.Kind != f.Kind || !shareAny(f.NICs, g.NICs) && !d.shareLinks(f.Ports, g.Ports) {
			continue
		}
		if d.within(f, g) || d.within(g, f) {
			name := cmp.Or(g.Name, fmt.Sprintf("number %d", i))
			v.Errorf("fault %s, also %s, is still active at the same place: end it earlier, or start this one later", name,
				f.Kind)
			return
		}
	}
}

// within reports whether f occurs while g is active, or between two occurrences of g.
func (d *decoder) within(f, g *Fault) bool {
	if g.For == 0 {
		return false
	}
	return f.At < g.last(d.s.Duration)+g.For && f.last(d.s.Duration) >= g.At
}

// last returns the time of the fault's last occurrence in a run of this duration.
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

// repairs sets a retransmission timeout if frames can be lost by faults, watchdogs or lossy queues, or if go-back-N
// refuses reordered packets. Without one, a lost last packet is never retransmitted.
func (d *decoder) repairs(host *yamlspec.Value, balancing *topologies.Balancing) {
	faults := slices.ContainsFunc(d.s.Faults, func(f Fault) bool { return settings.FaultOf(f.Kind).Loses })
	drops := func(s *switchagent.Settings) bool { return s.PFC.Watchdog.On() && !s.PFC.Watchdog.Forward }
	loses := faults || drops(&d.s.Switch)
	for i := range d.s.Variants {
		loses = loses || d.s.Variants[i].Switch != nil && drops(d.s.Variants[i].Switch)
	}
	refuses := func(b *topologies.Balancing, h *hostagent.Settings) bool {
		return h.Recovery == hostagent.GoBackN && (!b.KeepsPath() || h.Spreads())
	}
	// never rejects a timeout of 0 that the user has set.
	never := func(v *yamlspec.Value, loses bool) {
		if loses {
			v.Errorf("faults or a PFC watchdog can lose the last packets of a flow, which would then wait for ever: "+
				"set a timeout, or remove the key for the default of %v", lossyTimeout)
			return
		}
		v.Errorf("load balancing reorders packets, and go-back-N can refuse the last packets of a flow, which would then "+
			"wait for ever: set a timeout, remove the key for the default of %v, or set recovery: selective", lossyTimeout)
	}
	const key = "retransmit_timeout"
	overtake := refuses(balancing, &d.s.Host)
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
		refused := refuses(cmp.Or(v.Balancing, balancing), &hosts)
		if own.Has(key) || given {
			at := own
			if !own.Has(key) {
				at = host
			}
			loses := faults || drops(sw)
			if hosts.RetransmitTimeout == 0 && (loses || refused) && (at == own || !said) {
				never(at.At(key), loses)
				said = said || at == host
			}
			continue
		}
		hosts.RetransmitTimeout = d.s.Host.RetransmitTimeout
		if refused || d.s.dataOf(hosts.DataPriority)&^sw.Lossless() != 0 {
			hosts.RetransmitTimeout = max(hosts.RetransmitTimeout, lossyTimeout)
		}
		if v.Host != nil || hosts.RetransmitTimeout != d.s.Host.RetransmitTimeout {
			v.Host = &hosts
		}
	}
}
