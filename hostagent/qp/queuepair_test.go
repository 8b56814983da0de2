package qp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// link represents two NICs on a wire that loses, delays and doubles frames, and a clock that moves by hand.
type link struct {
	failer
	now    vtime.Time
	nics   [2]*hostagent.NIC
	host   *hostagent.Settings
	busy   [2]vtime.Time // until when each port is
	wake   [2]vtime.Time
	flying []flying
	timers map[*hostagent.Sender]vtime.Time
	pool   *frame.Pool
	random *rand.Rand
	loss   float64
	double float64
	jitter vtime.Time
	frames int
	bytes  int64
	seen   func(to int, p *wire.Packet)
}

type failer interface {
	Helper()
	Error(...any)
	Fatal(...any)
	Fatalf(string, ...any)
}

type flying struct {
	at   vtime.Time
	to   int
	data []byte
}

func (l *link) Arm(s *hostagent.Sender, at vtime.Time)      { l.timers[s] = at }
func (l *link) ArmReceiver(*hostagent.Receiver, vtime.Time) {}
func (l *link) Done(vtime.Time, *hostagent.Sender)          { l.Error("a queue pair has ended as a flow does") }
func (l *link) Sent(vtime.Time, *hostagent.Sender)          {}
func (l *link) Delivered(vtime.Time, *hostagent.Receiver)   {}
func (l *link) Worker() int                                 { return 0 }
func (l *link) Frame(n int) *frame.Frame                    { return l.pool.Get(n) }
func (l *link) Brief(int, *wire.Form, wire.Brief) *frame.Frame {
	panic("frames have payload")
}

func newLink(t failer, seed uint64, change func(*hostagent.Settings)) *link {
	s := hostagent.Default()
	if change != nil {
		change(&s)
	}
	l := &link{
		failer: t, timers: map[*hostagent.Sender]vtime.Time{}, host: &s, pool: frame.NewPool(1514),
		random: rand.New(rand.NewPCG(seed, 1)),
	}
	for i := range l.nics {
		l.nics[i] = hostagent.NewNIC(&s, l, mtu, lineBytes, new(hostagent.Scratch))
	}
	return l
}

// step executes the next event. It returns false if there is none.
func (l *link) step() bool {
	next := vtime.Never
	for i := range l.nics {
		next = min(next, max(l.wake[i], l.busy[i]))
	}
	first := -1
	for i := range l.flying {
		if first < 0 || l.flying[i].at < l.flying[first].at {
			first = i
		}
	}
	if first >= 0 {
		next = min(next, l.flying[first].at)
	}
	var due *hostagent.Sender
	for s, at := range l.timers {
		if at < next || at == next && due != nil && s.QP() < due.QP() {
			next, due = at, s
		}
	}
	if next == vtime.Never {
		return false
	}
	l.now = max(l.now, next)
	switch {
	case due != nil:
		delete(l.timers, due)
		if due.Armed() <= l.now {
			due.OnTimer(l.now)
		}
		l.look()
	case first >= 0 && l.flying[first].at <= l.now:
		f := l.flying[first]
		l.flying = slices.Delete(l.flying, first, first+1)
		l.nics[f.to].Receive(l.now, whole(f.data))
		l.look()
	default:
		for i := range l.nics {
			if max(l.wake[i], l.busy[i]) <= l.now {
				l.pull(i)
			}
		}
	}
	return true
}

// look has both ports ask for frames.
func (l *link) look() { l.wake = [2]vtime.Time{l.now, l.now} }

