package runner

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/pausenet/pausenet/experiments/perfetto"
	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// trace is a run's --perfetto: a process a node; below it a track a port and priority, on which each time that the port
// was paused is a slice, with an arrow from the pause that brought it about, as spread.go has it; below that, what the
// port was sampled to be. Flows are slices and rates of the host that sends them, faults instants. Times are rounded to
// nanoseconds.
type trace struct {
	writer *perfetto.Writer
	file   io.Closer
	run    *runner
	plan   *topologies.Plan

	nodes  map[int]perfetto.Track // by number
	events map[int]perfetto.Track
	queues map[queueOf]perfetto.Track
	ports  map[topologies.PortID]*portCounters
	rates  map[int]*counter // by flow
	holds  map[*hold]*perfetto.Slice
	arrows uint64
}

// queueOf is a port's egress queue of a priority.
type queueOf struct {
	port     topologies.PortID
	priority uint8
}

// counter is one with its last value: equal ones that follow are not written.
type counter struct {
	track perfetto.Track
	last  int64
	begun bool
}

// portCounters are what is sampled of a port.
type portCounters struct {
	queue, ingress, throughput, marks counter
	sent, marked                      int64 // in all, at the last sample
}

// startTrace has the run traced; without --perfetto it returns nil, whose methods do nothing.
func startTrace(r *runner) (*trace, error) {
	if !r.options.Perfetto {
		return nil, nil
	}
	file, err := r.folder.Create(rundir.PerfettoFile)
	if err != nil {
		return nil, err
	}
	return &trace{
		writer: perfetto.New(file), file: file, run: r, plan: r.Scenario.Topology,
		nodes: map[int]perfetto.Track{}, events: map[int]perfetto.Track{}, queues: map[queueOf]perfetto.Track{},
		ports: map[topologies.PortID]*portCounters{}, rates: map[int]*counter{}, holds: map[*hold]*perfetto.Slice{},
	}, nil
}

func (t *trace) node(id int) perfetto.Track {
	track, known := t.nodes[id]
	if !known {
		number, name := len(t.plan.Nodes)+1, fabricName
		if id != fabric {
			number, name = id+1, t.plan.Nodes[id].Name
		}
		track = t.writer.Process(number, name)
		t.nodes[id] = track
	}
	return track
}

func (t *trace) queue(q queueOf) perfetto.Track {
	track, known := t.queues[q]
	if !known {
		p := &t.plan.Ports[q.port]
		track = t.writer.Track(t.node(int(p.Node)), fmt.Sprintf("%s to %s, priority %d", p.Name, t.plan.PeerNode(q.port).Name,
			q.priority))
		t.queues[q] = track
	}
	return track
}

func (t *trace) set(c *counter, now vtime.Time, v int64) {
	if !c.begun || c.last != v {
		c.begun, c.last = true, v
		t.writer.Value(c.track, now.RoundNanoseconds(), v)
	}
}

// sample takes a sample of a port.
func (t *trace) sample(now vtime.Time, id topologies.PortID, priority uint8, queue, ingress uint64, sent,
	marked int64,
) {
	if t == nil {
		return
	}
	c := t.ports[id]
	if c == nil {
		below := t.queue(queueOf{id, priority})
		c = &portCounters{}
		c.queue.track = t.writer.Counter(below, "egress queue", perfetto.Bytes, "")
		c.ingress.track = t.writer.Counter(below, "ingress buffer", perfetto.Bytes, "")
		c.throughput.track = t.writer.Counter(below, "throughput", perfetto.Other, "bit/s")
		c.marks.track = t.writer.Counter(below, "ECN marks a sample", perfetto.Count, "")
		t.ports[id] = c
	}
	t.set(&c.queue, now, int64(queue))
	t.set(&c.ingress, now, int64(ingress))
	t.set(&c.throughput, now, int64(math.Round(float64(sent-c.sent)*8/t.run.Scenario.Sample.Interval.Seconds())))
	t.set(&c.marks, now, marked-c.marked)
	c.sent, c.marked = sent, marked
}

// rate takes a sample of a flow.
func (t *trace) rate(now vtime.Time, flow int, bps float64) {
	if t == nil {
		return
	}
	c := t.rates[flow]
	if c == nil {
		f := &t.run.Scenario.Flows[flow]
		c = &counter{track: t.writer.Counter(t.node(int(f.Source)), fmt.Sprintf("rate of flow %d (%s)", flow, f.Tag),
			perfetto.Other, "bit/s")}
		t.rates[flow] = c
	}
	t.set(c, now, int64(math.Round(bps)))
}

