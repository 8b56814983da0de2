// Package env runs episodes of a scenario whose flows are controlled from outside of the program, step by step: an
// environment for reinforcement learning. Each flow is an agent. A step is an interval, or ends at the next event of a
// flow. At its end agents are given their observations, and set their rates.
package env

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// MostAgents limits the flows of a scenario, which are its agents.
const MostAgents = 4096

// Feature describes a number of an observation.
type Feature struct {
	Name    string  `json:"name"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Meaning string  `json:"meaning"`
}

// most bounds features without a natural limit. Larger values are cut.
const most = 100

// features lists the numbers of an observation without telemetry, in order. All are about the step that has just ended.
var features = []Feature{
	{"rate", 0, 1, "sending rate, by the line rate"},
	{"goodput", 0, most, "payload acknowledged, by what the line carries in the time"},
	{"rtt", 0, most, "mean RTT by the path's base RTT; 0 without a sample"},
	{"rtt_min", 0, most, "least RTT by the path's base RTT; 0 without a sample"},
	{"marked", 0, 1, "fraction of ACKs whose packet was marked (ECN)"},
	{"in_flight", 0, most, "payload in flight at the last ACK, by the bandwidth-delay product"},
	{"losses", 0, most, "NAKs and timeouts"},
}

// hopFeatures lists the numbers of a hop, after the switch's position on the path and "hop". They are those of the last
// ACK with telemetry, and 0 before the first.
var hopFeatures = []Feature{
	{"queue", 0, most, "bytes left behind in the port's queue, by the path's bandwidth-delay product"},
	{"rate", 0, most, "the port's line rate, by the flow's"},
	{"tx", 0, most, "bytes that the port sent since the last packet of the flow, by what it can send"},
	{"gradient", -most, most, "growth of the queue since the last packet of the flow, by the port's line rate"},
}

// MostHops limits the hops of an observation, as the telemetry's format does.
const MostHops = wire.INTHops

// Features lists the numbers of an observation, in order.
func (e *Environment) Features() []Feature {
	all := slices.Clone(features)
	for hop := range e.Hops {
		for _, f := range hopFeatures {
			f.Name, f.Meaning = fmt.Sprintf("hop%d_%s", hop+1, f.Name), fmt.Sprintf("switch %d: %s", hop+1, f.Meaning)
			all = append(all, f)
		}
	}
	return all
}

// count returns the number of features.
func (o *Options) count() int { return len(features) + o.Hops*len(hopFeatures) }

// Declarations states what agents need from switches and receivers, as the head of a controller file. A file with a
// trained policy must begin with it to run under the same conditions.
func (o *Options) Declarations() string {
	needs := `"ECN", "ACK"`
	if o.Hops > 0 {
		needs += `, "INT"`
	}
	return "needs = [" + needs + "]\ndeparture = \"moves\"\n"
}

// skeleton is a controller file after its declarations, whose functions are never called.
const skeleton = `
def init(flow):
    flow.rate = path.line_rate

def on_ack(flow, ack):
    flow.marked = ack.ce
`

// agentFile is the skeleton's name.
const agentFile = "agent.star"

// LeastRate holds the lowest rate that agents can set, by the line rate.
const LeastRate = 1.0 / 256

// Events of a flow, bits of Episode.Events.
const (
	Started  = 1 << iota // its first packet has left
	Acked                // an ACK has arrived, but not the last one
	Lost                 // packets were found lost: a NAK
	TimedOut             // a retransmission timer has expired
	Finished             // all of its bytes are acknowledged
)

// EventNames lists the events, by bit.
var EventNames = []string{"start", "ack", "nak", "timeout", "end"}

// Options determine what steps and observations are.
type Options struct {
	Interval vtime.Time // of a step; 0: a step ends at the next event of a flow
	Hops     int        // of a path whose telemetry is observed
}

// Environment makes the episodes of a scenario.
type Environment struct {
	Options
	Agents     int        // number of flows
	LineRate   units.Rate // of the first flow's host
	Scenario   *scenario.Scenario
	controller string
}

// Read reads a scenario, by the name of a built-in or a file.
func Read(name string, o Options, reading scenario.Reading) (*Environment, error) {
	if o.Interval < 0 {
		return nil, fmt.Errorf("an interval of %v: expected a time above 0", o.Interval)
	}
	if o.Hops < 0 || o.Hops > MostHops {
		return nil, fmt.Errorf("%d hops: expected 0 to %d", o.Hops, MostHops)
	}
	folder, err := os.MkdirTemp("", "pausenet-env-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, agentFile)
	if err := os.WriteFile(file, []byte(o.Declarations()+skeleton), 0o600); err != nil {
		return nil, err
	}
	reading.Controllers = []string{file}
	s, err := reading.Load(name)
	if err != nil {
		return nil, err
	}
	names, err := s.ControllerNames(reading.Controllers)
	if err != nil {
		return nil, err
	}
	if err := scenario.Check(s, names); err != nil {
		return nil, err
	}
	if s, err = s.Unrolled(); err != nil {
		return nil, err
	}
	if n := len(s.Flows); n == 0 || n > MostAgents {
		return nil, fmt.Errorf("%s has %d flows: expected 1 to %d, since each is an agent", s.Name, n, MostAgents)
	}
	own := *s
	own.Sample = scenario.Sampling{Interval: own.Duration, NoFlows: true}
	own.Panels, own.DefaultPanels, own.Published, own.Spans = nil, false, nil, nil
	return &Environment{Options: o, Agents: len(s.Flows), Scenario: &own, controller: names[0]}, nil
}

// State holds the state of an agent's flow.
type State uint8

// States of a flow.
const (
	Waiting State = iota // it has not started
	Active
	Ended // all of its bytes are acknowledged
)

// agent controls a flow, and collects its observation.
type agent struct {
	cc.Base
	state    State
	events   byte                           // of the step so far
	step     func(now vtime.Time, a *agent) // ends a step, and waits for the next; nil: steps are intervals
	since    vtime.Time                     // start of the step
	size     int64                          // payload; 0: without end
	interval vtime.Time
	line     float64 // bits per second
	base     vtime.Time
	rate     float64
	next     float64 // the rate from the next timer on
	timer    vtime.Time
	mtu      int64
	sequence int64 // payload acknowledged so far
	last     bool  // the flow may end with the next ACK, of which controllers are not told

	// of the interval so far
	acked, acks, marks, losses, samples int64
	sum, least                          vtime.Time
	inFlight                            int64

	telemetry *controllerfile.Telemetry // nil: not observed
	hops      []float32                 // of the last ACK
}

// Rate implements cc.Controller.
func (a *agent) Rate() float64 { return a.rate }

// Retimes implements cc.Controller, as Declarations declare it.
func (a *agent) Retimes() bool { return true }

// Deadline returns the end of the interval.
func (a *agent) Deadline() vtime.Time { return a.timer }

// OnTimer applies the rate that was set at the end of the interval, which is now.
func (a *agent) OnTimer(now vtime.Time) {
	if now >= a.timer {
		a.rate = a.next
		a.timer = (now/a.interval + 1) * a.interval
	}
}

// OnSent starts the timer as the flow starts.
func (a *agent) OnSent(now vtime.Time, _ int) {
	if a.state == Waiting {
		a.state = Active
		if a.step == nil {
			a.timer = (now/a.interval + 1) * a.interval
		}
		a.last = a.size <= a.mtu
		a.happens(now, Started)
	}
}

// happens records an event of the flow. If steps end at events, it waits for the agent, whose rate applies at once.
func (a *agent) happens(now vtime.Time, event byte) {
	a.events |= event
	if a.step != nil {
		a.step(now, a)
		a.rate = a.next
	}
}

// end ends the flow, whose last bytes are acknowledged.
func (a *agent) end() {
	a.acked += a.size - a.sequence
	a.state, a.timer, a.last = Ended, vtime.Never, false
	a.events |= Finished
}

// OnAck implements cc.Controller.
func (a *agent) OnAck(s *cc.Sample) {
	a.acked += s.AckedBytes
	a.acks++
	if s.CE {
		a.marks++
	}
	if s.RTT > 0 {
		if a.sum += s.RTT; a.samples == 0 || s.RTT < a.least {
			a.least = s.RTT
		}
		a.samples++
	}
	a.inFlight = s.InFlight
	a.sequence = max(a.sequence, s.AckSequence)
	a.last = a.size-a.sequence <= a.mtu
	if a.telemetry != nil {
		a.read(s)
	}
	a.happens(s.Now, Acked)
}

// read reads the telemetry of an ACK.
func (a *agent) read(s *cc.Sample) {
	clear(a.hops)
	hops := a.telemetry.Read(s)
	for i := range hops[:min(len(hops), len(a.hops)/len(hopFeatures))] {
		h, into := &hops[i], a.hops[i*len(hopFeatures):]
		into[0] = cut(h.QueueBytes * 8 / (a.line * a.base.Seconds()))
		into[1] = cut(h.Rate / a.line)
		if h.Elapsed > 0 && h.Rate > 0 {
			into[2] = cut(h.TxDelta * 8e12 / h.Elapsed / h.Rate)
			into[3] = max(cut(h.QueueGradient/h.Rate), -most)
		}
	}
}

// OnNak implements cc.Controller.
func (a *agent) OnNak(now vtime.Time) {
	a.losses++
	a.happens(now, Lost)
}

// OnTimeout implements cc.Controller.
func (a *agent) OnTimeout(now vtime.Time) {
	a.losses++
	a.happens(now, TimedOut)
}

// observe writes the observation of the step, and starts the next one.
func (a *agent) observe(now vtime.Time, into []float32) {
	clear(into)
	if a.line > 0 {
		time := a.interval
		if a.step != nil {
			time = now - a.since
		}
		into[0] = float32(a.rate / a.line)
		if time > 0 {
			into[1] = cut(float64(a.acked) / (a.line / 8 * time.Seconds()))
		}
		if a.samples > 0 {
			into[2] = cut(float64(a.sum) / float64(a.samples) / float64(a.base))
			into[3] = cut(float64(a.least) / float64(a.base))
		}
		if a.acks > 0 {
			into[4] = float32(float64(a.marks) / float64(a.acks))
		}
		into[5] = cut(float64(a.inFlight) * 8 / (a.line * a.base.Seconds()))
		into[6] = cut(float64(a.losses))
		copy(into[len(features):], a.hops)
	}
	a.since, a.events = now, 0
	a.acked, a.acks, a.marks, a.losses, a.samples, a.sum, a.least = 0, 0, 0, 0, 0, 0, 0
}

func cut(x float64) float32 { return float32(min(x, most)) }

// Episode represents a run of the scenario that waits for the agents at the end of each step.
type Episode struct {
	Observations []float32 // of all agents, features after features
	States       []State
	Events       []byte // of each agent in the step
	Now          vtime.Time
	Over         bool // all flows have ended, or the scenario's duration
	// Fingerprint holds the run's fingerprint, if all flows have ended.
	Fingerprint string

	*Environment
	agents   []agent
	cancel   context.CancelFunc
	observed *runner.Observed
	proceed  chan bool // to the run: go on, or end
	reached  chan error
	finished bool
	leaving  bool // the run ends
}

// errEnded ends a run whose episode is over.
var errEnded = errors.New("the episode is over")

// Start starts an episode with a seed, and runs its first step.
func (e *Environment) Start(seed uint64) (*Episode, error) {
	s, err := e.Scenario.WithSeed(seed)
	if err != nil {
		return nil, err
	}
	if len(s.Flows) != e.Agents {
		return nil, fmt.Errorf("%s has %d flows with seed %d, and %d with another: their number must not depend on the seed",
			s.Name, len(s.Flows), seed, e.Agents)
	}
	p := &Episode{
		Observations: make([]float32, e.Agents*e.count()), States: make([]State, e.Agents), Events: make([]byte, e.Agents),
		Environment: e, agents: make([]agent, e.Agents), proceed: make(chan bool), reached: make(chan error),
	}
	go p.run(s, seed)
	return p, p.Wait()
}

// run runs the scenario to the episode's end.
func (p *Episode) run(s *scenario.Scenario, seed uint64) {
	e := p.Environment
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(context.Background())
	defer p.cancel()
	sum, err := runner.Watch(ctx, s, runner.Options{
		Controller: e.controller, Seed: seed, Processors: 1,
		Observers: []runner.NewObserver{func(*scenario.Setup) (*runner.Observer, error) {
			return &runner.Observer{Start: func(o *runner.Observed) error {
				p.observed = o
				if e.Interval == 0 {
					return nil
				}
				var tick func(now vtime.Time) error
				tick = func(now vtime.Time) error {
					o.Engine.At(now+e.Interval, tick)
					return p.tick(now, now+e.Interval > s.Duration)
				}
				o.Engine.At(e.Interval, tick)
				return nil
			}}, nil
		}},
	}, runner.Watching{
		NoRTT: true, Ordered: e.Interval == 0,
		Controller: func(flow int, env cc.Env, _ cc.Settings) (cc.Controller, error) {
			a := &p.agents[flow]
			*a = agent{
				size: int64(s.Flows[flow].Size), interval: e.Interval, line: float64(env.LineRate), base: env.BaseRTT,
				rate: float64(env.LineRate), next: float64(env.LineRate), timer: vtime.Never, mtu: int64(env.MTU),
			}
			if e.Interval == 0 {
				a.step = p.event
			}
			if e.Hops > 0 {
				a.telemetry, a.hops = new(controllerfile.Telemetry), make([]float32, e.Hops*len(hopFeatures))
			}
			return a, nil
		},
	})
	switch {
	case errors.Is(err, errEnded), ctx.Err() != nil:
		err = nil
	case err == nil: // all flows have ended within the step
		end := vtime.Time(sum.VirtualNS) * vtime.Nanosecond
		if e.Interval > 0 {
			end = (p.Now/e.Interval + 1) * e.Interval
		}
		p.observe(end, nil)
		p.Over, p.Fingerprint = true, sum.Fingerprint
	}
	p.finished = true
	p.reached <- err
}

// event ends a step at an event of an agent.
func (p *Episode) event(now vtime.Time, a *agent) {
	if p.leaving {
		return
	}
	p.observe(now, a)
	p.reached <- nil
	if !<-p.proceed {
		p.leaving = true
		p.cancel()
	}
}

// observe hands the observations of a step over: those of one agent, and of ended ones; nil: of all.
func (p *Episode) observe(now vtime.Time, only *agent) {
	e := p.Environment
	p.Now, p.Over = now, true
	if slices.ContainsFunc(p.agents, func(a agent) bool { return a.last && a.size > 0 && a.state == Active }) {
		p.observed.EachStarted(func(f *runner.FlowState) {
			if a := &p.agents[f.Flow]; a.state == Active && f.Finished <= now {
				a.end()
			}
		})
	}
	for i := range p.agents {
		a := &p.agents[i]
		p.States[i], p.Events[i] = a.state, a.events
		if n := e.count(); only == nil || a.events != 0 {
			a.observe(now, p.Observations[i*n:(i+1)*n])
		}
		p.Over = p.Over && a.state == Ended
	}
}

// tick ends an interval: it hands the observations over, and waits for the agents.
func (p *Episode) tick(now vtime.Time, last bool) error {
	p.observe(now, nil)
	p.Over = p.Over || last
	p.reached <- nil
	if !<-p.proceed {
		return errEnded
	}
	return nil
}

// Begin sets the agents' rates, each by its line rate, and lets the run proceed. Call Wait afterwards. Rates are
// limited to LeastRate..1.
func (p *Episode) Begin(rates []float32) {
	for i := range p.agents {
		a := &p.agents[i]
		if r := float64(rates[i]); r == r { // not NaN
			a.next = a.line * min(1, max(LeastRate, r))
		}
	}
	p.proceed <- true
}

// Wait waits for the end of the step. The observations are then those of that step.
func (p *Episode) Wait() error { return <-p.reached }

// End ends the episode. It must not be in the middle of a step.
func (p *Episode) End() {
	if !p.finished {
		p.proceed <- false
		<-p.reached
	}
}
