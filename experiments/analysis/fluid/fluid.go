// Package fluid models flows without packets, queues or delays. Each flow is a fluid with a rate on its links that
// changes only when a flow starts or ends. The model shows what a fabric's links allow under any control. It is pure:
// flows in, times out.
package fluid

import (
	"cmp"
	"math"
	"slices"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Flow represents a flow as a fluid.
type Flow struct {
	Start vtime.Time
	Work  int64      // bytes on each link, including everything that takes line time; 0: unbounded
	Cap   units.Rate // maximum rate; 0: none
	Path  []int      // indexes of its links' rates, each once; at least one
}

// Discipline selects a rule by which flows share links.
type Discipline uint8

const (
	// MaxMin selects max-min fairness: no flow's rate can increase without lowering that of a flow with no higher rate
	// (Bertsekas and Gallager, Data Networks, section 6.5.2). A congestion control that is fair, wastes nothing and
	// reacts at once achieves this.
	MaxMin Discipline = iota
	// ShortestFirst serves flows in order of their remaining bytes, least first: each gets everything that earlier
	// ones leave on its path. It sorts again when a flow starts or ends. On one link this is SRPT, which has the
	// lowest mean completion time of any order. Over several links it is a heuristic and proves nothing, because a
	// short flow may hold up several longer ones on different links. LowerBound is proven.
	ShortestFirst
)

// String returns the discipline's name: "max-min" or "shortest-first".
func (d Discipline) String() string {
	if d == ShortestFirst {
		return "shortest-first"
	}
	return "max-min"
}

// Run returns how long each flow takes under a discipline, in picoseconds from its start; +Inf for a flow that has not
// ended by until (vtime.Never: no limit). rates are the rates of the links, above 0.
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

// simultaneous sets the time, in picoseconds, within which ends of flows count as one, because rounding errors need no
// shares of their own.
const simultaneous = 1e-3

// fluid represents a running flow.
type fluid struct {
	flow  int
	left  float64 // bytes
	rate  float64 // bytes per picosecond
	path  []int
	fixed bool // has its share, during sharing
}

// model holds the state of a run.
type model struct {
	flows    []Flow
	order    []int // indexes of the flows, by start
	paths    [][]int
	capacity []float64 // of links, in bytes per picosecond, followed by one entry for each flow with a cap
	active   []*fluid  // by start, or as shortestFirst sorted them
	took     []float64

	// State of the sharing in progress, by link.
	free    []float64  // capacity not given to a flow
	waiting []int      // number of flows without a share
	users   [][]*fluid // all flows
	level   []float64
	later   []bool // a flow of the link also uses one with a lower level
	links   []int  // reused memory for links with waiting flows, and for flows
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

// run advances from one start or end to the next.
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
	f.left = cmp.Or(f.left, math.Inf(1))
	m.active = append(m.active, f)
}

// advance runs all flows for a span until now.
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
