package scenario

import (
	"fmt"

	"github.com/pausenet/pausenet/experiments/measure"
)

// Bytes of memory that a run takes for a flow, for a message of a graph that has a flow always, for one that has a flow
// only while it is open, and for the message of a ring that is kept as a rule: fitted to peaks of whole runs
// (docs/performance.md).
const (
	FlowMemory    = 450
	MessageMemory = FlowMemory + 600
	StreamMemory  = 600
	RingMemory    = 28
)

// messageMemory returns the bytes of memory that a message of the workload takes.
func (w *Workload) messageMemory() int64 {
	if w.ringsOnly {
		return RingMemory
	}
	return StreamMemory
}

const (
	// usualFlows limits the flows of a scenario if the memory for them is unknown. Messages of rings do not count.
	usualFlows = 4_000_000
	// mostNumbers limits the numbers of flows, which have 31 bits.
	mostNumbers = 1 << 30
)

// mostFlows returns the maximum number of flows, by the memory.
func (s *Scenario) mostFlows() int {
	return min(max(usualFlows, int(s.memory/FlowMemory)), mostNumbers)
}

// mostMessages returns the maximum number of flows of which all are messages that take some bytes of memory each.
func (s *Scenario) mostMessages(each int64) int {
	if s.memory == 0 && each == RingMemory {
		return mostNumbers
	}
	return min(max(usualFlows, int(s.memory/each)), mostNumbers)
}

// tooMany describes a number of flows, each with some bytes, that is too large.
func (s *Scenario) tooMany(flows float64, each int64) string {
	if s.memory == 0 || flows > mostNumbers {
		limit := usualFlows
		if each == RingMemory || s.memory > 0 {
			limit = mostNumbers
		}
		return fmt.Sprintf("the scenario has about %.0f flows: it may have at most %d", flows, limit)
	}
	return fmt.Sprintf("the scenario has about %.0f flows, which take about %v of memory: %v are available", flows,
		measure.KindSize.Text(flows*float64(each)), measure.KindSize.Text(float64(s.memory)))
}
