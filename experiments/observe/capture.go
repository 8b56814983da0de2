package observe

import (
	"container/heap"
	"slices"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/capture"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// wireCapture captures the frames that some ports send and receive into one pcapng file (--pcap). The plane shows a
// frame when it arrives, but a frame that a captured port sends gets the time of its departure. So records wait until
// no earlier one can follow, also from other partitions of the engine.
type wireCapture struct {
	ports   []topologies.PortID
	file    *capture.Writer // nil before the start
	engine  *engine.Engine
	waiting records
	lag     vtime.Time // maximum time from a frame's departure to its arrival
	order   int
	err     error
}

// record holds a captured frame.
type record struct {
	at    vtime.Time
	order int // breaks ties of at
	port  int
	frame []byte
}

// Capture returns an observer that captures the wires of some ports into capture.pcapng.
func Capture(ports []topologies.PortID) runner.NewObserver {
	return func(*scenario.Setup) (*runner.Observer, error) {
		c := &wireCapture{ports: ports}
		return &runner.Observer{OneProcessor: true, Start: c.start, Close: c.close}, nil
	}
}

// start taps the wires.
func (c *wireCapture) start(r *runner.Observed) error {
	plan := r.Scenario.Topology
	to, err := r.Folder.Create("capture.pcapng")
	if err != nil {
		return err
	}
	c.file, c.engine = capture.NewFile(to), r.Engine
	// Each direction of a link has one tap, even if both its ends are captured.
	taps := map[topologies.PortID][]func(wire []byte){}
	var order []topologies.PortID
	add := func(into topologies.PortID, f func(wire []byte)) {
		if taps[into] == nil {
			order = append(order, into)
		}
		taps[into] = append(taps[into], f)
	}
	for i, id := range c.ports {
		if slices.Contains(c.ports[:i], id) { // listed twice
			continue
		}
		p := &plan.Ports[id]
		n, err := c.file.AddPort(p.Name)
		if err != nil {
			return err
		}
		c.lag = max(c.lag, p.Delay+p.Rate.TimeFor(plan.Framing.LineBytes(plane.FrameSize(plan))))
		add(id, func(wire []byte) { c.keep(c.engine.Now(), n, wire) })
		add(p.Peer, func(wire []byte) { c.keep(c.engine.Departed(), n, wire) })
	}
	for _, into := range order {
		calls := taps[into]
		err := r.Plane.Tap(int(into), func(wire []byte) {
			for _, f := range calls {
				f(wire)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// keep adds a record.
func (c *wireCapture) keep(at vtime.Time, port int, frame []byte) {
	heap.Push(&c.waiting, record{at: at, order: c.order, port: port, frame: append([]byte(nil), frame...)})
	c.order++
	c.flush(c.engine.Synchronised() - c.lag)
}

// flush writes the records up to a time.
func (c *wireCapture) flush(until vtime.Time) {
	for len(c.waiting) > 0 && c.waiting[0].at <= until {
		r := heap.Pop(&c.waiting).(record)
		if err := c.file.Write(r.port, r.at, r.frame); err != nil && c.err == nil {
			c.err = err
		}
	}
}

// close writes the remaining records and closes the file.
func (c *wireCapture) close() error {
	if c.file == nil {
		return nil
	}
	c.flush(vtime.Never)
	if err := c.file.Close(); err != nil {
		return err
	}
	return c.err
}

// records implements a heap of records by time, and by order at equal times.
type records []record

func (r records) Len() int { return len(r) }
func (r records) Less(i, j int) bool {
	return r[i].at < r[j].at || r[i].at == r[j].at && r[i].order < r[j].order
}
func (r records) Swap(i, j int) { r[i], r[j] = r[j], r[i] }
func (r *records) Push(x any)   { *r = append(*r, x.(record)) }
func (r *records) Pop() any {
	old := *r
	last := old[len(old)-1]
	*r = old[:len(old)-1]
	return last
}
