package scenario

import (
	"slices"

	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Fault describes a fault that occurs at a virtual time, once or repeatedly.
type Fault struct {
	Name string // empty: none
	settings.Occurrence

	Ports  []topologies.PortID // for a fault of links: one end of each link
	OneWay bool                // only frames that leave by Ports are affected
	NICs   []topologies.PortID // for a fault of hosts: all ports of each host, or the named ports

	settings.Effect
}

// reroutes reports whether any of the scenario's faults changes routes.
func (s *Scenario) reroutes() bool {
	for i := range s.Faults {
		if s.Faults[i].Kind == settings.FaultDown && s.Faults[i].Reroute != vtime.Never {
			return true
		}
	}
	return false
}

// ChangedCable holds a cable after a fault changed it, and the fault's index.
type ChangedCable struct {
	Cable switchagent.Cable
	Fault int
}

// ChangedCables returns c, the cable of a switch's port, as it is after each fault that changes its delay or rate. Each
// fault is applied alone.
func (s *Scenario) ChangedCables(id topologies.PortID, c switchagent.Cable) (cables []ChangedCable) {
	peer := s.Topology.Ports[id].Peer
	for i := range s.Faults {
		f := &s.Faults[i]
		if f.Kind != settings.FaultDelay && f.Kind != settings.FaultRate {
			continue
		}
		out := slices.Contains(f.Ports, id) || !f.OneWay && slices.Contains(f.Ports, peer)
		in := slices.Contains(f.Ports, peer) || !f.OneWay && slices.Contains(f.Ports, id)
		now := c
		if out && f.Kind == settings.FaultDelay {
			now.Delay = f.Delay
		}
		if in && f.Kind == settings.FaultDelay {
			now.PeerDelay = f.Delay
		}
		if out && f.Kind == settings.FaultRate {
			now.Rate = f.Rate
		}
		if in && f.Kind == settings.FaultRate {
			now.PeerRate = f.Rate
		}
		if now != c {
			cables = append(cables, ChangedCable{now, i})
		}
	}
	return cables
}
