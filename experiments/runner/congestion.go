package runner

import (
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// congestion records when an egress port of a switch was congested, and when PFC paused it.
//
// A port is *congested* while its queue is at or above a threshold although only its own link keeps it from sending:
// it is the root of a congestion. The threshold is the one at which ECN always marks (kmax), whether or not the
// controller reacts, so that controllers compare; without ECN it is XOFF. A paused port is not congested, however long
// its queue. After a pause it is still not congested while it clears the frames that the pause stopped here and at
// earlier ports. That lasts until its queue has once been below the threshold, but no longer than the pause.
//
// The longest queue comes from the port's own counter, which is read at intervals and just before a PAUSE arrives. So
// every congestion is detected, however short. Its start and end are known to the length of an interval.
type congestion struct {
	scenario *scenario.Scenario
	// Switch settings of the scenario, whether or not the controller needs them: shared buffers by switch, and
	// thresholds by port.
	buffers, kmax []units.Bytes

	engine *engine.Engine
	every  vtime.Time // time between two polls, and the smallest gap between two intervals
	next   vtime.Time
	ports  []watched // by port
}

// watched holds the state of an egress port.
type watched struct {
	peak      int64 // maximum bytes in its queues, over the run
	state     holding
	since     vtime.Time // time of the last reading of the peak
	stopped   vtime.Time // time at which PAUSE stopped the free port
	until     vtime.Time // time at which the last PAUSE expires
	resumed   vtime.Time // time of the last resume
	congested intervals
	paused    intervals // with the data's priority
}

type holding uint8

const (
	free     holding = iota
	paused           // by PFC
	clearing         // frames that PFC stopped
)

// looks limits the number of polls in a scenario's duration.
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

// threshold returns the threshold of a switch's port, in bytes; with a dynamic XOFF, the current value.
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

// sample polls all ports, if it is time.
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

// take processes a port's longest queue since the last poll, and its current queue.
func (c *congestion) take(now vtime.Time, id topologies.PortID, peak, queued int64, xoff uint64) {
	w, threshold := &c.ports[id], c.threshold(id, xoff)
	w.peak = max(w.peak, peak)
	if now >= w.until { // no RESUME arrived: the PAUSE was a host's, or the RESUME was lost
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

// pause processes a PAUSE that the peer of an egress port has sent and that is still on the link.
func (c *congestion) pause(now vtime.Time, id topologies.PortID) {
	c.ports[id].paused.begin(now+c.scenario.Topology.Ports[id].Delay, c.every)
}

// resume processes a RESUME that the peer has sent.
func (c *congestion) resume(now vtime.Time, id topologies.PortID) {
	c.ports[id].paused.end(now + c.scenario.Topology.Ports[id].Delay)
}

// pfcArrived processes a PAUSE or RESUME that arrived at a switch's port. For a priority other than the data's, it only
// reads the longest queue, because the port's counter restarts.
func (c *congestion) pfcArrived(a engine.PFCArrival, data bool) {
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

// linkDown ends the pause of a port whose link went down.
func (c *congestion) linkDown(now vtime.Time, id topologies.PortID) {
	if n := &c.scenario.Topology.Nodes[c.scenario.Topology.Ports[id].Node]; n.Kind == topologies.Switch {
		c.lookAt(now, n.Index, id)
		c.ports[id].goOn(now)
	}
}

// goOn marks the port as free to send.
func (w *watched) goOn(now vtime.Time) {
	if w.state == paused {
		w.state, w.resumed = clearing, now
	}
}