func (l *link) pull(from int) {
	f, wake := l.nics[from].Dequeue(l.now, 0)
	if f == nil {
		l.wake[from] = wake
		return
	}
	data := slices.Clone(f.Data())
	l.frames++
	l.bytes += int64(len(data))
	l.pool.Put(f)
	l.busy[from] = l.now + vtime.Time(lineBytes(len(data))*bytePS)
	l.wake[from] = l.busy[from]
	var p wire.Packet
	if err := wire.Parse(data, &p); err != nil || !p.ICRCValid() {
		l.Fatalf("a NIC sent a frame that is %v, with an ICRC that is right: %v", err, p.ICRCValid())
	}
	if l.seen != nil {
		l.seen(1-from, &p)
	}
	if l.random.Float64() < l.loss {
		return
	}
	for range 2 {
		late := vtime.Time(0)
		if l.jitter > 0 {
			late = vtime.Time(l.random.Int64N(int64(l.jitter)))
		}
		l.flying = append(l.flying, flying{l.busy[from] + us + late, 1 - from, slices.Clone(data)})
		if l.random.Float64() >= l.double {
			return
		}
	}
}

// run goes on until nothing moves or until says so.
func (l *link) run(until func() bool) {
	l.Helper()
	l.look()
	for n := 0; !until(); n++ {
		if n > 1e6 {
			l.Fatal("it does not end")
		}
		if !l.step() {
			return
		}
	}
}

// memory implements a program with one accessible region of memory, with key 7. Key 8 belongs to a region that no
// longer exists, and key 6 to one whose program has ended, which shows when its bytes are read.
type memory struct {
	bytes     []byte
	completed []Completion
	events    []EventKind
	freed     bool
}

const base = 0x10000

func (m *memory) at(addr uint64, n int, key uint32) ([]byte, error) {
	if m.freed || key == 8 {
		return nil, fmt.Errorf("it is gone")
	}
	if key == 6 {
		return nil, ErrEnded
	}
	if key != 7 || addr < base || addr-base > uint64(len(m.bytes)) || uint64(len(m.bytes))-(addr-base) < uint64(n) {
		return nil, fmt.Errorf("%w: %#x", ErrAccess, addr)
	}
	return m.bytes[addr-base:][:n], nil
}

func (m *memory) lay(pieces []SGE, offset uint32, n int, f func(local []byte, i int)) error {
	i, skip := 0, int(offset)
	for _, p := range pieces {
		if skip >= int(p.Length) {
			skip -= int(p.Length)
			continue
		}
		part := min(int(p.Length)-skip, n-i)
		local, err := m.at(p.Addr+uint64(skip), part, p.LKey)
		if err != nil {
			return err
		}
		f(local, i)
		i, skip = i+part, 0
		if i == n {
			return nil
		}
	}
	return fmt.Errorf("the pieces have %d bytes less", n-i)
}

func (m *memory) Gather(pieces []SGE, offset uint32, into []byte) error {
	return m.lay(pieces, offset, len(into), func(local []byte, i int) { copy(into[i:], local) })
}

func (m *memory) Scatter(pieces []SGE, offset uint32, from []byte) error {
	return m.lay(pieces, offset, len(from), func(local []byte, i int) { copy(local, from[i:]) })
}

func (m *memory) Allows(_, rkey uint32, addr, length uint64, _ Access) error {
	if rkey == 6 {
		return nil
	}
	_, err := m.at(addr, int(min(length, 1<<31)), rkey)
	return err
}

func (m *memory) RemoteRead(_, rkey uint32, addr uint64, into []byte) error {
	b, err := m.at(addr, len(into), rkey)
	copy(into, b)
	return err
}

func (m *memory) RemoteWrite(_, rkey uint32, addr uint64, from []byte) error {
	b, err := m.at(addr, len(from), rkey)
	copy(b, from)
	return err
}

func (m *memory) RemoteAtomic(_, rkey uint32, addr uint64, op WorkOp, compare, swap uint64) (uint64, error) {
	b, err := m.at(addr, 8, rkey)
	if err != nil {
		return 0, err
	}
	before := binary.NativeEndian.Uint64(b)
	switch {
	case op == WorkFetchAdd:
		binary.NativeEndian.PutUint64(b, before+swap)
	case before == compare:
		binary.NativeEndian.PutUint64(b, swap)
	}
	return before, nil
}
func (m *memory) Complete(c Completion)          { m.completed = append(m.completed, c) }
func (m *memory) Event(_ uint32, kind EventKind) { m.events = append(m.events, kind) }

