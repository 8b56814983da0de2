package engine

import "slices"

// A ring is a collective whose messages follow a rule, so that a run keeps no operations of messages. Results are the
// same.

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
	*messageTable
	ranks []ringRank
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

// ringEntry names a rank of a ring, which starts when an operation has ended.
type ringEntry struct {
	ring *ring
	rank int
}

// AddRing adds a ring, whose messages have the next numbers: by step, then by rank, then by chunk. Call it before the
// run, after all operations and flows have been added.
func (e *Engine) AddRing(c RingConfig) {
	n, index := len(c.Flows), int32(len(e.rings))
	r := &ring{RingConfig: c, ranks: make([]ringRank, n)}
	r.messageTable = e.addTable(n*c.Steps*c.Chunks, func(number int) FlowConfig {
		rank, m := r.position(number)
		f := r.Flows[rank]
		f.Size, f.Send, f.Receive = r.Size(rank, int(m)), -1-index, -1-index
		if r.Entropy != nil {
			f.Entropy = r.Entropy(number)
		}
		return f
	}, c.LastRTT)
	e.fabric.rings = append(e.rings, r)
	if e.entered == nil {
		e.fabric.entered = map[int32]ringEntry{}
	}
	for rank := range n {
		e.messages.sent[e.ports[c.Flows[rank].sourcePort(e.plan)].partition] += c.Steps * c.Chunks
		e.entered[int32(c.Enter[rank])] = ringEntry{r, rank}
		e.operations[c.Leave[rank]].waits++
		e.noteHosts(c.Flows[rank].Hosts)
	}
	e.openOperations += 2 * len(r.results)
	e.makeChunks()
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
	w.lastProgress = max(w.lastProgress, w.now)
	w.openMessage(r.numberOf(rank, m))
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

// RingProgress returns how many of its messages a rank of the ring with an index has had acknowledged, and received;
// and whether it has entered.
func (e *Engine) RingProgress(ring, rank int) (acknowledged, received int, entered bool) {
	s := &e.rings[ring].ranks[rank]
	return int(s.acknowledged), int(s.delivered) + len(s.deliveredBeyond), s.entered
}
