package engine

import (
	"math"
	"slices"
	"sort"

	"github.com/pausenet/pausenet/vtime"
)

// A run need not keep a flow for each message of a job: it has a flow while the message is open, in a slot that it
// reuses, and 16 bytes of a message that has ended. Results are the same.

// MessagesConfig describes messages between operations.
type MessagesConfig struct {
	Count int
	// Flow returns the configuration of the message with a number, without Start. It must always return the same.
	Flow    func(number int) FlowConfig
	LastRTT bool // keep the last RTT of messages that have ended
}

// messageTable holds messages with consecutive numbers.
type messageTable struct {
	number  int // of the first message
	flow    func(number int) FlowConfig
	results []messageResult
	lastRTT []uint32     // in ns; nil: not kept
	others  map[int]Flow // messages that have ended, and whose results messageResult cannot hold
}

// messageState tells what messageResult holds.
type messageState uint8

const (
	messageAhead messageState = iota // it has not started
	messageOpen                      // it has started: detail is its slot
	messageEnded                     // detail is its FCT in ps
	messageOther                     // it has ended, and messageTable.others holds it
)

type messageResult struct {
	start  vtime.Time
	detail uint32
	marked uint16
	state  messageState
}

// messageSlots holds the messages that have started and not ended, in chunks that are made as they are needed. Each
// partition has some places for chunks, so that workers share none.
type messageSlots struct {
	tables []*messageTable
	chunks []*[slotChunk]Flow
	sent   []int // number of messages that hosts of each partition send
}

// table returns the table of the message with a number.
func (s *messageSlots) table(number int) *messageTable {
	return s.tables[sort.Search(len(s.tables), func(i int) bool { return s.tables[i].number > number })-1]
}

// MessageSlots returns the number of slots so far for messages that have started and not ended.
func (e *Engine) MessageSlots() (n int) {
	for _, chunk := range e.messages.chunks {
		if chunk != nil {
			n += slotChunk
		}
	}
	return n
}

// addTable adds a table of messages, which have the next numbers.
func (e *Engine) addTable(count int, flow func(number int) FlowConfig, lastRTT bool) *messageTable {
	t := &messageTable{number: e.added, flow: flow, results: make([]messageResult, count), others: map[int]Flow{}}
	if lastRTT {
		t.lastRTT = make([]uint32, count)
	}
	e.fabric.messages.tables = append(e.messages.tables, t)
	e.fabric.added += count
	e.openFlows += count
	if e.messages.sent == nil {
		e.fabric.messages.sent = make([]int, len(e.partitions))
	}
	return t
}

// makeChunks gives each partition its places for chunks, as many as if no slot were reused.
func (e *Engine) makeChunks() {
	chunks := int32(0)
	for i, p := range e.partitions {
		p.nextChunk = chunks
		chunks += int32(e.messages.sent[i]+slotChunk-1) / slotChunk
	}
	e.fabric.messages.chunks = make([]*[slotChunk]Flow, chunks)
}

// openMessage makes the flow of a message, which starts now.
func (w *worker) openMessage(number int) {
	t := w.messages.table(number)
	f := Flow{FlowConfig: t.flow(number), Number: number, Finished: vtime.Never, timerAt: vtime.Never}
	f.Start = vtime.Never
	of := w.ports[f.sourcePort(w.plan)].partition
	slot := w.takeSlot(w.partitions[of])
	*w.messages.slot(int(slot)) = f
	t.results[number-t.number] = messageResult{start: vtime.Never, detail: uint32(slot), state: messageOpen}
	w.scheduledStarts++
	w.push(of, w.now, eventStart, int32(len(w.flows))+slot)
}

// takeSlot returns a free slot for a message that a host of the partition sends.
func (w *worker) takeSlot(of *partitionState) int32 {
	if len(of.slots) == 0 {
		chunk := of.nextChunk
		of.nextChunk++
		w.messages.chunks[chunk] = new([slotChunk]Flow)
		for i := int32(slotChunk - 1); i >= 0; i-- {
			of.slots = append(of.slots, chunk*slotChunk+i)
		}
	}
	last := len(of.slots) - 1
	slot := of.slots[last]
	of.slots = of.slots[:last]
	return slot
}

// messageStarted records the start of a message.
func (w *worker) messageStarted(f *Flow) {
	t := w.messages.table(f.Number)
	t.results[f.Number-t.number].start = f.Start
}

// freeMessages keeps the results of messages that have ended, among flows by id, and frees their slots. Call it after
// all observers have been notified of the end.
func (e *Engine) freeMessages(ids []int32) {
	if len(e.messages.tables) == 0 {
		return
	}
	// so that slots are reused alike
	slices.SortFunc(ids, func(a, b int32) int { return e.nameOf(int(a)) - e.nameOf(int(b)) })
	for _, id := range ids {
		slot := id - int32(len(e.flows))
		if slot < 0 {
			continue
		}
		f := e.flow(int(id))
		e.checkFlow(f)
		e.keepControlError(f)
		e.messages.table(f.Number).keep(f)
		of := e.partitions[e.ports[f.sourcePort(e.plan)].partition]
		of.slots = append(of.slots, slot)
		*f = Flow{FlowConfig: FlowConfig{Start: vtime.Never}, Finished: vtime.Never, timerAt: vtime.Never}
	}
}

// keep keeps the results of a message that has ended.
func (t *messageTable) keep(f *Flow) {
	i := f.Number - t.number
	if t.lastRTT != nil {
		t.lastRTT[i] = uint32(min(f.LastRTT().RoundNanoseconds(), math.MaxUint32))
	}
	congested, undetermined := f.Marked()
	fct := f.Finished - f.Start
	if fct > math.MaxUint32 || congested > math.MaxUint16 || undetermined > 0 || f.Retransmitted() > 0 ||
		f.Recovery() != (FlowRecovery{}) || f.Delivered() != f.Size {
		other := *f
		other.past = flowOutcome{
			f.Delivered(), f.Retransmitted(), uint32(congested), uint32(undetermined), f.LastRTT(), nil,
		}
		if met := f.Recovery(); met != (FlowRecovery{}) {
			other.past.recovery = &met
		}
		other.Sender, other.Receiver = nil, nil
		t.others[f.Number], t.results[i].state = other, messageOther
		return
	}
	t.results[i].state, t.results[i].detail, t.results[i].marked = messageEnded, uint32(fct), uint16(congested)
}

// Message returns a copy of the flow with a number: one of Flows, or a message. A message has neither a Sender nor a
// Receiver unless it has started and not ended.
func (e *Engine) Message(number int) Flow {
	if number < len(e.flows) {
		return e.flows[number]
	}
	t := e.messages.table(number)
	v := &t.results[number-t.number]
	switch v.state {
	case messageOpen:
		return *e.messages.slot(int(v.detail))
	case messageOther:
		return t.others[number]
	}
	f := Flow{FlowConfig: t.flow(number), Number: number, Finished: vtime.Never, timerAt: vtime.Never}
	f.Start = vtime.Never
	if v.state == messageEnded {
		f.Start, f.Finished = v.start, v.start+vtime.Time(v.detail)
		f.past.delivered, f.past.marked = f.Size, uint32(v.marked)
		if t.lastRTT != nil {
			f.past.lastRTT = vtime.Time(t.lastRTT[number-t.number]) * vtime.Nanosecond
		}
	}
	return f
}
