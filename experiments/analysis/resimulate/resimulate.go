// Package resimulate runs a scenario again under single faults. Whoever has measured a fabric compares the results with
// the measurement, to find the faults that explain it.
package resimulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Kind names a kind of fault.
type Kind string

// Kinds of faults.
const (
	SlowLink  Kind = "slow link"  // a link at a lower rate than planned
	LongCable Kind = "long cable" // a link with a longer delay than planned
	LossyLink Kind = "lossy link" // a link that loses frames
	SlowNIC   Kind = "slow NIC"   // a NIC that accepts less than its line rate, and pauses its switch
	Storm     Kind = "PFC storm"  // a NIC that repeatedly sends PAUSE although it could accept
	Priority  Kind = "priority"   // data in a priority that is not lossless, by a wrong DSCP
	Balancing Kind = "balancing"  // another load balancing than planned
	Order     Kind = "rank order" // ranks in an order that crosses the fabric more often
)

// Fault is one fault: changes of a scenario.
type Fault struct {
	Kind  Kind   `json:"kind"`
	Place string `json:"place,omitempty"` // a port, as "node:peer", or a host; empty: the whole fabric
	Value string `json:"value,omitempty"`
	Text  string `json:"text"` // for people
	// Alike lists other places at which the fault would do the same, as far as the traffic tells.
	Alike []string `json:"alike,omitempty"`
	// Entries holds items of the key faults, Sets other changes, as for --set.
	Entries []string `json:"-"`
	Sets    []string `json:"-"`
}

// Base is the scenario without the fault.
type Base struct {
	File       string // the name of the scenario's file; other files are relative to its folder
	Text       []byte
	Sets       []string // changes, as for --set
	Entries    []string // items of the key faults, which replace the file's
	Controller string   // or variant; empty: the scenario's first
}

// sets returns the changes that make the scenario under a fault.
func (b *Base) sets(f *Fault) []string {
	return slices.Concat(b.Sets, f.Sets, []string{"faults=[" + strings.Join(slices.Concat(b.Entries, f.Entries), ", ") + "]"})
}

// Load reads the scenario under a fault; the zero Fault changes nothing.
func (b *Base) Load(f *Fault) (*scenario.Scenario, error) {
	return scenario.Reading{Sets: b.sets(f)}.Parse(b.File, b.Text)
}

// Run runs the scenario under a fault, on the plane in this process. ended, if set, receives the engine at the run's
// end.
func (b *Base) Run(ctx context.Context, f *Fault, ended func(*engine.Engine)) (*measure.Summary, error) {
	s, err := b.Load(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmp.Or(f.Text, "the scenario"), err)
	}
	controller := cmp.Or(b.Controller, s.Controllers[0])
	return runner.Watch(ctx, s, runner.Options{Controller: controller, Seed: s.Seed}, runner.Watching{Ended: ended})
}

// Usage holds how long each port of the plan has sent frames in a run.
type Usage []vtime.Time

// UsageOf returns a run's usage at its end.
func UsageOf(e *engine.Engine, plan *topologies.Plan) Usage {
	u := make(Usage, len(plan.Ports))
	for i := range u {
		u[i] = e.BusyTime(i)
	}
	return u
}

// Options selects the faults of Candidates. Empty lists leave a kind out.
type Options struct {
	Rates    []float64    // of links and NICs, as fractions of the planned rate
	Delays   []vtime.Time // added to a cable's
	Losses   []float64    // probabilities
	Storms   []vtime.Time // times between two PAUSE frames of a storm
	Lossless uint8        // the priority that storms pause
}

// Usual returns faults of usual sizes: a link at a half, a quarter or a tenth of its rate, 2 and 10 km of cable, a loss
// of 0.1 %, and a PAUSE every 250 us or millisecond.
func Usual(lossless uint8) Options {
	return Options{
		Rates: []float64{0.5, 0.25, 0.1}, Delays: []vtime.Time{10 * vtime.Microsecond, 50 * vtime.Microsecond},
		Losses: []float64{0.001}, Storms: []vtime.Time{vtime.Millisecond, 250 * vtime.Microsecond}, Lossless: lossless,
	}
}

