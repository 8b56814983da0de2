// Package fluid is a model of flows without packets, queues or delays: each is a fluid that runs over its links at a
// rate, which changes only as a flow starts or ends. It says what a fabric's links allow, whatever controls the flows.
// It is pure: flows in, times out.
package fluid

import (
	"cmp"
	"math"
	"slices"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Flow is a flow's fluid.
type Flow struct {
	Start vtime.Time
	Work  int64      // bytes to carry over each link, all that takes line time counted; 0: unbounded
	Cap   units.Rate // the most that it takes; 0: no such limit
	Path  []int      // the links, each once, as indexes of their rates; at least one
}

// Discipline is a rule by which flows share links.
type Discipline uint8

const (
	// MaxMin is max-min fairness: no flow's rate can be raised without lowering that of one that has no more (Bertsekas
	// and Gallager, Data Networks, section 6.5.2). A congestion control that is fair, wastes nothing and knows everything
	// at once comes to that.
	MaxMin Discipline = iota
	// ShortestFirst serves flows by what they have left, least first: each takes all that those before it have left on its
	// path. The order is decided anew as a flow starts or ends. On one link this is SRPT, whose mean completion time no
	// order of service beats. Over several links it is a heuristic and proves nothing: a short flow may hold up several
	// longer ones on different links. LowerBound is what is proven.
	ShortestFirst
)

// String is the discipline's name: "max-min" or "shortest-first".
func (d Discipline) String() string {
	if d == ShortestFirst {
		return "shortest-first"
	}
	return "max-min"
}

// Run is how long each flow takes under a discipline, in picoseconds from its start; +Inf for one that has not ended
// until then (vtime.Never: none is cut off). rates are those of the links, above 0.
func Run(rates []units.Rate, flows []Flow, d Discipline, until vtime.Time) []float64 {
	m := newModel(rates, flows)
	share := m.maxMin
	if d == ShortestFirst {
		share = m.shortestFirst
	}
	end := math.Inf(1)
	if until != vtime.Never {
		end = float64(until)
	}
	m.run(share, end)
	return m.took
}

// simultaneous is how much later than another's end, in picoseconds, a flow may end to end with it: rounding errors are
// not worth shares of their own.
const simultaneous = 1e-3

// fluid is a flow that runs.
type fluid struct {
	flow  int
	left  float64 // bytes
	rate  float64 // bytes a picosecond
	path  []int
	fixed bool // has its share, while shares are dealt out
}

// model is the state of a run.
type model struct {
	flows    []Flow
	order    []int // the flows, by start
	paths    [][]int
	capacity []float64 // of links, in bytes a picosecond; behind them one of its own for each flow with a cap
	active   []*fluid  // by start, but as shortestFirst left them
	took     []float64

	// Of the sharing under way, by link.
	free    []float64  // capacity that no flow has
	waiting []int      // flows without a share
	users   [][]*fluid // all flows
	level   []float64
	later   []bool // a flow of the link's meets one with a lower level
	links   []int  // room for those with flows that wait, and for the flows
	todo    []*fluid
}

func newModel(rates []units.Rate, flows []Flow) *model {
	m := &model{
		flows: flows, took: make([]float64, len(flows)), order: make([]int, len(flows)),
		paths: make([][]int, len(flows)),
	}
	for _, rate := range rates {
		m.capacity = append(m.capacity, bytesPerPicosecond(rate))
	}
	for i := range flows {
		f := &flows[i]
		m.took[i], m.order[i], m.paths[i] = math.Inf(1), i, f.Path
		if f.Cap > 0 {
			m.paths[i] = append(slices.Clone(f.Path), len(m.capacity))
			m.capacity = append(m.capacity, bytesPerPicosecond(f.Cap))
		}
	}
	slices.SortStableFunc(m.order, func(a, b int) int { return cmp.Compare(flows[a].Start, flows[b].Start) })
	n := len(m.capacity)
	m.free, m.waiting, m.users = make([]float64, n), make([]int, n), make([][]*fluid, n)
	m.level, m.later = make([]float64, n), make([]bool, n)
	return m
}

func bytesPerPicosecond(rate units.Rate) float64 { return float64(rate) / 8 / float64(vtime.Second) }

// run goes from one start or end to the next.
func (m *model) run(share func(), until float64) {
	now, started := 0.0, 0
	for {
		if len(m.active) == 0 && started < len(m.order) {
			now = float64(m.flows[m.order[started]].Start)
		}
		for started < len(m.order) && float64(m.flows[m.order[started]].Start) <= now {
			m.begin(m.order[started])
			started++
		}
		share()
		span := math.Inf(1)
		for _, f := range m.active {
			span = min(span, f.left/f.rate)
		}
		next := now + span
		if started < len(m.order) {
			if start := float64(m.flows[m.order[started]].Start); start < next {
				span, next = start-now, start
			}
		}
		if next > until || math.IsInf(next, 1) {
			return
		}
		now = next
		m.advance(now, span)
	}
}

func (m *model) begin(flow int) {
	f := &fluid{flow: flow, left: float64(m.flows[flow].Work), path: m.paths[flow]}
	if f.left == 0 {
		f.left = math.Inf(1)
	}
	m.active = append(m.active, f)
}

// advance has all flows run for a span until now.
func (m *model) advance(now, span float64) {
	running := m.active[:0]
	for _, f := range m.active {
		if f.left/f.rate <= span+simultaneous {
			m.took[f.flow] = now - float64(m.flows[f.flow].Start)
			continue
		}
		f.left -= f.rate * span
		running = append(running, f)
	}
	clear(m.active[len(running):])
	m.active = running
}
