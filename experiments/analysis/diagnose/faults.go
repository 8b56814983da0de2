package diagnose

import (
	"fmt"
	"math"
	"slices"

	"github.com/pausenet/pausenet/experiments/analysis/resimulate"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Kinds of faults that resimulate does not have.
const (
	Healthy   resimulate.Kind = "none"
	DeafNIC   resimulate.Kind = "NIC ignores CNP"
	NoPFC     resimulate.Kind = "PFC off"
	NoECN     resimulate.Kind = "ECN off"
	WrongXOFF resimulate.Kind = "wrong XOFF"
	Watchdog  resimulate.Kind = "watchdog"
	BitErrors resimulate.Kind = "bit errors"
	LinkDown  resimulate.Kind = "link down"
)

// Fault represents one fault of a fabric.
type Fault struct {
	resimulate.Fault
	start func(*runner.Observed) error // changes the engine before the first event; nil: nothing
	deaf  string                       // host whose flows ignore CNPs
	kind  *kind                        // nil: no fault
	value float64                      // one of kind.values, or a value between them
	seed  uint64                       // of the run; 0: the case's
}

// place identifies the kind and the place.
func (f *Fault) place() string { return string(f.Kind) + " " + f.Place }

// key identifies a fault.
func (f *Fault) key() string { return fmt.Sprintf("%s %s %s %d", f.Kind, f.Place, f.Value, f.seed) }

// kind describes faults of one kind.
type kind struct {
	name   resimulate.Kind
	places func(c *Case) []string
	values []float64 // the first is tried everywhere, the others at likely places
	build  func(c *Case, f *Fault, at string, value float64)
}

// kinds lists all kinds, in the order in which equally likely faults are printed.
var kinds = []kind{
	{resimulate.Storm, (*Case).hosts, []float64{100, 20, 400}, func(c *Case, f *Fault, at string, v float64) {
		f.Value = fmt.Sprintf("%.3gus", v)
		f.Text = fmt.Sprintf("NIC %s sends PAUSE every %s, whatever it receives (a PFC storm)", at, f.Value)
		f.entry("host: %s, pause: [%d], interval: %s", at, c.lossless, f.Value)
	}},
	{resimulate.SlowNIC, (*Case).hosts, []float64{0.5, 0.2, 0.75, 0.08}, func(c *Case, f *Fault, at string, v float64) {
		f.Value = c.rateOf(at, v).String()
		f.Text = fmt.Sprintf("NIC %s accepts only %s, and pauses its switch (a slow receiver)", at, f.Value)
		f.entry("host: %s, receiver: {rate: %s}", at, f.Value)
	}},
	{resimulate.Priority, (*Case).flowSenders, []float64{0}, func(c *Case, f *Fault, at string, _ float64) {
		f.Text = fmt.Sprintf("NIC %s sends its data with a DSCP that switches map to a lossy priority", at)
		for i, t := range c.flows {
			if t.from == at {
				f.Sets = append(f.Sets, fmt.Sprintf("flows.%d.priority=%d", i, c.lossy))
			}
		}
	}},
	{DeafNIC, (*Case).senders, []float64{0}, func(_ *Case, f *Fault, at string, _ float64) {
		f.Text, f.deaf = fmt.Sprintf("NIC %s does not slow down for CNPs", at), at
	}},
	{NoPFC, (*Case).switchPorts, []float64{0}, func(_ *Case, f *Fault, at string, _ float64) {
		f.Text = fmt.Sprintf("port %s sends no PAUSE: PFC is off there", at)
		f.start = func(o *runner.Observed) error { return disablePFC(o, at) }
	}},
	{NoECN, (*Case).switches, []float64{0}, func(_ *Case, f *Fault, at string, _ float64) {
		f.Text = fmt.Sprintf("switch %s marks no packets: ECN is off there", at)
		f.change(at, func(s *switchagent.Settings) { s.ECN.Mode = switchagent.ECNOff })
	}},
	{WrongXOFF, (*Case).switches, []float64{0.25, 3, 0.1, 0.5}, func(c *Case, f *Fault, at string, v float64) {
		xoff := units.Bytes(math.Round(float64(c.xoff)*v/100) * 100)
		f.Value = xoff.String()
		f.Text = fmt.Sprintf("switch %s pauses at %s instead of %v (XOFF)", at, f.Value, c.xoff)
		f.change(at, func(s *switchagent.Settings) {
			s.PFC.XOFF, s.PFC.XON = xoff, switchagent.Auto
			s.PFC.XOFFToXON = min(s.PFC.XOFFToXON, xoff/2)
		})
	}},
	{Watchdog, (*Case).switches, []float64{8, 4, 16}, func(_ *Case, f *Fault, at string, v float64) {
		f.Value = fmt.Sprintf("%.3gus", v)
		f.Text = fmt.Sprintf("the PFC watchdog of switch %s drops after only %s of pause", at, f.Value)
		f.change(at, func(s *switchagent.Settings) {
			t := vtime.Time(v * float64(vtime.Microsecond))
			s.PFC.Watchdog = switchagent.Watchdog{Detect: t, Restore: t}
		})
	}},
	{resimulate.SlowLink, (*Case).links, []float64{0.4, 0.25, 0.5, 0.1}, func(c *Case, f *Fault, at string, v float64) {
		f.Value = c.rateOf(at, v).String()
		f.Text = fmt.Sprintf("link %s runs at %s instead of %v", at, f.Value, c.rateOf(at, 1))
		f.entry("link: %q, rate: %s", at, f.Value)
	}},
	{BitErrors, (*Case).links, []float64{1e-6, 1e-7, 1e-5}, func(_ *Case, f *Fault, at string, v float64) {
		f.Value = fmt.Sprintf("%.2g", v)
		f.Text = fmt.Sprintf("the cable of %s damages bits at a rate of %s", at, f.Value)
		f.entry("link: %q, ber: %s", at, f.Value)
	}},
	{resimulate.LongCable, (*Case).links, []float64{8, 4, 16, 30}, func(_ *Case, f *Fault, at string, v float64) {
		f.Value = fmt.Sprintf("%.3gus", v)
		f.Text = fmt.Sprintf("the cable of %s is longer than configured: %s one way, %.0f m", at, f.Value, v*200)
		f.entry("link: %q, delay: %s", at, f.Value)
	}},
	{LinkDown, (*Case).trunks, []float64{0}, func(_ *Case, f *Fault, at string, _ float64) {
		f.Text = fmt.Sprintf("link %s is down, and the routes avoid it", at)
		f.entry("link: %q, down: true, reroute: 1us", at)
	}},
}

// entry adds an entry to the scenario's faults. That fault starts with the run and does not end.
func (f *Fault) entry(format string, args ...any) {
	f.Entries = append(f.Entries, "{at: 0s, "+fmt.Sprintf(format, args...)+"}")
}

// change changes the settings of one switch at the start.
func (f *Fault) change(at string, change func(*switchagent.Settings)) {
	f.start = func(o *runner.Observed) error {
		s, plan := o.Scenario, o.Scenario.Topology
		settings := scenario.SwitchSettings(s, o.Needs)
		for i, id := range plan.Switch {
			if plan.Nodes[id].Name == at {
				change(settings[i])
				return o.Engine.SetSwitch(i, settings[i])
			}
		}
		return fmt.Errorf("no switch %s", at)
	}
}

// disablePFC gives a port an XOFF that it never reaches, in the switch's last profile, which must be free.
func disablePFC(o *runner.Observed, at string) error {
	id, err := portAt(o.Scenario.Topology, at)
	if err != nil {
		return err
	}
	state := o.Engine.State()
	sw := &state.Switches[state.Ports[id].Node]
	free := len(sw.Profiles) - 1
	for _, other := range o.Scenario.Topology.Nodes[o.Scenario.Topology.Ports[id].Node].Ports {
		if int(state.Ports[other].Profile) == free {
			return fmt.Errorf("%s: all profiles of the switch are in use, so PFC cannot be turned off at one port", at)
		}
	}
	sw.Profiles[free] = sw.Profiles[state.Ports[id].Profile]
	sw.Profiles[free].Alpha, sw.Profiles[free].Xoff = 0, 1<<60
	state.Ports[id].Profile = uint8(free)
	return nil
}

func portAt(plan *topologies.Plan, at string) (topologies.PortID, error) {
	for i := range plan.Ports {
		if scenario.PortLabel(plan, topologies.PortID(i)) == at {
			return topologies.PortID(i), nil
		}
	}
	return 0, fmt.Errorf("no port %s", at)
}

// rateOf returns part times the rate of a link, or of a host's first port, with three digits.
func (c *Case) rateOf(at string, part float64) units.Rate {
	id, err := portAt(c.plan, at)
	if err != nil {
		node := slices.IndexFunc(c.plan.Nodes, func(n topologies.Node) bool { return n.Name == at })
		id = c.plan.Nodes[node].Ports[0]
	}
	rate := float64(c.plan.Ports[id].Rate) * part
	digit := math.Pow(10, math.Floor(math.Log10(rate))-2)
	return units.Rate(math.Round(rate/digit) * digit)
}

func (c *Case) nodes(of topologies.Kind) (names []string) {
	for i := range c.plan.Nodes {
		if n := &c.plan.Nodes[i]; n.Kind == of {
			names = append(names, n.Name)
		}
	}
	return names
}

func (c *Case) hosts() []string    { return c.nodes(topologies.Host) }
func (c *Case) switches() []string { return c.nodes(topologies.Switch) }

// flowSenders returns the hosts that send the case's flows: those that the fabric's file lists, perftest's outputs
// report, or the hosts' counters suggest. Collectives do not count.
func (c *Case) flowSenders() []string {
	return slices.DeleteFunc(c.hosts(), func(host string) bool {
		return !slices.ContainsFunc(c.flows, func(t traffic) bool { return t.from == host })
	})
}

// senders returns the hosts that send flows, or take part in collectives of nccl-tests.
func (c *Case) senders() []string {
	from := c.flowSenders()
	return slices.DeleteFunc(c.hosts(), func(host string) bool {
		return !slices.Contains(from, host) && !slices.Contains(c.ranks, host)
	})
}

func (c *Case) switchPorts() (names []string) {
	for i := range c.plan.Ports {
		if c.plan.Nodes[c.plan.Ports[i].Node].Kind == topologies.Switch {
			names = append(names, scenario.PortLabel(c.plan, topologies.PortID(i)))
		}
	}
	return names
}

// links returns each link by its end at a switch.
func (c *Case) links() (names []string) {
	for i := range c.plan.Links {
		port := c.plan.Links[i].A
		if c.plan.Nodes[c.plan.Ports[port].Node].Kind == topologies.Host {
			port = c.plan.Links[i].B
		}
		names = append(names, scenario.PortLabel(c.plan, port))
	}
	return names
}

// trunks returns the links between switches.
func (c *Case) trunks() (names []string) {
	for i := range c.plan.Links {
		l := &c.plan.Links[i]
		if c.plan.Nodes[c.plan.Ports[l.A].Node].Kind == topologies.Switch &&
			c.plan.Nodes[c.plan.Ports[l.B].Node].Kind == topologies.Switch {
			names = append(names, scenario.PortLabel(c.plan, l.A))
		}
	}
	return names
}

// fault returns a fault of a kind at a place.
func (c *Case) fault(k *kind, at string, value float64) *Fault {
	f := &Fault{Fault: resimulate.Fault{Kind: k.name, Place: at}, kind: k, value: value}
	k.build(c, f, at, value)
	return f
}

// deafController ignores CNPs.
type deafController struct{ cc.Controller }

func (deafController) OnCNP(*cc.Sample) {}