// place is a set of links, or of hosts, that the traffic uses alike.
type place struct {
	name  string
	port  topologies.PortID
	alike []string
}

// Candidates returns the faults at one place of each kind: links that carry equal traffic, have equal rates and delays,
// and join equal tiers stand for each other (Alike), and so do the hosts at such links. Links without traffic are left
// out: they explain nothing.
func Candidates(plan *topologies.Plan, used Usage, o Options) (faults []Fault) {
	links := places(plan, used)
	for _, at := range links {
		rate, delay := plan.Ports[at.port].Rate, plan.Ports[at.port].Delay
		link := fmt.Sprintf("at: 0s, link: %q", at.name)
		add := func(kind Kind, value, entry, text string) {
			faults = append(faults, Fault{
				Kind: kind, Place: at.name, Value: value, Alike: at.alike, Text: fmt.Sprintf(text, at.name, value),
				Entries: []string{fmt.Sprintf("{%s, %s}", link, entry)},
			})
		}
		for _, part := range o.Rates {
			slow := units.Rate(float64(rate) * part)
			add(SlowLink, slow.String(), fmt.Sprintf("rate: %v", slow), "link %s runs at %s in place of "+rate.String())
		}
		for _, more := range o.Delays {
			long := delay + more
			add(LongCable, long.String(), fmt.Sprintf("delay: %v", long), "link %s has a delay of %s in place of "+delay.String())
		}
		for _, loss := range o.Losses {
			add(LossyLink, fmt.Sprint(loss), fmt.Sprintf("loss: %g", loss), "link %s loses frames with probability %s")
		}
		if plan.PeerNode(at.port).Kind != topologies.Host {
			continue
		}
		host := plan.PeerNode(at.port)
		name := plan.EndName(host.ID, uint8(plan.Ports[plan.Ports[at.port].Peer].Number-1))
		addNIC := func(kind Kind, value, entry, text string) {
			f := Fault{
				Kind: kind, Place: name, Value: value, Text: fmt.Sprintf(text, name, value),
				Entries: []string{fmt.Sprintf("{at: 0s, host: %s, %s}", name, entry)},
			}
			for _, other := range at.alike {
				f.Alike = append(f.Alike, other[strings.LastIndexByte(other, ':')+1:])
			}
			faults = append(faults, f)
		}
		for _, part := range o.Rates {
			slow := units.Rate(float64(rate) * part)
			addNIC(SlowNIC, slow.String(), fmt.Sprintf("receiver: {rate: %v}", slow), "NIC %s accepts only %s, and pauses its switch")
		}
		for _, every := range o.Storms {
			entry := fmt.Sprintf("for: 1us, every: %v, pause: [%d]", every, o.Lossless)
			addNIC(Storm, every.String(), entry, "NIC %s sends PAUSE every %s")
		}
	}
	return faults
}

// places groups links by the traffic that they carry.
func places(plan *topologies.Plan, used Usage) (all []place) {
	type likeness struct {
		rate      units.Rate
		delay     vtime.Time
		here, far int // tiers
		out, back int64
	}
	at := map[likeness]int{}
	for i := range plan.Links {
		l := &plan.Links[i]
		port := l.A
		if plan.Nodes[plan.Ports[port].Node].Kind == topologies.Host {
			port = l.B // the switch's end
		}
		peer := plan.Ports[port].Peer
		if used[port] == 0 && used[peer] == 0 {
			continue
		}
		// Bytes of ACKs and the order of arrivals differ a little between links with equal traffic.
		const step = 8
		of := likeness{
			l.Rate, l.Delay, plan.Nodes[plan.Ports[port].Node].Tier, plan.PeerNode(port).Tier,
			step * int64(used[port]) / int64(slices.Max(used)), step * int64(used[peer]) / int64(slices.Max(used)),
		}
		name := scenario.PortLabel(plan, port)
		if first, found := at[of]; found {
			all[first].alike = append(all[first].alike, name)
			continue
		}
		at[of] = len(all)
		all = append(all, place{name: name, port: port})
	}
	return all
}
