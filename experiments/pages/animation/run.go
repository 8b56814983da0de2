package animation

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/pausenet/pausenet/experiments/results/replay"
)

// run holds a replay, and returns its state at any time. Times are in ns.
type run struct {
	*replay.Decoded
	ports     []port
	nodePorts [][]int
	times     []int64
	queue     [][]int64 // by row, at each sample, as sent
	sent      [][]int64
	samples   [][]int64 // pause states by row; used if there are no PFC frames
	pfc       [4][]int64
	pauses    [][]pause // by port, in order
	plots     []plotted // by panel
	paths     [][]int64
	tags      []int64
	flowStart []int64
	fct       []int64
	end       float64
}

// Rows of run.pfc.
const (
	pfcTime = iota
	pfcPort
	pfcPriority
	pfcPause
)

// port represents an end of a link, which sends to the other end.
type port struct {
	node, peerNode int
	rate, delay    float64
	row            int // -1 if it was not sampled
}

// pause represents an interval in which a port may not send.
type pause struct{ from, to float64 }

// plotted holds the points of a panel's series.
type plotted struct{ x, y [][]int64 }

// newRun decodes the columns that pictures need.
func newRun(d *replay.Decoded) (*run, error) {
	r := &run{Decoded: d}
	var failed error
	rows := func(name string) [][]int64 {
		all, err := d.Column(name)
		failed = cmp.Or(failed, err)
		return all
	}
	one := func(name string) []int64 {
		if all := rows(name); len(all) > 0 {
			return all[0]
		}
		return nil
	}
	r.times, r.queue, r.sent, r.samples = one("times"), rows("queue"), rows("sent"), rows("paused")
	r.pfc = [4][]int64{one("pfc.time"), one("pfc.port"), one("pfc.priority"), one("pfc.pause")}
	r.paths, r.tags, r.flowStart, r.fct = rows("paths"), one("flow.tag"), one("flow.start"), one("flow.fct")
	for i := range d.Panels {
		r.plots = append(r.plots, plotted{rows(panelColumn(i, "time")), rows(panelColumn(i, "value"))})
	}
	if failed != nil {
		return nil, failed
	}
	r.takePorts()
	r.takePauses()
	r.end = d.Duration
	for _, times := range [][]int64{r.times, r.pfc[pfcTime]} {
		if n := len(times); n > 0 {
			r.end = max(r.end, float64(times[n-1]))
		}
	}
	return r, nil
}

func (r *run) takePorts() {
	r.nodePorts = make([][]int, len(r.Nodes))
	for id := range r.Ports {
		l := r.Links[id/2]
		p := port{node: l.A, peerNode: l.B, rate: l.Rate, delay: l.Delay, row: slices.Index(r.Rows, id)}
		if id%2 == 1 {
			p.node, p.peerNode = l.B, l.A
		}
		r.ports = append(r.ports, p)
		r.nodePorts[p.node] = append(r.nodePorts[p.node], id)
	}
}

// takePauses works out when each port was paused: from when a PAUSE arrives until a RESUME does, or until the PAUSE
// expires.
func (r *run) takePauses() {
	r.pauses = make([][]pause, len(r.ports))
	type paused struct{ port, priority int64 }
	open := map[paused]pause{}
	for i, t := range r.pfc[pfcTime] {
		sender := r.ports[r.pfc[pfcPort][i]]
		key := paused{r.pfc[pfcPort][i] ^ 1, r.pfc[pfcPriority][i]}
		at := float64(t) + sender.delay
		now, is := open[key]
		if is && now.to < at {
			r.pauses[key.port] = append(r.pauses[key.port], now)
			is = false
			delete(open, key)
		}
		switch {
		case r.pfc[pfcPause][i] == 1:
			if !is {
				now.from = at
			}
			now.to = at + r.Quanta*512e9/sender.rate
			open[key] = now
		case is:
			now.to = at
			r.pauses[key.port] = append(r.pauses[key.port], now)
			delete(open, key)
		}
	}
	for key, p := range open {
		r.pauses[key.port] = append(r.pauses[key.port], p)
	}
	for _, list := range r.pauses {
		slices.SortFunc(list, func(a, b pause) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	}
}

// sample returns the number of the last sample at or before a time, or -1 for none.
func (r *run) sample(t float64) int {
	return sort.Search(len(r.times), func(i int) bool { return float64(r.times[i]) > t }) - 1
}

// pausedShown sets the least fraction of the time since the previous frame for which a port must have been paused to be
// drawn as paused although it no longer is.
const pausedShown = 0.1

// paused reports whether a port is drawn as paused at t, in a frame that follows the previous one after step.
func (r *run) paused(id int, t, step float64) bool {
	if len(r.pfc[pfcTime]) == 0 {
		i, row := r.sample(t), r.ports[id].row
		return row >= 0 && row < len(r.samples) && i >= 0 && i < len(r.samples[row]) && r.samples[row][i] == 1
	}
	share := 0.0
	list := r.pauses[id]
	// Those of several priorities overlap, so that a few that begin earlier may end later.
	for k := sort.Search(len(list), func(i int) bool { return list[i].from > t }) - 1; k >= 0; k-- {
		if t < list[k].to {
			return true
		}
		share += max(0, list[k].to-max(list[k].from, t-step))
		if list[k].to < t-step && list[k].from < t-8*step {
			break
		}
	}
	return share > 0 && share >= pausedShown*step
}

// value returns a row's number at a sample, or 0 for none.
func value(rows [][]int64, row, sample int) int64 {
	if row < 0 || row >= len(rows) || sample < 0 || sample >= len(rows[row]) {
		return 0
	}
	return rows[row][sample]
}

// utilization returns the share of its rate that a port has used since the previous frame, over at least one sample.
func (r *run) utilization(id int, t, step float64) float64 {
	last := r.sample(t)
	first := max(0, min(r.sample(t-step), last-1))
	p := r.ports[id]
	if last < 1 || p.row < 0 {
		return 0
	}
	return float64(value(r.sent, p.row, last)-value(r.sent, p.row,
		first)) * 8e9 / float64(r.times[last]-r.times[first]) / p.rate
}

// peak returns the longest queue in an interval.
func (r *run) peak(from, to float64) int64 {
	most := int64(0)
	first, last := max(0, r.sample(from)), r.sample(to)
	for _, row := range r.queue {
		for i := first; i <= last && i < len(row); i++ {
			most = max(most, row[i])
		}
	}
	return most
}

// path returns the ports on the path of the only flow of a tag; nil for several flows or an unrecorded path.
func (r *run) path(tag string) (ports []int64) {
	for flow, t := range r.tags {
		if r.Tags[t] != tag || flow >= len(r.paths) {
			continue
		}
		if ports != nil {
			return nil
		}
		ports = r.paths[flow]
	}
	return ports
}

// firstAndLast returns when the first PAUSE was sent, and the last RESUME or PAUSE.
func (r *run) firstAndLast() (first, last float64) {
	first, last = math.Inf(1), math.Inf(-1)
	for i, t := range r.pfc[pfcTime] {
		if r.pfc[pfcPause][i] == 1 {
			first = min(first, float64(t))
		}
		last = max(last, float64(t))
	}
	return first, last
}
