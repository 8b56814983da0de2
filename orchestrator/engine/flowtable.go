package engine

import (
	"iter"
	"slices"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/vtime"
)

// flowTable holds the flows of a run. The slots of messages of rings follow the flows.
type flowTable struct {
	flows       []Flow
	messages    messageSlots
	added       int     // flows so far
	freeSlots   []int32 // slots of ended flows, for reuse; in a live fabric
	data        uint8   // data priorities of single flows: bit n for priority n
	flowsReport bool    // some flow's receiver has report periods, although the hosts' settings have none
}

// Reserve makes room for this many more flows.
func (t *flowTable) Reserve(flows int) { t.flows = slices.Grow(t.flows, flows) }

// Flows returns all flows, by number, without the messages of rings (see Message). In a live fabric it returns the
// flows that have not ended, in any order, and free slots, whose start and end is vtime.Never.
func (t *flowTable) Flows() []Flow { return t.flows }

// flow returns the flow with an id: its index in flows, or that of the message's slot after them.
func (t *flowTable) flow(id int) *Flow {
	if id < len(t.flows) {
		return &t.flows[id]
	}
	return t.messages.slot(id - len(t.flows))
}

// nameOf returns the number by which callers know the flow with an id. For a slot's message that is its number.
func (t *flowTable) nameOf(id int) int {
	if id < len(t.flows) {
		return id
	}
	return t.flow(id).Number
}

// EachFlow iterates over all flows, and the messages of rings that have started and not ended, by id.
func (t *flowTable) EachFlow() iter.Seq2[int, *Flow] {
	return func(yield func(int, *Flow) bool) {
		for i := range t.flows {
			if !yield(i, &t.flows[i]) {
				return
			}
		}
		for i, chunk := range t.messages.chunks {
			if chunk == nil {
				continue
			}
			for k := range chunk {
				if f := &chunk[k]; f.Send != 0 && !yield(len(t.flows)+i*slotChunk+k, f) {
					return
				}
			}
		}
	}
}

// AddedFlows returns the number of flows added so far.
func (t *flowTable) AddedFlows() int { return t.added }

// addFlowSlot numbers a flow and stores it in a slot.
func (t *flowTable) addFlowSlot(c FlowConfig) (id int) {
	f := Flow{FlowConfig: c, Number: t.added, Finished: vtime.Never, timerAt: vtime.Never}
	t.added++
	t.noteHosts(c.Hosts)
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

// noteHosts records the needs of a flow with settings of its own.
func (t *flowTable) noteHosts(h *hostagent.Settings) {
	if h != nil {
		t.flowsReport = t.flowsReport || h.Notify == hostagent.NotifyPCN || h.Grants
		t.data |= 1 << h.DataPriority
	}
}

// freeSlot empties a slot, for another flow.
func (t *flowTable) freeSlot(id int32) {
	t.flows[id] = Flow{FlowConfig: FlowConfig{Start: vtime.Never}, Finished: vtime.Never, timerAt: vtime.Never}
	t.freeSlots = append(t.freeSlots, id)
}

// slotChunk sets the number of slots that a partition gets at once.
const slotChunk = 64

// slot returns the flow in a slot.
func (s *messageSlots) slot(i int) *Flow { return &s.chunks[i/slotChunk][i%slotChunk] }
