package runner

import (
	"math/bits"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// recorder takes a run's measurements: samples at fixed times, and the engine's events.
type recorder struct {
	scenario *scenario.Scenario
	engine   *engine.Engine
	out      *rundir.Output
	err      error  // the first error of writing
	stop     func() // ends the run, because its measurements cannot be kept

	more     map[int32][]int32 // Setup.More
	priority uint8             // of data, by the hosts' settings; single values in events apply to it
	data     []uint8           // all priorities of data, by number; samples cover these
	ports    []topologies.PortID
	texts    []portText         // last rows of ports.csv, by port and priority
	sampled  map[string]bool    // tags of sampled flows; nil: all
	tallies  map[tallied]*tally // for panels
	flows    flowSamples

	overview *overview // nil if the scenario sets the report's panels

	series [][]rundir.Points
	totals [][]float64 // running totals at the series' last points
	hops   int64       // packet-hops at the last sample
	still  int         // number of samples since then without a packet-hop

	rtt       *rttRecorders
	pfc       pfcTotals
	hpcc      *hpccTrace // nil unless exported
	observers observers
	ended     int
	message   engine.Flow  // for flowSet
	started   startedFlows // flows started by operations, in order

	events map[string]int // of the fabric, by kind
	checks *checkpoints   // nil: no other run is compared with this one

	spread     *spread
	congestion *congestion
	fairness   *fairness
	lowest     *lowest
}

// pfcTotals counts the PFC frames of a run.
type pfcTotals struct {
	pauses, resumes int64
	switchPauses    int64              // between switches
	byPort          map[int]*portPause // ports that sent PAUSE
	order           []int
}

type portPause struct {
	pauses, resumes int64
	sent            [classes]int64 // PAUSE frames, by priority
	paused          vtime.Time
	since           [8]vtime.Time
	on              [8]bool
	// time at which the last PAUSE at a switch's port expires; vtime.Never: none has arrived since
	until [8]vtime.Time
}

func newRecorder(s *scenario.Scenario, workers int) *recorder {
	order := byStart(s.Flows)
	r := &recorder{
		message: engine.Flow{Number: -1}, scenario: s, priority: s.Host.DataPriority, data: prioritiesOf(s),
		ports:   s.SampledPorts(),
		tallies: map[tallied]*tally{},
		rtt:     newRTTRecorders(workers), pfc: pfcTotals{byPort: map[int]*portPause{}},
		events: map[string]int{}, spread: newSpread(s.Topology), congestion: newCongestion(s),
		fairness: newFairness(s, order), lowest: newLowest(s, order),
	}
	some := func(of func(*scenario.Flow) bool) starting {
		return starting{scenario: s, order: order, of: of, started: &r.started}
	}
	r.fairness.waiting.started, r.lowest.waiting.started = &r.started, &r.started
	if len(s.Sample.Flows) > 0 {
		r.sampled = map[string]bool{}
		for _, tag := range s.Sample.Flows {
			r.sampled[tag] = true
		}
	}
	for _, p := range s.Panels {
		r.series = append(r.series, make([]rundir.Points, len(p.Series)))
		r.totals = append(r.totals, make([]float64, len(p.Series)))
		for k := range p.Series {
			if of := talliedBy(&p.Series[k]); of.tag != "" {
				r.tallies[of] = &tally{waiting: some(func(f *scenario.Flow) bool {
					return f.Tag == of.tag && (of.priority == 0 || of.priority == 1+s.PriorityOf(f))
				})}
			}
		}
	}
	r.flows.interval = s.Sample.Interval
	r.flows.waiting = some(func(f *scenario.Flow) bool {
		return !s.Sample.NoFlows && (r.sampled == nil || r.sampled[f.Tag])
	})
	return r
}

// prioritiesOf returns the priorities of data, by number.
func prioritiesOf(s *scenario.Scenario) (all []uint8) {
	for set := s.DataPriorities(); set != 0; set &= set - 1 {
		all = append(all, uint8(bits.TrailingZeros8(set)))
	}
	return all
}

// sum returns the sum over priorities.
func sum(priorities []uint8, of func(priority uint8) uint32) float64 {
	sum := uint64(0)
	for _, priority := range priorities {
		sum += uint64(of(priority))
	}
	return float64(sum)
}

// start starts sampling.
func (r *recorder) start(e *engine.Engine, out *rundir.Output) {
	r.engine, r.out, r.congestion.engine = e, out, e
	if r.scenario.Sample.Interval > 0 {
		e.Call(0, r.sample)
	}
}

// sample records ports, flows and panels, and schedules the next sample.
func (r *recorder) sample(now vtime.Time) {
	r.samplePorts(now)
	r.flows.sample(now, r.all(), func(flow int, rate, goodput float64, rtt vtime.Time) {
		r.keep(r.out.Rates.Write(&rundir.RateRow{
			Time: now.RoundNanoseconds(), Flow: flow, Rate: int64(rate + 0.5), Goodput: int64(goodput + 0.5),
			RTT: rtt.RoundNanoseconds(),
		}))
		r.observers.rate(now, flow, rate)
	})
	r.samplePanels(now)
	r.overview.sample(now, r.engine, r.all(), &r.pfc)
	r.congestion.sample(now)
	r.fairness.sample(now, r.all())
	r.lowest.sample(now, r.all())
	r.observers.sample(now)
	r.checks.sample(r.engine)
	r.forgetStarted(now)
	if next := now + r.scenario.Sample.Interval; next <= r.scenario.Duration || r.scenario.Drain && r.moves() {
		r.engine.Call(next, r.sample)
	}
}

// forgetStarted frees flows that have started and that all of the run's measurements have seen, if the run keeps
// messages without flows. Observers may read all, and such a run has none.
func (r *recorder) forgetStarted(now vtime.Time) {
	if rings, others := r.scenario.ByRule(); rings+others == 0 {
		return
	}
	r.fairness.seeStarts(now, r.all())
	r.lowest.seeStarts(now, r.all())
	readers := []*starting{&r.flows.waiting, &r.fairness.waiting, &r.lowest.waiting}
	if r.overview != nil {
		readers = append(readers, &r.overview.waiting)
	}
	for _, t := range r.tallies {
		readers = append(readers, &t.waiting)
	}
	r.started.forget(readers...)
}

// stillSamples sets the number of samples without a packet-hop after which a draining fabric is no longer sampled.
const stillSamples = 1000

// moves reports whether to sample after the scenario's time. Otherwise, a stopped flow would fill the disk with equal
// samples.
func (r *recorder) moves() bool {
	if r.engine.OpenFlows() == 0 && r.engine.OpenOperations() == 0 {
		return false
	}
	if r.engine.Hops != r.hops || r.engine.Pending() > 0 {
		r.hops, r.still = r.engine.Hops, 0
	}
	r.still++
	return r.still < stillSamples
}

// portText holds the last row of ports.csv of one priority of a port. Most samples equal the previous one, so the text
// of the row is kept.
type portText struct {
	queue, ingress uint32
	sent           int64
	paused         bool
	text           []byte // all columns but the time; empty before the first sample
}

// samplePorts samples all ports.
func (r *recorder) samplePorts(now vtime.Time) {
	if r.texts == nil {
		r.texts = make([]portText, len(r.ports)*len(r.data))
	}
	for k, id := range r.ports {
		r.samplePort(now, id, r.texts[k*len(r.data):])
	}
}

func (r *recorder) samplePort(now vtime.Time, id topologies.PortID, texts []portText) {
	state := r.engine.State()
	reg := &state.Ports[id]
	sample := PortSample{Port: id, Marked: int64(reg.EcnMarked)}
	for k, priority := range r.data {
		class, t := &reg.Class[priority], &texts[k]
		sent, paused := r.engine.TxBytes(int(id), priority), state.Paused(int(id), priority, now)
		if len(t.text) == 0 || t.queue != class.QueueBytes || t.ingress != class.Buffered || t.sent != sent ||
			t.paused != paused {
			t.queue, t.ingress, t.sent, t.paused = class.QueueBytes, class.Buffered, sent, paused
			r.portText(id, priority, t)
		}
		r.keep(r.out.Ports.WriteRest(now.RoundNanoseconds(), t.text))
		sample.Queue, sample.Ingress = sample.Queue+uint64(t.queue), sample.Ingress+uint64(t.ingress)
		sample.Sent += sent
	}
	r.observers.port(now, sample)
}

// portText writes the text of a row.
func (r *recorder) portText(id topologies.PortID, priority uint8, t *portText) {
	plan := r.scenario.Topology
	p := &plan.Ports[id]
	t.text = r.out.Ports.AppendRest(t.text[:0], &rundir.PortRow{
		Node: plan.Nodes[p.Node].Name, Port: p.Name, Peer: plan.PeerNode(id).Name, Priority: int(priority),
		Queue: int64(t.queue), Ingress: int64(t.ingress), Paused: t.paused, Sent: t.sent,
	})
}

func (r *recorder) samplePanels(now vtime.Time) {
	for _, t := range r.tallies {
		t.look(now, r.all())
	}
	for i := range r.scenario.Panels {
		panel := &r.scenario.Panels[i]
		window := max(panel.Window, r.scenario.Sample.Interval)
		for k := range panel.Series {
			v, level := r.measure(&panel.Series[k])
			points := &r.series[i][k]
			if !level { // a running total: use its growth within the window
				if now%window != 0 {
					continue
				}
				total := v
				v = (total - r.totals[i][k]) / window.Seconds()
				r.totals[i][k] = total
			}
			points.Time = append(points.Time, now.RoundNanoseconds())
			points.Value = append(points.Value, v)
		}
	}
}

// measure returns the value of a series: a level, or a total whose growth per second is plotted.
func (r *recorder) measure(s *scenario.Series) (v float64, level bool) {
	state := r.engine.State()
	data := r.data
	if s.Priority > 0 {
		data = []uint8{s.Priority - 1}
	}
	switch s.Quantity {
	case scenario.QueueBytes:
		return sum(data, func(k uint8) uint32 { return state.Ports[s.Port].Class[k].QueueBytes }), true
	case scenario.IngressBytes:
		return sum(data, func(k uint8) uint32 { return state.Ports[s.Port].Class[k].Buffered }), true
	case scenario.PortState:
		return float64(state.Extras[s.Port].Detector[r.priority].Ternary), true
	case scenario.CongestedMarks:
		return float64(state.Ports[s.Port].EcnMarked), false
	case scenario.UndeterminedMarks:
		return float64(state.Extras[s.Port].UeMarked), false
	case scenario.SendingRate:
		return r.tallies[talliedBy(s)].rate(r.all()), true
	case scenario.PauseRate:
		if s.Port == scenario.AllPorts {
			return float64(r.pfc.pauses), false
		}
		if p := r.pfc.byPort[int(s.Port)]; p != nil {
			v = float64(p.pauses)
			if s.Priority > 0 {
				v = float64(p.sent[s.Priority-1])
			}
		}
		return v, false
	}
	return float64(r.tallies[talliedBy(s)].delivered(r.all())) * 8, false
}

func (r *recorder) panels() [][]rundir.Points { return r.series }

func (r *recorder) keep(err error) {
	if err != nil && r.err == nil {
		r.err = err
		r.stop()
	}
}

// FlowDone implements engine.Observer.
func (r *recorder) FlowDone(vtime.Time, int) { r.ended++ }

// FlowStarted implements engine.Observer.
func (r *recorder) FlowStarted(now vtime.Time, flow int) {
	// not a further QP, and it is sampled
	if flow < r.scenario.FlowCount() && (r.scenario.Sample.Interval > 0 || len(r.observers) > 0) {
		r.started.flows = append(r.started.flows, startedFlow{int32(flow), now})
	}
}

// PFC implements engine.Observer.
func (r *recorder) PFC(now vtime.Time, port int, priority uint8, pause bool) {
	plan := r.scenario.Topology
	p := r.pfc.byPort[port]
	if p == nil {
		p = &portPause{}
		r.pfc.byPort[port] = p
		r.pfc.order = append(r.pfc.order, port)
	}
	event := "resume"
	if pause {
		event = "pause"
		p.pauses++
		p.sent[priority]++
		r.pfc.pauses++
		if plan.Nodes[plan.Ports[port].Node].Kind == topologies.Switch &&
			plan.PeerNode(topologies.PortID(port)).Kind == topologies.Switch {
			r.pfc.switchPauses++
		}
		r.expire(now, topologies.PortID(port), priority)
		if !p.on[priority] {
			p.on[priority], p.since[priority], p.until[priority] = true, now, vtime.Never
			r.observers.paused(r.spread.pause(now, topologies.PortID(port), priority))
			if priority == r.priority {
				r.congestion.pause(now, plan.Ports[port].Peer)
			}
		}
	} else {
		p.resumes++
		r.pfc.resumes++
		r.expire(now, topologies.PortID(port), priority)
		r.endPause(now, topologies.PortID(port), priority)
	}
	r.observers.pfc(now, topologies.PortID(port), priority, pause)
	if r.hpcc != nil {
		r.hpcc.add(plan, now, topologies.PortID(port), pause)
	}
	at := &plan.Ports[port]
	r.keep(r.out.PFC.Write(&rundir.PFCRow{
		Time: now.RoundNanoseconds(), Node: plan.Nodes[at.Node].Name, Port: at.Name,
		Peer:     plan.PeerNode(topologies.PortID(port)).Name,
		Priority: int(priority), Event: event,
	}))
}

// endPause ends a pause, if there is one.
func (r *recorder) endPause(now vtime.Time, port topologies.PortID, priority uint8) {
	p := r.pfc.byPort[int(port)]
	if p == nil || !p.on[priority] {
		return
	}
	p.on[priority] = false
	p.paused += now - p.since[priority]
	r.observers.resumed(r.spread.resume(now, port, priority))
	if priority == r.priority {
		r.congestion.resume(now, r.scenario.Topology.Ports[port].Peer)
	}
}

// expire ends a pause that expired before now without a RESUME.
func (r *recorder) expire(now vtime.Time, port topologies.PortID, priority uint8) {
	if p := r.pfc.byPort[int(port)]; p != nil && p.until[priority] < now {
		// as if a RESUME had been sent then
		r.endPause(p.until[priority]-r.scenario.Topology.Ports[port].Delay, port, priority)
	}
}

// expireAll ends all expired pauses.
func (r *recorder) expireAll(now vtime.Time) {
	for _, port := range r.pfc.order {
		for priority := range uint8(classes) {
			r.expire(now, topologies.PortID(port), priority)
		}
	}
}

// PFCReceived implements engine.Observer.
func (r *recorder) PFCReceived(c engine.PFCArrival) {
	if p := r.pfc.byPort[int(r.scenario.Topology.Ports[c.Port].Peer)]; p != nil && c.Pause {
		p.until[c.Priority] = c.Until
	}
	r.congestion.pfcArrived(c, c.Priority == r.priority)
}

// pausedTime returns how long a port has paused its peer, up to now.
func (p *portPause) pausedTime(now vtime.Time) vtime.Time {
	t := p.paused
	for i, on := range p.on {
		if on {
			t += now - p.since[i]
		}
	}
	return t
}
