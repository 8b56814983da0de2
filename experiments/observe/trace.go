package observe

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/observe/perfetto"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// trace writes a trace for ui.perfetto.dev (--perfetto). Times are rounded to nanoseconds. A node is a process with
// these tracks:
//
//   - One for each port and priority: a slice for each time that PFC paused the port, with an arrow from the pause that
//     caused it (runner.Hold.By). Tracks of the port's samples are below it.
//   - For a host: a slice for each flow that it sends, and the flow's rate.
//   - Events: an instant for each fault.
type trace struct {
	writer *perfetto.Writer
	file   io.Closer
	run    *runner.Observed
	plan   *topologies.Plan

	nodes  map[int]perfetto.Track // by number
	events map[int]perfetto.Track
	queues map[queueOf]perfetto.Track
	ports  map[topologies.PortID]*portCounters
	rates  map[int]*counter // by flow
	holds  map[*runner.Hold]*perfetto.Slice
	arrows uint64
}

// queueOf identifies a port's egress queue of a priority.
type queueOf struct {
	port     topologies.PortID
	priority uint8
}

// counter writes a counter track. It omits a value that equals the previous one.
type counter struct {
	track   perfetto.Track
	last    int64
	started bool
}

// portCounters holds the counters of a port's samples.
type portCounters struct {
	queue, ingress, throughput, marks counter
	sent, marked                      int64 // totals at the last sample
}

// Perfetto returns an observer that writes a trace for ui.perfetto.dev.
func Perfetto(u *scenario.Setup) (*runner.Observer, error) {
	t := &trace{
		plan: u.Scenario.Topology, nodes: map[int]perfetto.Track{}, events: map[int]perfetto.Track{},
		queues: map[queueOf]perfetto.Track{},
		ports:  map[topologies.PortID]*portCounters{}, rates: map[int]*counter{}, holds: map[*runner.Hold]*perfetto.Slice{},
	}
	return &runner.Observer{
		Start: t.start, Port: t.port, Rate: t.rate, Paused: t.pause, Resumed: t.resume, Fault: t.event, End: t.end,
		Close: t.close,
	}, nil
}

func (t *trace) start(r *runner.Observed) error {
	file, err := r.Folder.Create(rundir.PerfettoFile)
	if err != nil {
		return err
	}
	t.run, t.file, t.writer = r, file, perfetto.New(file)
	return nil
}

// node returns the track of a node, or of the whole fabric.
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

// set writes a value of a counter.
func (t *trace) set(c *counter, now vtime.Time, v int64) {
	if !c.started || c.last != v {
		c.started, c.last = true, v
		t.writer.Value(c.track, now.RoundNanoseconds(), v)
	}
}

func (t *trace) port(now vtime.Time, p runner.PortSample) {
	c := t.ports[p.Port]
	if c == nil {
		below := t.queue(queueOf{p.Port, t.run.Scenario.Host.DataPriority})
		c = &portCounters{}
		c.queue.track = t.writer.Counter(below, "egress queue", perfetto.Bytes, "")
		c.ingress.track = t.writer.Counter(below, "ingress buffer", perfetto.Bytes, "")
		c.throughput.track = t.writer.Counter(below, "throughput", perfetto.Other, "bit/s")
		c.marks.track = t.writer.Counter(below, "ECN marks a sample", perfetto.Count, "")
		t.ports[p.Port] = c
	}
	t.set(&c.queue, now, int64(p.Queue))
	t.set(&c.ingress, now, int64(p.Ingress))
	t.set(&c.throughput, now, int64(math.Round(float64(p.Sent-c.sent)*8/t.run.Scenario.Sample.Interval.Seconds())))
	t.set(&c.marks, now, p.Marked-c.marked)
	c.sent, c.marked = p.Sent, p.Marked
}

// rate adds a sample of a flow.
func (t *trace) rate(now vtime.Time, flow int, bps float64) {
	c := t.rates[flow]
	if c == nil {
		f := &t.run.Scenario.Flows[flow]
		c = &counter{track: t.writer.Counter(t.node(int(f.Source)), fmt.Sprintf("rate of flow %d (%s)", flow, f.Tag),
			perfetto.Other, "bit/s")}
		t.rates[flow] = c
	}
	t.set(c, now, int64(math.Round(bps)))
}

// pause starts the slice of a hold.
func (t *trace) pause(h *runner.Hold) {
	by := &t.plan.Ports[t.plan.Ports[h.Port].Peer]
	s := &perfetto.Slice{
		Track: t.queue(queueOf{h.Port, h.Priority}), Name: "paused by " + t.plan.Nodes[by.Node].Name,
		From: h.From.RoundNanoseconds(),
		Notes: []perfetto.Note{
			{Name: "PAUSE sent by port", Text: by.Name},
			{Name: "hops from the root", Whole: int64(h.Depth)},
		},
	}
	t.holds[h] = s
	if h.By == nil {
		return
	}
	if cause := t.holds[h.By]; cause != nil && cause.From < s.From { // in Perfetto, arrows point forward in time
		t.arrows++
		s.Caused = t.arrows
		cause.Causes = append(cause.Causes, t.arrows)
	}
}

// resume ends the slice of a hold.
func (t *trace) resume(h *runner.Hold) { t.slice(h, h.To) }

// slice writes the slice of a hold that ends at to.
func (t *trace) slice(h *runner.Hold, to vtime.Time) {
	s := t.holds[h]
	delete(t.holds, h)
	s.To = max(s.From, to.RoundNanoseconds())
	t.writer.Slice(s)
}

// fabric stands for the whole fabric in place of a node.
const (
	fabric     = -1
	fabricName = "fabric"
)

// event adds a fault or another event of the fabric.
func (t *trace) event(ev *engine.FaultEvent) {
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

// row represents a track of a host's flows that do not overlap in time.
type row struct {
	track perfetto.Track
	until vtime.Time
}

// flows writes a slice for each flow that has started.
func (t *trace) flows(now vtime.Time) {
	rows := map[topologies.NodeID][]row{} // by host
	t.run.EachStarted(func(f *runner.FlowState) {
		spec := &t.run.Scenario.Flows[f.Flow]
		s := perfetto.Slice{
			Name: fmt.Sprintf("%s to %s", spec.Tag, t.plan.Nodes[spec.Destination].Name), From: f.Start.RoundNanoseconds(),
			Notes: []perfetto.Note{
				{Name: "flow", Whole: int64(f.Flow)},
				{Name: "size in bytes", Whole: int64(spec.Size)},
				{Name: "delivered bytes", Whole: f.Delivered},
			},
		}
		end := f.Finished
		if end == vtime.Never {
			end = now
			s.Notes = append(s.Notes, perfetto.Note{Name: "unfinished", Whole: 1})
		}
		s.To = end.RoundNanoseconds()
		own := rows[spec.Source]
		k := 0
		for k < len(own) && own[k].until > f.Start {
			k++
		}
		if k == len(own) {
			own = append(own, row{track: t.writer.Track(t.node(int(spec.Source)), "flows")})
		}
		s.Track, own[k].until = own[k].track, end
		rows[spec.Source] = own
		t.writer.Slice(&s)
	})
}

// end writes the holds that have not ended and the flows.
func (t *trace) end() {
	now := t.run.Engine.Now()
	open := slices.SortedFunc(maps.Keys(t.holds), func(a, b *runner.Hold) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Priority, b.Priority))
	})
	for _, h := range open {
		t.slice(h, now)
	}
	t.flows(now)
}

// close closes the file.
func (t *trace) close() error {
	if t.writer == nil {
		return nil
	}
	return errors.Join(t.writer.Close(), t.file.Close())
}
