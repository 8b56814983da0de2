package engine

import (
	"math"
	"slices"
	"sort"

	"github.com/pausenet/pausenet/vtime"
)

// A ring is a collective whose messages follow a rule, so that a run keeps neither operations nor flows of messages
// that have not started, and 16 bytes of a message that has ended. Without it a message takes two operations and a
// flow. Results are the same.

// RingConfig describes the messages of a collective on a ring of ranks: each rank sends Steps times Chunks messages to
// the next rank, one after the other. A rank sends a message when the last packet of the previous one has started to
// leave, and when the message that is Chunks earlier has arrived from the rank before.
type RingConfig struct {
	// Enter and Leave hold operations that join others, by rank: a rank starts when Enter has ended, and Leave waits for
	// all of its messages.
	Enter, Leave  []int
	Steps, Chunks int
	Size          func(rank, message int) int64
	// Flows holds the messages of each rank, without Size, Start, Entropy, Send and Receive.
	Flows   []FlowConfig
	Entropy func(number int) uint64 // of the message with that number; nil: 0
	LastRTT bool                    // keep the last RTT of messages that have ended
}

// ring holds a ring of a run. A rank belongs to its host's partition, and only the worker that drives it changes the
// rank.
type ring struct {
	RingConfig
	index   int32
	number  int // of its first message
	ranks   []ringRank
	results []messageResult
	lastRTT []uint32     // in ns; nil: not kept
	others  map[int]Flow // messages that have ended, and whose results messageResult cannot hold
}

// ringRank holds the progress of a rank. Messages are numbered in the order in which it sends, or receives.
type ringRank struct {
	entered         bool
	begun           int32 // messages that it has begun to send
	sent            int32 // messages whose last packet has started to leave
	acknowledged    int32
	delivered       int32   // messages before this one have all arrived
	deliveredBeyond []int32 // further ones that have
}

// messageState tells what messageResult holds.
type messageState uint8

const (
	messageAhead messageState = iota // it has not started
	messageOpen                      // it has started: detail is its slot
	messageEnded                     // detail is its FCT in ps
	messageOther                     // it has ended, and ring.others holds it
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
	chunks []*[slotChunk]Flow
	sent   []int // number of messages that hosts of each partition send
}

// slotChunk sets the number of slots that a partition gets at once.
const slotChunk = 64

func (s *messageSlots) slot(i int) *Flow { return &s.chunks[i/slotChunk][i%slotChunk] }

// MessageSlots returns the number of slots so far for messages of rings that have started and not ended.
func (e *Engine) MessageSlots() (n int) {
	for _, chunk := range e.messages.chunks {
		if chunk != nil {
			n += slotChunk
		}
	}
	return n
}

// AddRing adds a ring, whose messages have the next numbers: by step, then by rank, then by chunk. Call it before the
// run, after all operations and flows have been added.
func (e *Engine) AddRing(c RingConfig) {
	n := len(c.Flows)
	total := n * c.Steps * c.Chunks
	r := &ring{
		RingConfig: c, index: int32(len(e.rings)), number: e.added, ranks: make([]ringRank, n),
		results: make([]messageResult, total),
		others:  map[int]Flow{},
	}
	if c.LastRTT {
		r.lastRTT = make([]uint32, total)
	}
	e.fabric.rings = append(e.rings, r)
	if e.messages.sent == nil {
		e.fabric.messages.sent = make([]int, len(e.partitions))
	}
	for rank := range n {
		e.messages.sent[e.ports[c.Flows[rank].sourcePort(e.plan)].partition] += c.Steps * c.Chunks
		enter := &e.operations[c.Enter[rank]]
		enter.ring, enter.rank = 1+r.index, int32(rank)
		e.operations[c.Leave[rank]].waits++
		e.noteHosts(c.Flows[rank].Hosts)
	}
	e.fabric.added += total
	e.openFlows += total
	e.openOperations += 2 * total
	chunks := int32(0)
	for i, p := range e.partitions { // as if no slot were reused
		p.nextChunk = chunks
		chunks += int32(e.messages.sent[i]+slotChunk-1) / slotChunk
	}
	e.fabric.messages.chunks = make([]*[slotChunk]Flow, chunks)
}

// messages returns the number of messages that a rank sends.
func (r *ring) messages() int32 { return int32(r.Steps * r.Chunks) }

func (r *ring) numberOf(rank int, message int32) int {
	step, chunk := int(message)/r.Chunks, int(message)%r.Chunks
	return r.number + (step*len(r.ranks)+rank)*r.Chunks + chunk
}

// position returns the sending rank of the message with a number, and which of the rank's messages it is.
func (r *ring) position(number int) (rank int, message int32) {
	i := number - r.number
	turn := i / r.Chunks
	return turn % len(r.ranks), int32(turn/len(r.ranks)*r.Chunks + i%r.Chunks)
}

// enterRing starts a rank.
func (w *worker) enterRing(r *ring, rank int) {
	s := &r.ranks[rank]
	s.entered = true
	w.tryMessage(r, rank)
	w.operationsEnded(int(s.delivered) + len(s.deliveredBeyond)) // the receives of messages that came before
}

