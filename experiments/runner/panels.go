package runner

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// overview keeps the histories from which the default panels of a report are chosen at the end of the run, because the
// longest queues are not known before. A nil overview keeps none.
type overview struct {
	scenario *scenario.Scenario
	data     []uint8             // priorities of data
	ports    []topologies.PortID // sampled switch ports
	samples  int                 // number so far

	// One history for each priority of each port.
	queues, ingress []history[uint32]
	entries         int // in all histories, at most mostEntries

	// PAUSE frames sent so far: by ports that sent PFC frames, in order of their first, and by all.
	pauses []portPauses
	all    history[int64]

	groups    []group
	groupOf   []uint8 // by flow
	delivered []history[int64]
	ended     []int64 // payload bytes of the ended flows of each group
	waiting   starting
	active    []int32
}

// portPauses holds the PAUSE frames of a port, by priority.
type portPauses struct {
	port topologies.PortID
	by   [classes]history[int64]
}

// group represents the flows that share a line of goodput.
type group struct {
	tag      string
	priority uint8
	apart    bool // the tag also has flows of another priority
}

// history records a number over time, without the samples at which it did not change. Histories of queues, of which
// there are many, use 32 bits.
type history[V uint32 | int64] struct {
	from    int // first sample
	changes []change[V]
	last    V
	peak    V // over the whole run
}

type change[V uint32 | int64] struct {
	sample uint32
	value  V
}

// note records the number at a sample, and reports whether it changed.
func (h *history[V]) note(sample int, v V) bool {
	if v == h.last {
		return false
	}
	h.last, h.peak = v, max(h.peak, v)
	h.changes = append(h.changes, change[V]{uint32(sample), v})
	return true
}

const (
	mostEntries  = 4 << 20 // 32 MB
	mostGroups   = 255     // maximum number of recorded lines of goodput
	shownGroups  = 8       // maximum number of drawn lines of goodput
	shownPorts   = 4       // maximum number of drawn ports
	shownLanes   = 4       // for overlapping collectives of a tag and kind
	rateSamples  = 10      // averaging time of a rate, for a run of some length
	shortHistory = 200     // samples up to the last change, for a shorter run
)

func newOverview(s *scenario.Scenario, r *recorder) *overview {
	o := &overview{scenario: s, data: r.data}
	for _, id := range r.ports {
		if s.Topology.Nodes[s.Topology.Ports[id].Node].Kind == topologies.Switch {
			o.ports = append(o.ports, id)
		}
	}
	o.queues, o.ingress = make([]history[uint32], len(o.ports)*len(o.data)), make([]history[uint32],
		len(o.ports)*len(o.data))
	o.groupOf = make([]uint8, len(s.Flows))
	index := map[group]uint8{}
	priorities := map[string]uint8{} // of each tag
	for i := range s.Flows {
		g := group{tag: s.Flows[i].Tag, priority: s.PriorityOf(&s.Flows[i])}
		at, known := index[g]
		if !known {
			at = uint8(min(len(o.groups), mostGroups))
			index[g] = at
			priorities[g.tag]++
			if at < mostGroups {
				o.groups = append(o.groups, g)
			}
		}
		o.groupOf[i] = at
	}
	for i := range o.groups {
		o.groups[i].apart = priorities[o.groups[i].tag] > 1
	}
	o.delivered, o.ended = make([]history[int64], len(o.groups)), make([]int64, len(o.groups))
	o.waiting = starting{
		scenario: s, order: byStart(s.Flows), started: &r.started,
		of: func(*scenario.Flow) bool { return true },
	}
	return o
}

// sample takes a sample.
func (o *overview) sample(now vtime.Time, e *engine.Engine, flows flowSet, pfc *pfcTotals) {
	if o == nil {
		return
	}
	state, at := e.State(), 0
	for _, id := range o.ports {
		for _, priority := range o.data {
			class := &state.Ports[id].Class[priority]
			if o.queues[at].note(o.samples, uint32(min(class.QueueBytes, math.MaxUint32))) {
				o.entries++
			}
			if o.ingress[at].note(o.samples, uint32(min(class.Buffered, math.MaxUint32))) {
				o.entries++
			}
			at++
		}
	}
	if o.entries > mostEntries {
		o.forget()
	}
	o.all.note(o.samples, pfc.pauses)
	for i, port := range pfc.order {
		if i == len(o.pauses) {
			o.pauses = append(o.pauses, portPauses{port: topologies.PortID(port)})
		}
		for priority, n := range pfc.byPort[port].sent {
			o.pauses[i].by[priority].note(o.samples, n)
		}
	}
	o.sampleFlows(now, flows)
	o.samples++
}