// ends holds two queue pairs that are connected to each other.
type ends struct {
	*link
	q [2]*QueuePair
	m [2]*memory
}

const pairNumber = 0x800000

func (l *link) ways(from int) (forward, back wire.FlowParams) {
	forward = wire.FlowParams{
		SrcMAC: wire.MAC{2, 0, 0, 0, 0, byte(from)}, DstMAC: wire.MAC{2, 0, 0, 0, 0, byte(1 - from)},
		Src: wire.Addr{10, 0, 0, byte(from + 1)}, Dst: wire.Addr{10, 0, 0, byte(2 - from)}, SrcPort: wire.MinEntropyPort,
		DestQP: uint32(pairNumber + 1 - from), TOS: l.host.DataTOS(),
	}
	back = forward
	back.TOS = wire.ControlTOS(l.host.ACKPriority())
	return forward, back
}

// join makes two queue pairs, in StateInit, and connects them.
func (l *link) join(c Config, r Remote, s Requester, control func() cc.Controller) *ends {
	l.Helper()
	e := &ends{link: l}
	for i := range e.q {
		e.m[i] = &memory{bytes: make([]byte, 1<<19)}
		c.Program, c.Number = e.m[i], uint32(pairNumber+i)
		q, err := NewDevice(l.nics[i]).NewPair(c)
		if err != nil {
			l.Fatal(err)
		}
		if err := q.Init(); err != nil {
			l.Fatal(err)
		}
		e.q[i] = q
	}
	for i, q := range e.q {
		forward, back := l.ways(i)
		to := r
		to.QP, to.PSN = uint32(pairNumber+1-i), r.PSN+uint32(1-i)
		if err := q.Connect(l.now, to, hostagent.SenderConfig{Flow: i, Controller: control(), Wire: forward},
			back); err != nil {
			l.Fatal(err)
		}
		own := s
		own.PSN = r.PSN + uint32(i)
		if err := q.Start(own); err != nil {
			l.Fatal(err)
		}
	}
	return e
}

func (e *ends) post(i int, w WorkRequest) {
	e.Helper()
	if err := e.q[i].PostSend(e.now, &w); err != nil {
		e.Fatal(err)
	}
	e.look()
}

func (e *ends) receive(i int, w ReceiveRequest) {
	e.Helper()
	if err := e.q[i].PostReceive(&w); err != nil {
		e.Fatal(err)
	}
}

var usual = Config{SendDepth: 256, ReceiveDepth: 256}

// at returns memory of a region.
func at(offset, length int) []SGE { return []SGE{{base + uint64(offset), uint32(length), 7}} }

func lineRate() cc.Controller { return &control{} }

// TestQueuePairsAsTheModel posts random messages of all operations both ways, over a wire that loses, delays,
// overtakes and doubles frames, and compares what came with a model that does each at once, in the order of posting.
func TestQueuePairsAsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { newModel(t).run() })
}

// Of each memory the first part is constant, and any READ may have it; the other end writes to the second, whose
// WRITEs and atomic operations wait for READs before them (IBTA volume 1 section 10.8.3.3 leaves their order open);
// behind is where READs and receives come to.
const (
	constant  = 1 << 15
	writtenTo = 3 << 14
)

// model computes the expected results of messages.
type model struct {
	*rapid.T
	*ends
	posted [2][]WorkRequest
	given  [2][]ReceiveRequest
	want   [2][]Completion
	memory [2][]byte
	room   [2]int
}

