//go:build linux

package live

import (
	"os"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
)

// Description represents a live fabric to other terminals.
type Description struct {
	Name       string            `json:"name"`
	PID        int               `json:"pid"`
	Scenario   string            `json:"scenario"`
	Controller string            `json:"cc"`
	Clock      Clock             `json:"clock"`
	Privileged bool              `json:"privileged"` // programs on nodes
	Owner      Owner             `json:"owner"`
	Nodes      []NodeDescription `json:"nodes"`
	Links      []LinkDescription `json:"links"`
	// Commands holds the topology's own shell commands.
	Commands []topologies.Command `json:"commands,omitempty"`
}

// NodeDescription represents a node.
type NodeDescription struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Tier    int    `json:"tier"` // 0 for hosts, 1 for the switches next to them, and so on
	Address string `json:"address,omitempty"`
	// Address6 holds the equivalent IPv6 address.
	Address6 string `json:"address6,omitempty"`
	// Addresses holds the addresses of a host with several ports, by port. Address is the first.
	Addresses []string `json:"addresses,omitempty"`
	Ports     int      `json:"ports"`
	// Programs counts the frames of a host's programs by outcome.
	Programs *engine.HostStackCounts `json:"programs,omitempty"`
}

// LinkDescription represents a link.
type LinkDescription struct {
	A       string `json:"a"` // interface names
	B       string `json:"b"`
	RateBPS int64  `json:"rate_bps"`
	DelayNS int64  `json:"delay_ns"`
	Up      bool   `json:"up"`
}

// Describe returns the fabric's current state.
func (f *Fabric) Describe() (*Description, error) {
	d := &Description{
		Name: f.Name, PID: os.Getpid(), Scenario: f.Made.Scenario.Name, Controller: f.Made.Name,
		Privileged: f.options.Privileged, Owner: f.options.Owner, Commands: f.Plan.Commands,
	}
	return d, f.Do(func(e *engine.Engine) error {
		d.Clock = clockOf(f.live.Status())
		for i := range f.Plan.Nodes {
			n := &f.Plan.Nodes[i]
			own := NodeDescription{Name: n.Name, Kind: n.Kind.String(), Tier: n.Tier, Ports: len(n.Ports)}
			address := n.Addr
			if n.Kind == topologies.Switch {
				address = f.Plan.SwitchAddress(n.Index)
			}
			own.Address, own.Address6 = address.String(), topologies.IPv6(address).String()
			if n.Kind == topologies.Host {
				for _, id := range n.Ports {
					if len(n.Ports) > 1 {
						own.Addresses = append(own.Addresses, f.Plan.Address(id).String())
					}
				}
				counts := hostStack(e, n)
				own.Programs = &counts
			}
			d.Nodes = append(d.Nodes, own)
		}
		for i := range f.Plan.Links {
			l := &f.Plan.Links[i]
			w := e.Wire(int(l.A))
			d.Links = append(d.Links, LinkDescription{
				A: f.Plan.Ports[l.A].Name, B: f.Plan.Ports[l.B].Name, RateBPS: int64(w.Rate), DelayNS: w.Delay.Nanoseconds(),
				Up: w.Up,
			})
		}
		return nil
	})
}