func (o *overview) sampleFlows(now vtime.Time, flows flowSet) {
	for i, ok := o.waiting.before(now + 1); ok; i, ok = o.waiting.before(now + 1) {
		if int(o.groupOf[o.scenario.Entry(i)]) < len(o.groups) {
			o.active = append(o.active, int32(i))
		}
	}
	sums := slices.Clone(o.ended)
	kept := o.active[:0]
	for _, i := range o.active {
		n, g := flows.delivered(int(i)), o.groupOf[o.scenario.Entry(int(i))]
		sums[g] += n
		if flows.finished(int(i)) == vtime.Never {
			kept = append(kept, i)
		} else {
			o.ended[g] += n
		}
	}
	o.active = kept
	for g := range sums {
		o.delivered[g].note(o.samples, sums[g])
	}
}

// forget frees memory: the half of the queues with the lowest peaks loses its past and starts again.
func (o *overview) forget() {
	for _, all := range [][]history[uint32]{o.queues, o.ingress} {
		peaks := lists.Map(all, func(h history[uint32]) uint32 { return h.peak })
		slices.Sort(peaks)
		middle := peaks[len(peaks)/2]
		keep := len(all) / 2
		for i := range all {
			h := &all[i]
			if h.peak >= middle && keep > 0 {
				keep--
				continue
			}
			o.entries -= len(h.changes)
			*h = history[uint32]{from: o.samples, last: h.last, peak: h.peak}
			if h.last != 0 {
				h.changes = append(h.changes, change[uint32]{uint32(o.samples), h.last})
				o.entries++
			}
		}
	}
}

// chosen holds a default panel with its points.
type chosen struct {
	scenario.Panel
	points []rundir.Points
}

// add adds a line to a panel.
func (c *chosen) add(s scenario.Series, points rundir.Points) {
	c.Series, c.points = append(c.Series, s), append(c.points, points)
}

// panels chooses the default panels.
func (o *overview) panels(rows []collectiveRun) ([]scenario.Panel, [][]rundir.Points) {
	var all []chosen
	all = append(all, o.goodput(), o.longestQueues())
	switch {
	case o.scenario.Switch.FlowControl == switchagent.FlowCBFC:
		all = append(all, o.bufferedIngress("Ingress against the credits' buffer", bufferedNote, "cbfc.buffer"))
	case o.pausing():
		all = append(all, o.bufferedIngress("Ingress against XOFF", bufferedNote+"; at XOFF it sends PAUSE", "pfc.xoff"))
		all = append(all, o.pauseRates())
	}
	all = append(all, o.timeline(rows))
	var panels []scenario.Panel
	var points [][]rundir.Points
	for i := range all {
		if len(all[i].Series) > 0 {
			panels, points = append(panels, all[i].Panel), append(points, all[i].points)
		}
	}
	return panels, points
}

// pausing reports whether switches may pause data.
func (o *overview) pausing() bool {
	return o.scenario.DataPriorities()&o.scenario.Switch.Lossless() != 0 || o.all.peak > 0
}

// window returns the number of samples to average rates over: ten, or one if nearly everything happened within a few.
func (o *overview) window() int {
	last := uint32(0)
	for i := range o.delivered {
		if n := len(o.delivered[i].changes); n > 0 {
			last = max(last, o.delivered[i].changes[n-1].sample)
		}
	}
	if last < shortHistory {
		return 1
	}
	return rateSamples
}

// level returns the number at each sample.
func level[V uint32 | int64](o *overview, h *history[V]) (p rundir.Points) {
	v, next := V(0), 0
	for n := h.from; n < o.samples; n++ {
		for next < len(h.changes) && int(h.changes[next].sample) <= n {
			v = h.changes[next].value
			next++
		}
		p.Time = append(p.Time, (vtime.Time(n) * o.scenario.Sample.Interval).RoundNanoseconds())
		p.Value = append(p.Value, float64(v))
	}
	return p
}

// growth returns the growth of the number per second, in windows of some samples.
func (o *overview) growth(h *history[int64], samples int) (p rundir.Points) {
	all, window := level(o, h), vtime.Time(samples)*o.scenario.Sample.Interval
	for n := samples; n < len(all.Value); n += samples {
		p.Time = append(p.Time, all.Time[n])
		p.Value = append(p.Value, (all.Value[n]-all.Value[n-samples])/window.Seconds())
	}
	return p
}