func newModel(t *rapid.T) *model {
	seed := rapid.Uint64().Draw(t, "seed")
	l := newLink(t, seed, func(s *hostagent.Settings) {
		s.NakInterval = rapid.SampledFrom([]vtime.Time{0, 20 * us}).Draw(t, "NAK interval")
		s.AckEvery = rapid.SampledFrom([]int{1, 4}).Draw(t, "ACK every")
		s.ACKsWithData = rapid.Bool().Draw(t, "ACKs with data")
		s.INT = rapid.Bool().Draw(t, "INT")
		s.Timestamps = rapid.Bool().Draw(t, "timestamps")
	})
	l.loss = rapid.SampledFrom([]float64{0, 0, 0.01, 0.1}).Draw(t, "loss")
	l.double = rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "doubled")
	l.jitter = rapid.SampledFrom([]vtime.Time{0, 300 * vtime.Nanosecond, 5 * us}).Draw(t, "jitter")
	window := rapid.SampledFrom([]int64{0, 0, 1, 3000, 20000}).Draw(t, "window")
	size := rapid.SampledFrom([]int{256, 512, 1000}).Draw(t, "MTU")
	reads := rapid.IntRange(1, 4).Draw(t, "READs")
	m := &model{T: t, room: [2]int{writtenTo, writtenTo}}
	m.ends = l.join(usual, Remote{PSN: rapid.Uint32Max(wire.PSNMask).Draw(t, "PSN"), MTU: size, Reads: reads, RNRTimer: 1},
		Requester{Reads: reads, Timeout: 5, RNRRetry: 7}, func() cc.Controller {
			return &control{window: window}
		})
	for i, q := range m.q {
		q.Requester.Retry = 255
		for k := range m.m[i].bytes[:constant] {
			m.m[i].bytes[k] = byte(l.random.Uint32())
		}
		m.memory[i] = slices.Clone(m.m[i].bytes)
	}
	for i := range m.q {
		for n := range rapid.IntRange(1, 25).Draw(t, "messages") {
			length := rapid.SampledFrom([]int{0, 1, size - 1, size, size + 1, 3 * size, l.random.IntN(5000)}).Draw(t, "length")
			m.add(i, n, length)
		}
	}
	return m
}

// expected returns the memory at an end in which a message must arrive.
func (m *model) expected(i, n int) int {
	m.room[i] += n
	return m.room[i] - n
}

// add adds a message of end i, and does it.
func (m *model) add(i, id, length int) {
	random, there := m.random, m.memory[1-i]
	w := WorkRequest{
		ID: uint64(id), Op: WorkOp(random.IntN(int(workOps))), RKey: 7, Imm: random.Uint32(),
		Signaled: random.IntN(3) > 0, Solicited: random.IntN(2) == 0,
	}
	from, remote := random.IntN(constant-length), constant+random.IntN(writtenTo-constant-5000)&^7
	data := slices.Clone(m.memory[i][from : from+length])
	w.SGEs = []SGE{
		{base + uint64(from), uint32(length / 3), 7},
		{base + uint64(from+length/3), uint32(length - length/3), 7},
	}
	if !w.Op.responds() && length < 200 && random.IntN(2) == 0 {
		w.Inline, w.SGEs = data, nil
	}
	receive := Completion{
		ID: uint64(len(m.given[1-i])), QP: m.q[1-i].Number, Remote: m.q[i].Number,
		Length: uint32(length), Receive: true, Solicited: w.Solicited,
	}
	if receive.WithImm = w.Op == WorkSendImm || w.Op == WorkWriteImm; receive.WithImm {
		receive.Imm = w.Imm
	}
	switch w.Op {
	case WorkSend, WorkSendImm:
		to := m.expected(1-i, length)
		copy(there[to:], data)
		receive.Op = CompletionReceive
		m.given[1-i] = append(m.given[1-i], ReceiveRequest{receive.ID, at(to, length+random.IntN(2))})
		m.want[1-i] = append(m.want[1-i], receive)
	case WorkWrite, WorkWriteImm:
		w.Fence = true
		copy(there[remote:], data)
		if w.Op == WorkWriteImm {
			receive.Op = CompletionReceiveWrite
			m.given[1-i] = append(m.given[1-i], ReceiveRequest{receive.ID, nil})
			m.want[1-i] = append(m.want[1-i], receive)
		}
	case WorkRead:
		if random.IntN(2) == 0 {
			remote = random.IntN(constant - length)
		}
		to := m.expected(i, length)
		copy(m.memory[i][to:], there[remote:][:length])
		w.SGEs = at(to, length)
	case WorkCompareSwap, WorkFetchAdd:
		w.Fence = true
		to, word := m.expected(i, 8), there[remote:][:8]
		before := binary.NativeEndian.Uint64(word)
		copy(m.memory[i][to:], word)
		w.SGEs, w.Swap, w.Compare = at(to, 8), random.Uint64(), before+random.Uint64N(2)
		length = 8
		if w.Op == WorkFetchAdd {
			binary.NativeEndian.PutUint64(word, before+w.Swap)
		} else if w.Compare == before {
			binary.NativeEndian.PutUint64(word, w.Swap)
		}
	}
	w.Remote = base + uint64(remote)
	m.posted[i] = append(m.posted[i], w)
	if w.Signaled {
		m.want[i] = append(m.want[i], Completion{
			ID: w.ID, QP: m.q[i].Number, Remote: m.q[1-i].Number, Op: w.Op.completion(),
			Length: uint32(length),
		})
	}
}

