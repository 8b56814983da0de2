//go:build linux

package live

import (
	"os"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
)

// Description is a live fabric as another terminal sees it.
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
	// Commands are verbs of the shell that the topology brings.
	Commands []topologies.Command `json:"commands,omitempty"`
}

// NodeDescription is a node of it.
type NodeDescription struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Tier    int    `json:"tier"` // 0 of hosts, 1 of the switches that they are cabled to, and so on
	Address string `json:"address,omitempty"`
	// Address6 is the IPv6 address that stands for it.
	Address6 string `json:"address6,omitempty"`
	// Addresses are those of a host of several ports, by port; Address is the first of them.
	Addresses []string `json:"addresses,omitempty"`
	Ports     int      `json:"ports"`
	// Of a host: what became of its programs' frames.
	Programs *engine.HostStackCounts `json:"programs,omitempty"`
}

// LinkDescription is a link of it.
type LinkDescription struct {
	A       string `json:"a"` // interface names
	B       string `json:"b"`
	RateBPS int64  `json:"rate_bps"`
	DelayNS int64  `json:"delay_ns"`
	Up      bool   `json:"up"`
}

// Describe is the fabric as it is now.
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