// averaged returns an empty panel of rates.
func (o *overview) averaged(title string, window int) chosen {
	c := chosen{Panel: scenario.Panel{Title: title, Window: vtime.Time(window) * o.scenario.Sample.Interval}}
	c.Note = fmt.Sprintf("averaged over %v", c.Window)
	return c
}

func (o *overview) goodput() chosen {
	window := o.window()
	c := o.averaged("Goodput by tag", window)
	shown := make([]int, len(o.groups))
	for i := range shown {
		shown[i] = i
	}
	if len(shown) > shownGroups {
		slices.SortStableFunc(shown, func(a, b int) int { return cmp.Compare(o.delivered[b].last, o.delivered[a].last) })
		c.Note += fmt.Sprintf("; the %[2]d of %[1]d tags with the most delivered bytes", len(shown), shownGroups)
		shown = shown[:shownGroups]
		slices.Sort(shown)
	}
	for _, i := range shown {
		g := &o.groups[i]
		s := scenario.Series{Label: g.tag, Quantity: scenario.Throughput, Tag: g.tag}
		if g.apart {
			s.Label, s.Priority = fmt.Sprintf("%s, priority %d", g.tag, g.priority), 1+g.priority
		}
		points := o.growth(&o.delivered[i], window)
		for k := range points.Value {
			points.Value[k] *= 8
		}
		c.add(s, points)
	}
	return c
}

// perPriority returns the number of drawn ports of each priority.
func (o *overview) perPriority() int { return max(1, shownPorts/len(o.data)) }

// series returns a line about a port, or about one of its priorities if data has several.
func (o *overview) series(q scenario.Quantity, port topologies.PortID, priority uint8,
	reference string,
) scenario.Series {
	plan := o.scenario.Topology
	way := "to"
	if q == scenario.IngressBytes {
		way = "from"
	}
	p := &plan.Ports[port]
	s := scenario.Series{
		Label:    fmt.Sprintf("%s %s %s", plan.Nodes[p.Node].Name, way, plan.PeerNode(port).Name),
		Quantity: q, Port: port,
	}
	if len(plan.PortsBetween(p.Node, plan.PeerNode(port).ID)) > 1 {
		s.Label += fmt.Sprintf(" (%s)", p.Name)
	}
	if len(o.data) > 1 {
		s.Label += fmt.Sprintf(", priority %d", priority)
		s.Priority = 1 + priority
	}
	s.Reference.Setting = reference
	return s
}

// highest returns the indexes of the histories (queues or ingress) with the highest keys, some for each priority, in
// order of priorities. It omits those far below the highest of the priority.
func (o *overview) highest(histories []history[uint32], key func(i int) int64) (all []int) {
	for k := range o.data {
		most := uint32(0)
		for i := k; i < len(histories); i += len(o.data) {
			most = max(most, histories[i].peak)
		}
		var own []int
		for i := k; i < len(histories); i += len(o.data) {
			if histories[i].peak > most/20 {
				own = append(own, i)
			}
		}
		slices.SortStableFunc(own, func(a, b int) int { return cmp.Compare(key(b), key(a)) })
		all = append(all, own[:min(len(own), o.perPriority())]...)
	}
	return all
}

func (o *overview) at(i int) (topologies.PortID, uint8) {
	return o.ports[i/len(o.data)], o.data[i%len(o.data)]
}

func (o *overview) longestQueues() chosen {
	c := chosen{Panel: scenario.Panel{Title: "Longest queues"}}
	c.Note = "the egress ports of switches with the longest queues of each run"
	for _, i := range o.highest(o.queues, func(i int) int64 { return int64(o.queues[i].peak) }) {
		port, priority := o.at(i)
		c.add(o.series(scenario.QueueBytes, port, priority, "ecn.kmin"), level(o, &o.queues[i]))
	}
	return c
}

const bufferedNote = "bytes that a switch buffers of frames from an ingress port"