// run posts the drawn messages at random times, and compares.
func (m *model) run() {
	var sent, given [2]int
	for n := 0; ; n++ {
		left := 0
		for i, q := range m.q {
			if sent[i] < len(m.posted[i]) && m.random.IntN(20) == 0 {
				m.post(i, m.posted[i][sent[i]])
				sent[i]++
			}
			if given[i] < len(m.given[i]) && m.random.IntN(30) == 0 {
				m.receive(i, m.given[i][given[i]])
				given[i]++
			}
			left += q.count + len(m.posted[i]) - sent[i] + len(m.given[i]) - given[i]
		}
		if left == 0 {
			break
		}
		if !m.step() {
			m.now += us
		}
		if n > 3e6 {
			m.T.Fatalf("it does not end: %d and %d works are left, of %d and %d", m.q[0].count, m.q[1].count, len(m.posted[0]),
				len(m.posted[1]))
		}
	}
	for i := range m.q {
		for _, receive := range []bool{false, true} {
			of := func(all []Completion) (some []Completion) {
				for _, c := range all {
					if c.Receive == receive {
						some = append(some, c)
					}
				}
				return some
			}
			if got, want := of(m.m[i].completed), of(m.want[i]); !slices.Equal(got, want) {
				m.T.Fatalf("end %d completed %+v\nwant %+v", i, got, want)
			}
		}
		if !bytes.Equal(m.m[i].bytes, m.memory[i]) {
			m.T.Fatalf("end %d: memory differs from the model's", i)
		}
		a, b := m.q[i].Counts, m.q[1-i].Counts
		if a.BytesSent != a.BytesAcked || a.BytesAcked != b.BytesReceived {
			m.T.Fatalf("end %d: %d bytes sent, %d acknowledged, %d received there", i, a.BytesSent, a.BytesAcked,
				b.BytesReceived)
		}
		if m.loss == 0 && m.double == 0 && m.jitter == 0 && b.RNRs == 0 && a.Retries == 0 &&
			(b.Duplicates != 0 || b.OutOfOrder != 0) {
			m.T.Fatalf("end %d: %+v, and nothing was lost", 1-i, b)
		}
	}
	if out := m.pool.Out(); int64(out) != m.nics[0].Backlog()+m.nics[1].Backlog() {
		m.T.Fatalf("%d frames are out", out)
	}
}
