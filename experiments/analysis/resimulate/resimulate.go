// Package resimulate runs a scenario again under single faults. Whoever has measured a fabric compares the results with
// the measurement, to find the faults that explain it.
package resimulate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/lists"
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

// Fault represents one fault: changes of a scenario.
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

	value float64 // in units of the kind
	vary  func(value float64) Fault
}

// Scaled returns the fault with its rate, delay, probability or time multiplied; ok is false if it has none.
func (f *Fault) Scaled(factor float64) (scaled Fault, ok bool) {
	if f.vary == nil {
		return Fault{}, false
	}
	return f.vary(f.value * factor), true
}

// Base holds the scenario without the fault.
type Base struct {
	File       string // the name of the scenario's file; other files are relative to its folder
	Text       []byte
	Sets       []string // changes, as for --set
	Entries    []string // items of the key faults, which replace the file's
	Controller string   // or variant; empty: the scenario's first
}

// sets returns the changes that make the scenario under a fault.
func (b *Base) sets(f *Fault) []string {
	return slices.Concat(b.Sets, f.Sets,
		[]string{"faults=[" + strings.Join(slices.Concat(b.Entries, f.Entries), ", ") + "]"})
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
	for _, at := range places(plan, used) {
		rate, delay := plan.Ports[at.port].Rate, plan.Ports[at.port].Delay
		add := func(value float64, vary func(float64) Fault) {
			of := func(v float64) Fault {
				f := vary(v)
				f.value = v
				return f
			}
			f := of(value)
			f.vary = func(v float64) Fault {
				g := of(v)
				g.vary = f.vary
				return g
			}
			faults = append(faults, f)
		}
		link := func(kind Kind, value, key, text string) Fault {
			return Fault{
				Kind: kind, Place: at.name, Value: value, Alike: at.alike, Text: fmt.Sprintf(text, at.name, value),
				Entries: []string{fmt.Sprintf("{at: 0s, link: %q, %s: %s}", at.name, key, value)},
			}
		}
		for _, part := range o.Rates {
			add(float64(rate)*part, func(v float64) Fault {
				return link(SlowLink, rounded(min(v, float64(rate))).String(), "rate",
					"link %s runs at %s in place of "+rate.String())
			})
		}
		for _, more := range o.Delays {
			add(float64(more), func(v float64) Fault {
				long := delay + vtime.Time(v)/(100*vtime.Nanosecond)*(100*vtime.Nanosecond)
				return link(LongCable, long.String(), "delay", "link %s has a delay of %s in place of "+delay.String())
			})
		}
		for _, loss := range o.Losses {
			add(loss, func(v float64) Fault {
				return link(LossyLink, fmt.Sprintf("%.2g", min(v, 1)), "loss", "link %s loses frames with probability %s")
			})
		}
		host := plan.PeerNode(at.port)
		if host.Kind != topologies.Host {
			continue
		}
		name := plan.EndName(host.ID, uint8(plan.Ports[plan.Ports[at.port].Peer].Number-1))
		alike := lists.Map(at.alike, func(other string) string { return other[strings.LastIndexByte(other, ':')+1:] })
		nic := func(kind Kind, value, entry, text string) Fault {
			return Fault{
				Kind: kind, Place: name, Value: value, Alike: alike, Text: fmt.Sprintf(text, name, value),
				Entries: []string{fmt.Sprintf("{at: 0s, host: %s, %s}", name, fmt.Sprintf(entry, value))},
			}
		}
		for _, part := range o.Rates {
			add(float64(rate)*part, func(v float64) Fault {
				return nic(SlowNIC, rounded(v).String(), "receiver: {rate: %s}", "NIC %s accepts only %s, and pauses its switch")
			})
		}
		for _, every := range o.Storms {
			add(float64(every), func(v float64) Fault {
				apart := vtime.Time(v) / vtime.Microsecond * vtime.Microsecond
				return nic(Storm, apart.String(), "for: 1us, every: %s, pause: "+fmt.Sprintf("[%d]", o.Lossless),
					"NIC %s sends PAUSE every %s")
			})
		}
	}
	return faults
}

// rounded returns a rate with three digits.
func rounded(bps float64) units.Rate {
	step := math.Pow(10, math.Floor(math.Log10(bps))-2)
	return units.Rate(math.Round(bps/step) * step)
}

// places groups links by the traffic that they carry.
func places(plan *topologies.Plan, used Usage) (all []place) {
	busiest := slices.Max(used)
	near := func(a, b vtime.Time) bool { // ACKs and the order of arrivals differ between links with equal traffic
		return max(a-b, b-a) <= busiest/16
	}
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
		name := scenario.PortLabel(plan, port)
		at := slices.IndexFunc(all, func(p place) bool {
			a, b := &plan.Ports[p.port], &plan.Ports[port]
			return a.Rate == b.Rate && a.Delay == b.Delay && plan.Nodes[a.Node].Tier == plan.Nodes[b.Node].Tier &&
				plan.PeerNode(p.port).Tier == plan.PeerNode(port).Tier && near(used[p.port], used[port]) &&
				near(used[a.Peer], used[peer])
		})
		if at < 0 {
			all = append(all, place{name: name, port: port})
		} else {
			all[at].alike = append(all[at].alike, name)
		}
	}
	return all
}