// pause is told of a hold that begins.
func (t *trace) pause(h *hold, priority uint8) {
	if t == nil {
		return
	}
	by := &t.plan.Ports[t.plan.Ports[h.port].Peer]
	s := &perfetto.Slice{
		Track: t.queue(queueOf{h.port, priority}), Name: "paused by " + t.plan.Nodes[by.Node].Name,
		From: h.from.RoundNanoseconds(),
		Notes: []perfetto.Note{
			{Name: "PAUSE sent by port", Text: by.Name},
			{Name: "hops from the root", Whole: int64(h.depth)},
		},
	}
	t.holds[h] = s
	if h.by == nil {
		return
	}
	if cause := t.holds[h.by]; cause != nil && cause.From < s.From { // Perfetto has arrows go forward in time
		t.arrows++
		s.Caused = t.arrows
		cause.Causes = append(cause.Causes, t.arrows)
	}
}

// resume is told of a hold that has ended.
func (t *trace) resume(h *hold) {
	if t == nil || h == nil {
		return
	}
	s := t.holds[h]
	delete(t.holds, h)
	s.To = max(s.From, h.to.RoundNanoseconds())
	t.writer.Slice(s)
}

// fabric, by its name, has the events of the whole fabric.
const (
	fabric     = -1
	fabricName = "fabric"
)

// event is told of what happened to the fabric.
func (t *trace) event(ev *engine.FaultEvent) {
	if t == nil {
		return
	}
	node, place := fabric, ""
	if ev.Port >= 0 {
		p := &t.plan.Ports[ev.Port]
		node, place = int(p.Node), p.Name
	}
	track, known := t.events[node]
	if !known {
		track = t.writer.Track(t.node(node), "events")
		t.events[node] = track
	}
	var notes []perfetto.Note
	for _, n := range []perfetto.Note{{Name: "port", Text: place}, {Name: "detail", Text: ev.Detail}} {
		if n.Text != "" {
			notes = append(notes, n)
		}
	}
	t.writer.Instant(track, strings.ReplaceAll(ev.Kind, "_", " "), ev.At.RoundNanoseconds(), notes...)
}

// row is one of several that show a host's flows, no two at a time.
type row struct {
	track perfetto.Track
	until vtime.Time
}

// flows writes a slice for each flow that has started.
func (t *trace) flows(now vtime.Time) {
	rows := map[topologies.NodeID][]row{} // by host
	flows, specs := t.run.flows(), t.run.Scenario.Flows
	all := starting{
		flows: specs, order: byStart(specs), of: func(*scenario.Flow) bool { return true },
		begun: &t.run.recorder.begun,
	}
	for i, ok := all.before(now); ok; i, ok = all.before(now) {
		spec := &specs[i]
		if !flows.started(i) {
			continue
		}
		s := perfetto.Slice{
			Name: fmt.Sprintf("%s to %s", spec.Tag, t.plan.Nodes[spec.Destination].Name),
			From: flows.start(i).RoundNanoseconds(),
			Notes: []perfetto.Note{
				{Name: "flow", Whole: int64(i)},
				{Name: "size in bytes", Whole: int64(spec.Size)},
				{Name: "delivered bytes", Whole: flows.delivered(i)},
			},
		}
		end := flows.finished(i)
		if end == vtime.Never {
			end = now
			s.Notes = append(s.Notes, perfetto.Note{Name: "unfinished", Whole: 1})
		}
		s.To = end.RoundNanoseconds()
		own := rows[spec.Source]
		k := 0
		for k < len(own) && own[k].until > flows.start(i) {
			k++
		}
		if k == len(own) {
			own = append(own, row{track: t.writer.Track(t.node(int(spec.Source)), "flows")})
		}
		s.Track, own[k].until = own[k].track, end
		rows[spec.Source] = own
		t.writer.Slice(&s)
	}
}

// finish writes what lasts to the end of the run, and the flows.
func (t *trace) finish(now vtime.Time) {
	if t == nil {
		return
	}
	for _, last := range t.run.recorder.spread.holds {
		if last == nil {
			continue
		}
		for _, h := range last {
			if h != nil && h.to == vtime.Never {
				h.to = now
				t.resume(h)
			}
		}
	}
	t.flows(now)
}

// Close writes what is still to be written.
func (t *trace) Close() error {
	if t == nil {
		return nil
	}
	err := t.writer.Close()
	if e := t.file.Close(); err == nil {
		err = e
	}
	return err
}
