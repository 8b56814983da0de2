package runner

import (
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// congestion finds out when an egress port of a switch was congested, and when it was paused by PFC.
//
// A port is *congested* while its queue is at or above a threshold though nothing but its own link keeps it from
// sending: the root of a congestion. The threshold is where ECN always marks (kmax), whether the controller listens or
// not, so that controllers compare; without ECN it is XOFF. A port that PAUSE holds is not congested, however long its
// queue. Nor is it afterwards while it clears what was stopped, here and at the ports before it: until its queue has
// once been below the threshold, but for no longer than it had been paused.
//
// The longest queue comes from the port's own counter, which is taken every so often, and just before a PAUSE arrives.
// So no congestion is missed, however short; when it began and ended is known to that time.
type congestion struct {
	scenario *scenario.Scenario
	// Its switch settings, whatever the controller makes of them: shared buffers by switch, and thresholds by port.
	buffers, kmax []units.Bytes

	engine *engine.Engine
	every  vtime.Time // between two polls, and the gap that parts two stretches
	next   vtime.Time
	ports  []watched // by port
}

// watched is what is known of an egress port.
type watched struct {
	peak      int64 // bytes in its queues, over the run
	state     holding
	since     vtime.Time // when the peak was last taken
	stopped   vtime.Time // when PAUSE stopped the port that was free
	until     vtime.Time // when the last PAUSE runs out
	resumed   vtime.Time // when it was last let go
	congested stretches
	paused    stretches // of the data's priority
}

type holding uint8

const (
	free     holding = iota
	paused           // by PFC
	clearing         // what PFC stopped
)

// looks is how many looks a scenario's duration has at most.
const looks = 1000

func newCongestion(s *scenario.Scenario) *congestion {
	resolved := scenario.ResolveThresholds(s.Topology, scenario.EverySwitch(s.Topology, &s.Switch))
	kmax := make([]units.Bytes, len(resolved.Ports))
	for i := range kmax {
		kmax[i] = resolved.Ports[i].KMax
	}
	return &congestion{
		scenario: s, buffers: resolved.Buffers, kmax: kmax,
		every: max(s.Sample.Interval, s.Duration/looks), ports: make([]watched, len(s.Topology.Ports)),
	}
}

// threshold is that of a switch's port, in bytes; with a dynamic XOFF, as it is.
func (c *congestion) threshold(id topologies.PortID, xoff uint64) int64 {
	s := &c.scenario.Switch
	switch {
	case s.ECN.Mode != switchagent.ECNOff:
		return int64(c.kmax[id])
	case s.PFC.Priorities == 0:
		plan := c.scenario.Topology
		return int64(c.buffers[plan.Nodes[plan.Ports[id].Node].Index])
	}
	return int64(xoff)
}

// sample looks at all ports, if it is time.
func (c *congestion) sample(now vtime.Time) {
	if now >= c.next {
		c.look(now)
		c.next = now + c.every
	}
}

func (c *congestion) look(now vtime.Time) {
	plan := c.scenario.Topology
	for sw, id := range plan.Switch {
		for _, port := range plan.Nodes[id].Ports {
			c.lookAt(now, sw, port)
		}
	}
}

func (c *congestion) lookAt(now vtime.Time, sw int, id topologies.PortID) {
	port := c.engine.Switch(sw).Port(int(id))
	c.take(now, id, port.TakePeak(), port.QueuedBytes(), c.engine.State().Threshold(int(id)))
}

// take is told of a port's longest queue since the last time, and of its queue.
func (c *congestion) take(now vtime.Time, id topologies.PortID, peak, queued int64, xoff uint64) {
	w, threshold := &c.ports[id], c.threshold(id, xoff)
	w.peak = max(w.peak, peak)
	if now >= w.until { // no RESUME came: it was a host's, or it was lost
		w.goOn(w.until)
	}
	switch w.state {
	case free:
		if peak >= threshold {
			w.congested.add(w.since, now, c.every)
		}
	case clearing:
		if queued < threshold || now-w.resumed >= w.resumed-w.stopped {
			w.state = free
		}
	}
	w.since = now
}

// pause is told that the peer of an egress port has sent it PAUSE; the frame is on its way.
func (c *congestion) pause(now vtime.Time, id topologies.PortID) {
	c.ports[id].paused.begin(now+c.scenario.Topology.Ports[id].Delay, c.every)
}

// resume is told that the peer has sent it RESUME.
func (c *congestion) resume(now vtime.Time, id topologies.PortID) {
	c.ports[id].paused.end(now + c.scenario.Topology.Ports[id].Delay)
}

// came is told of a PAUSE or a RESUME that a switch's port has taken, whether of the data's priority or of another. Of
// another it says only how long the queue has been: the port's counter has begun anew.
func (c *congestion) came(a engine.PFCArrival, data bool) {
	id := topologies.PortID(a.Port)
	c.take(a.At, id, a.Peak, a.Queued, a.XOFF)
	w := &c.ports[id]
	if !data {
		return
	}
	if !a.Pause {
		w.goOn(a.At)
		return
	}
	if w.state == free {
		w.stopped = a.At
	}
	w.state, w.until = paused, a.Until
}

// linkDown is told that a port's link has gone down: its pause is over.
func (c *congestion) linkDown(now vtime.Time, id topologies.PortID) {
	if n := &c.scenario.Topology.Nodes[c.scenario.Topology.Ports[id].Node]; n.Kind == topologies.Switch {
		c.lookAt(now, n.Index, id)
		c.ports[id].goOn(now)
	}
}

// goOn is told that the port may send again.
func (w *watched) goOn(now vtime.Time) {
	if w.state == paused {
		w.state, w.resumed = clearing, now
	}
}