// bufferedIngress returns a panel of the ports that sent the most PAUSE frames, and among equals of those with the
// most buffered bytes.
func (o *overview) bufferedIngress(title, note, reference string) chosen {
	c := chosen{Panel: scenario.Panel{Title: title, Note: note}}
	most := int64(0)
	for i := range o.ingress {
		most = max(most, int64(o.ingress[i].peak))
	}
	sent := map[topologies.PortID]*portPauses{}
	for i := range o.pauses {
		sent[o.pauses[i].port] = &o.pauses[i]
	}
	key := func(i int) int64 {
		frames := int64(0)
		if port, priority := o.at(i); sent[port] != nil {
			frames = sent[port].by[priority].last
		}
		return frames*(most+1) + int64(o.ingress[i].peak)
	}
	for _, i := range o.highest(o.ingress, key) {
		port, priority := o.at(i)
		c.add(o.series(scenario.IngressBytes, port, priority, reference), level(o, &o.ingress[i]))
	}
	return c
}

// pauseRates returns a panel of all ports together, and of the ports (of switches or hosts) that sent the most PAUSE
// frames.
func (o *overview) pauseRates() chosen {
	window := o.window()
	c := o.averaged("PAUSE frames", window)
	c.add(scenario.Series{Label: "all ports", Quantity: scenario.PauseRate, Port: scenario.AllPorts},
		o.growth(&o.all, window))
	for _, priority := range o.data {
		var own []*portPauses
		for i := range o.pauses {
			if o.pauses[i].by[priority].last > 0 {
				own = append(own, &o.pauses[i])
			}
		}
		slices.SortStableFunc(own, func(a, b *portPauses) int {
			return cmp.Compare(b.by[priority].last, a.by[priority].last)
		})
		for _, of := range own[:min(len(own), o.perPriority())] {
			c.add(o.series(scenario.PauseRate, of.port, priority, ""), o.growth(&of.by[priority], window))
		}
	}
	return c
}

// timeline returns a panel of the collective operations, each at its number while it is in progress. Overlapping
// operations of a tag have separate lines.
func (o *overview) timeline(rows []collectiveRun) chosen {
	c := chosen{Panel: scenario.Panel{Title: "Collective operations"}}
	c.Note = "each from start to end, one above the other in the order of collectives.csv"
	free := map[string][]int{} // series of each label
	for i := range rows {
		r := &rows[i]
		if !r.Ended {
			continue
		}
		label := r.tag + ": " + r.Kind
		from, to := r.Start.RoundNanoseconds(), (r.Start + r.Time).RoundNanoseconds()
		lanes := free[label]
		at := slices.IndexFunc(lanes, func(k int) bool { return c.points[k].Time[len(c.points[k].Time)-1] <= from })
		if at < 0 {
			if len(lanes) == shownLanes {
				continue
			}
			at = len(lanes)
			free[label] = append(lanes, len(c.Series))
			c.add(scenario.Series{Label: label, Quantity: scenario.Collective, Tag: r.tag},
				rundir.Points{Time: []int64{0}, Value: []float64{0}})
		}
		p := &c.points[free[label][at]]
		p.Time, p.Value = append(p.Time, from, to), append(p.Value, float64(i+1), 0)
	}
	return c
}

// tallied selects the flows of a tally: those with a tag and a priority (1 + priority; 0: any).
type tallied struct {
	tag      string
	priority uint8
}

func talliedBy(s *scenario.Series) tallied { return tallied{s.Tag, s.Priority} }

// tally sums up the flows with a tag for panels. It visits only flows in progress, some hundreds out of a hundred
// thousand in a large workload.
type tally struct {
	waiting starting
	active  []int32 // flows that had started and not ended at the last update
	ended   int64   // payload bytes of the other started flows
}

// look updates a tally.
func (t *tally) look(now vtime.Time, flows flowSet) {
	for i, ok := t.waiting.before(now + 1); ok; i, ok = t.waiting.before(now + 1) {
		t.active = append(t.active, int32(i))
	}
	kept := t.active[:0]
	for _, i := range t.active {
		if flows.finished(int(i)) == vtime.Never {
			kept = append(kept, i)
		} else {
			t.ended += flows.delivered(int(i))
		}
	}
	t.active = kept
}

// delivered returns the payload bytes that have arrived.
func (t *tally) delivered(flows flowSet) int64 {
	sum := t.ended
	for _, i := range t.active {
		sum += flows.delivered(int(i))
	}
	return sum
}

// rate returns the sum of the controllers' rates, in bits per second.
func (t *tally) rate(flows flowSet) float64 {
	sum := 0.0
	for _, i := range t.active {
		sum += flows.rate(int(i))
	}
	return sum
}
