package engine

import (
	"slices"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/vtime"
)

// flowTable holds the flows of a run.
type flowTable struct {
	flows       []Flow
	added       int     // flows so far
	freeSlots   []int32 // slots of ended flows, for reuse; in a live fabric
	data        uint8   // data priorities of single flows: bit n for priority n
	flowsReport bool    // some flow's receiver has report periods, although the hosts' settings have none
}

// Reserve makes room for this many more flows.
func (t *flowTable) Reserve(flows int) { t.flows = slices.Grow(t.flows, flows) }

// Flows returns all flows, by number. In a live fabric it returns the flows that have not ended, in any order, and free
// slots, whose start and end is vtime.Never.
func (t *flowTable) Flows() []Flow { return t.flows }

// AddedFlows returns the number of flows added so far.
func (t *flowTable) AddedFlows() int { return t.added }

// addFlowSlot numbers a flow and stores it in a slot.
func (t *flowTable) addFlowSlot(c FlowConfig) (id int) {
	f := Flow{FlowConfig: c, Number: t.added, Finished: vtime.Never, timerAt: vtime.Never}
	t.added++
	if h := c.Hosts; h != nil {
		t.flowsReport = t.flowsReport || h.Notify == hostagent.NotifyPCN || h.Grants
		t.data |= 1 << h.DataPriority
	}
	if n := len(t.freeSlots); n > 0 {
		id = int(t.freeSlots[n-1])
		t.freeSlots = t.freeSlots[:n-1]
		t.flows[id] = f
	} else {
		id = len(t.flows)
		t.flows = append(t.flows, f)
	}
	return id
}

// freeSlot empties a slot, for another flow.
func (t *flowTable) freeSlot(id int32) {
	t.flows[id] = Flow{FlowConfig: FlowConfig{Start: vtime.Never}, Finished: vtime.Never, timerAt: vtime.Never}
	t.freeSlots = append(t.freeSlots, id)
}