// tryMessage begins the next message of a rank, if all that it waits for has happened.
func (w *worker) tryMessage(r *ring, rank int) {
	s := &r.ranks[rank]
	m := s.begun
	needs := m - int32(r.Chunks)
	if !s.entered || m == r.messages() || s.sent < m || needs >= s.delivered &&
		!slices.Contains(s.deliveredBeyond, needs) {
		return
	}
	s.begun++
	number := r.numberOf(rank, m)
	f := Flow{FlowConfig: r.Flows[rank], Number: number, Finished: vtime.Never, timerAt: vtime.Never}
	f.Size, f.Start = r.Size(rank, int(m)), vtime.Never
	if r.Entropy != nil {
		f.FlowConfig.Entropy = r.Entropy(number)
	}
	of := w.ports[f.sourcePort(w.plan)].partition
	f.Send, f.Receive = -1-r.index, -1-r.index
	slot := w.takeSlot(w.partitions[of])
	*w.messages.slot(int(slot)) = f
	r.results[number-r.number] = messageResult{start: vtime.Never, detail: uint32(slot), state: messageOpen}
	w.lastProgress = max(w.lastProgress, w.now)
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
	r := w.rings[-1-f.Send]
	r.results[f.Number-r.number].start = f.Start
}

// messageSent records that a message's last packet has started to leave.
func (w *worker) messageSent(f *Flow) {
	r := w.rings[-1-f.Send]
	rank, _ := r.position(f.Number)
	r.ranks[rank].sent++
	w.tryMessage(r, rank)
}

// messageAcknowledged records that the sender knows of a message's arrival.
func (w *worker) messageAcknowledged(f *Flow) {
	r := w.rings[-1-f.Send]
	rank, _ := r.position(f.Number)
	r.ranks[rank].acknowledged++
	w.operationsEnded(1)
	w.tryLeave(r, rank)
}

// messageDelivered records that a message has arrived.
func (w *worker) messageDelivered(f *Flow) {
	r := w.rings[-1-f.Receive]
	rank, m := r.position(f.Number)
	rank = (rank + 1) % len(r.ranks)
	s := &r.ranks[rank]
	if m != s.delivered {
		s.deliveredBeyond = append(s.deliveredBeyond, m)
	} else {
		s.delivered++
		for i := 0; i >= 0; {
			if i = slices.Index(s.deliveredBeyond, s.delivered); i >= 0 {
				s.deliveredBeyond = slices.Delete(s.deliveredBeyond, i, i+1)
				s.delivered++
			}
		}
	}
	if s.entered {
		w.operationsEnded(1)
		w.tryMessage(r, rank)
		w.tryLeave(r, rank)
	}
}

// tryLeave reports to the operation that waits for a rank's messages when all have ended.
func (w *worker) tryLeave(r *ring, rank int) {
	if s := &r.ranks[rank]; s.acknowledged < r.messages() || s.delivered < r.messages() {
		return
	}
	leave := int32(r.Leave[rank])
	if o := &w.operations[leave]; o.waits > 0 {
		if o.waits--; o.waits == 0 {
			w.beginOperation(leave)
		}
	}
	w.notifyFollowers()
}

// freeMessages keeps the results of messages that have ended, among flows by id, and frees their slots. Call it after
// all observers have been notified of the end.
func (e *Engine) freeMessages(ids []int32) {
	if len(e.rings) == 0 {
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
		e.rings[-1-f.Send].keep(f)
		of := e.partitions[e.ports[f.sourcePort(e.plan)].partition]
		of.slots = append(of.slots, slot)
		*f = Flow{FlowConfig: FlowConfig{Start: vtime.Never}, Finished: vtime.Never, timerAt: vtime.Never}
	}
}

// keep keeps the results of a message that has ended.
func (r *ring) keep(f *Flow) {
	i := f.Number - r.number
	if r.lastRTT != nil {
		r.lastRTT[i] = uint32(min(f.LastRTT().RoundNanoseconds(), math.MaxUint32))
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
		r.others[f.Number], r.results[i].state = other, messageOther
		return
	}
	r.results[i].state, r.results[i].detail, r.results[i].marked = messageEnded, uint32(fct), uint16(congested)
}

// Message returns a copy of the flow with a number: one of Flows, or a message of a ring. It has neither a Sender nor a
// Receiver unless it has started and not ended.
func (e *Engine) Message(number int) Flow {
	if number < len(e.flows) {
		return e.flows[number]
	}
	r := e.rings[sort.Search(len(e.rings), func(i int) bool { return e.rings[i].number > number })-1]
	rank, m := r.position(number)
	v := &r.results[number-r.number]
	switch v.state {
	case messageOpen:
		return *e.messages.slot(int(v.detail))
	case messageOther:
		return r.others[number]
	}
	f := Flow{FlowConfig: r.Flows[rank], Number: number, Finished: vtime.Never, timerAt: vtime.Never}
	f.Size, f.Start = r.Size(rank, int(m)), vtime.Never
	if v.state == messageEnded {
		f.Start, f.Finished = v.start, v.start+vtime.Time(v.detail)
		f.past.delivered, f.past.marked = f.Size, uint32(v.marked)
		if r.lastRTT != nil {
			f.past.lastRTT = vtime.Time(r.lastRTT[number-r.number]) * vtime.Nanosecond
		}
	}
	return f
}

// RingProgress returns how many of its messages a rank of the ring with an index has had acknowledged, and received;
// and whether it has entered.
func (e *Engine) RingProgress(ring, rank int) (acknowledged, received int, entered bool) {
	s := &e.rings[ring].ranks[rank]
	return int(s.acknowledged), int(s.delivered) + len(s.deliveredBeyond), s.entered
}
