package qp

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// connected returns two queue pairs on a wire without faults, which give up after 4 times 131 us, and after 3 RNR NAKs.
func connected(t *testing.T) *ends {
	return newLink(t, 1, nil).join(usual, Remote{PSN: 0xfffffe, MTU: 512, Reads: 2, RNRTimer: 1},
		Requester{Reads: 2, Timeout: 5, Retry: 3, RNRRetry: 3}, lineRate)
}

// outcomes returns an end's completions, as "id:status".
func (e *ends) outcomes(i int) (all []string) {
	for _, c := range e.m[i].completed {
		kind := ""
		if c.Receive {
			kind = "r"
		}
		all = append(all, fmt.Sprintf("%s%d:%d", kind, c.ID, c.Status))
	}
	return all
}

// TestPairErrors has what a request meets be the completion that the specification gives it (IBTA volume 1 sections
// 9.9.2, 9.9.3, 10.10.3 and 11.6.2), and all behind it be flushed. Each case posts works 0 to 2 at end 0, of which 1
// is the case's and the others are WRITEs.
func TestPairErrors(t *testing.T) {
	write := WorkRequest{Op: WorkWrite, SGEs: at(0, 1000), Remote: base, RKey: 7, Signaled: true}
	change := func(f func(w *WorkRequest)) WorkRequest {
		w := write
		f(&w)
		return w
	}
	for _, c := range []struct {
		name   string
		work   WorkRequest
		before func(e *ends) // nil: nothing
		want   []string
		there  []string // of end 1
		events []EventKind
		state  State // of end 1
	}{
		{
			"a wrong key", change(func(w *WorkRequest) { w.RKey = 9 }), nil,
			[]string{"0:0", "1:10", "2:5"},
			nil,
			[]EventKind{EventAccess},
			StateError,
		},
		{
			"beyond the region", change(func(w *WorkRequest) { w.Remote = base + 1<<19 - 999 }), nil,
			[]string{"0:0", "1:10", "2:5"},
			nil,
			[]EventKind{EventAccess},
			StateError,
		},
		{
			"an address that wraps", change(func(w *WorkRequest) { w.Remote = 1<<64 - 1 }), nil,
			[]string{"0:0", "1:10", "2:5"},
			nil,
			[]EventKind{EventAccess},
			StateError,
		},
		{
			"a READ of a wrong key", change(func(w *WorkRequest) { w.Op, w.RKey = WorkRead, 9 }), nil,
			[]string{"0:0", "1:10", "2:5"},
			nil,
			[]EventKind{EventAccess},
			StateError,
		},
		{"an atomic operation of a wrong key", change(func(w *WorkRequest) {
			w.Op, w.RKey, w.SGEs = WorkFetchAdd, 9, at(0, 8)
		}), nil, []string{"0:0", "1:10", "2:5"}, nil, []EventKind{EventAccess}, StateError},
		{
			"memory that is gone there", change(func(w *WorkRequest) { w.RKey = 8 }), nil,
			[]string{"0:0", "1:11", "2:5"},
			nil,
			[]EventKind{EventFatal},
			StateError,
		},
		{
			"a wrong local key", change(func(w *WorkRequest) { w.SGEs = []SGE{{base, 1000, 9}} }), nil,
			[]string{"0:0", "1:4", "2:5"},
			nil, nil, StateRTS,
		},
		{
			"beyond the local region", change(func(w *WorkRequest) { w.SGEs = at(1<<19-999, 1000) }), nil,
			[]string{"0:0", "1:4", "2:5"},
			nil, nil, StateRTS,
		},
		{
			"a READ to a wrong local key", change(func(w *WorkRequest) { w.Op, w.SGEs = WorkRead, []SGE{{base, 1000, 9}} }), nil,
			[]string{"0:0", "1:4", "2:5"},
			nil, nil, StateRTS,
		},
		{
			"local memory that is gone", change(func(w *WorkRequest) { w.SGEs = []SGE{{base, 1000, 8}} }), nil,
			[]string{"0:0", "1:2", "2:5"},
			nil, nil, StateRTS,
		},
		{
			"a receiver that is not ready", change(func(w *WorkRequest) { w.Op = WorkSend }), nil,
			[]string{"0:0", "1:13", "2:5"},
			nil, nil, StateRTS,
		},
		{
			"a WRITE with immediate data to one", change(func(w *WorkRequest) { w.Op = WorkWriteImm }), nil,
			[]string{"0:0", "1:13", "2:5"},
			nil, nil, StateRTS,
		},
		{
			"a message longer than the receive", change(func(w *WorkRequest) { w.Op = WorkSend }),
			func(e *ends) {
				e.receive(1, ReceiveRequest{5, at(0, 999)})
				e.receive(1, ReceiveRequest{6, at(0, 999)})
			},
			[]string{"0:0", "1:9", "2:5"},
			[]string{"r5:1", "r6:5"},
			[]EventKind{EventRequest},
			StateError,
		},
		{
			"a receive to a wrong key", change(func(w *WorkRequest) { w.Op = WorkSend }),
			func(e *ends) { e.receive(1, ReceiveRequest{5, []SGE{{base, 1000, 9}}}) },
			[]string{"0:0", "1:11", "2:5"},
			[]string{"r5:4"},
			[]EventKind{EventFatal},
			StateError,
		},
		{
			"READs of which there are too many at once", change(func(w *WorkRequest) { w.Op = WorkRead }),
			func(e *ends) { e.q[1].Remote.Reads = 0 },
			[]string{"0:0", "1:9", "2:5"},
			nil,
			[]EventKind{EventRequest},
			StateError,
		},
		{
			"a program that has ended there", change(func(w *WorkRequest) { w.RKey = 6 }), nil,
			[]string{"0:0", "1:12", "2:5"},
			nil, nil, StateError,
		},
		{
			"a READ of one that has ended", change(func(w *WorkRequest) { w.Op, w.RKey = WorkRead, 6 }), nil,
			[]string{"0:0", "1:12", "2:5"},
			nil, nil, StateError,
		},
		{
			"a SEND to one that has ended", change(func(w *WorkRequest) { w.Op = WorkSend }),
			func(e *ends) { e.receive(1, ReceiveRequest{5, []SGE{{base, 1000, 6}}}) },
			[]string{"0:0", "1:12", "2:5"},
			[]string{"r5:2"},
			nil,
			StateError,
		},
		{
			"an end that is gone", write, func(e *ends) { e.q[1].Reset() },
			[]string{"0:12", "1:5", "2:5"},
			nil, nil,
			StateReset,
		},
		{"a wire that loses all", write, func(e *ends) { e.loss = 1 }, []string{"0:12", "1:5", "2:5"}, nil, nil, StateRTS},
		{
			"an end that is in error", write, func(e *ends) { e.q[1].Fail(0) },
			[]string{"0:12", "1:5", "2:5"},
			nil, nil,
			StateError,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := connected(t)
			if c.before != nil {
				c.before(e)
			}
			for id, w := range []WorkRequest{write, c.work, write} {
				w.ID = uint64(id)
				e.post(0, w)
			}
			e.run(func() bool { return e.q[0].count == 0 })
			for e.step() { // what is on the wire
			}
			e.m[1].events = slices.DeleteFunc(e.m[1].events, func(k EventKind) bool { return k == EventEstablished })
			if got := e.outcomes(0); !slices.Equal(got, c.want) || e.q[0].State() != StateError {
				t.Errorf("completed %v, want %v; %v", got, c.want, e.q[0].State())
			}
			if got := e.outcomes(1); !slices.Equal(got, c.there) || !slices.Equal(e.m[1].events, c.events) ||
				e.q[1].State() != c.state {
				t.Errorf("there %v, want %v; events %v, want %v; %v, want %v", got, c.there, e.m[1].events, c.events,
					e.q[1].State(), c.state)
			}
			e.post(0, WorkRequest{ID: 3, Op: WorkRead, SGEs: at(0, 1)})
			e.receive(0, ReceiveRequest{ID: 4})
			if got := e.outcomes(0); !slices.Equal(got[3:], []string{"3:5", "r4:5"}) {
				t.Errorf("posted to a queue pair in error: %v", got[3:])
			}
			if out := e.pool.Out(); out != 0 {
				t.Errorf("%d frames are out", out)
			}
		})
	}
}

// TestPairPosting has work requests that cannot be be refused as they are posted.
func TestPairPosting(t *testing.T) {
	e := connected(t)
	q := e.q[0]
	ok := WorkRequest{Op: WorkWrite, SGEs: at(0, 1), Remote: base, RKey: 7}
	for _, c := range []struct {
		change func(w *WorkRequest)
		want   error
	}{
		{func(w *WorkRequest) { w.Op = workOps }, ErrWork},
		{func(w *WorkRequest) { w.SGEs = []SGE{{0, 1 << 30, 7}, {0, 1, 7}} }, ErrLength},
		{func(w *WorkRequest) { w.SGEs = []SGE{{0, 1<<32 - 1, 7}, {0, 1<<32 - 1, 7}} }, ErrLength},
		{func(w *WorkRequest) { w.Op = WorkRead; w.Inline = []byte{1} }, ErrWork},
		{func(w *WorkRequest) { w.Op = WorkFetchAdd }, ErrWork},
		{func(w *WorkRequest) { w.Op, w.SGEs, w.Remote = WorkFetchAdd, at(0, 8), base+4 }, ErrWork},
	} {
		w := ok
		c.change(&w)
		if err := q.PostSend(0, &w); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", w, err, c.want)
		}
	}
	for range usual.SendDepth {
		e.post(0, ok)
	}
	if err := q.PostSend(0, &ok); !errors.Is(err, ErrFull) {
		t.Errorf("one more than there is room for: %v", err)
	}
	for range usual.ReceiveDepth {
		e.receive(0, ReceiveRequest{})
	}
	if err := q.PostReceive(&ReceiveRequest{}); !errors.Is(err, ErrFull) {
		t.Errorf("one receive more than there is room for: %v", err)
	}
	q.Reset()
	if err := errors.Join(q.PostSend(0, &ok), q.PostReceive(&ReceiveRequest{})); !errors.Is(err, ErrState) ||
		len(e.m[0].completed) != 0 {
		t.Errorf("after a reset: %v, %v", err, e.m[0].completed)
	}
	if err := q.Start(Requester{}); !errors.Is(err, ErrState) {
		t.Errorf("RTS after RESET: %v", err)
	}
}

// TestPairSharedReceives: two queue pairs take receives from one queue, and one that fails leaves the other's.
func TestPairSharedReceives(t *testing.T) {
	e := connected(t)
	e.q[1].own, e.q[1].Receives = false, NewReceiveQueue(4)
	for id := range uint64(2) {
		if err := e.q[1].Receives.Post(&ReceiveRequest{id, at(0, 100)}); err != nil {
			t.Fatal(err)
		}
	}
	e.post(0, WorkRequest{Op: WorkSend, SGEs: at(0, 10), Signaled: true})
	e.run(func() bool { return e.q[0].count == 0 })
	e.q[1].Fail(e.now)
	if got := e.outcomes(1); !slices.Equal(got, []string{"r0:0"}) || e.q[1].Receives.Len() != 1 ||
		e.m[1].events[len(e.m[1].events)-1] != EventLastReceive {
		t.Errorf("%v, %d left, events %v", got, e.q[1].Receives.Len(), e.m[1].events)
	}
}

// TestPairOnTheWire has messages be the packets that the standard says (IBTA volume 1 sections 9.2 to 9.4 and 9.7.3):
// opcodes, PSNs, among them those of a READ, and message sequence numbers.
func TestPairOnTheWire(t *testing.T) {
	e := connected(t)
	var seen []string
	e.seen = func(to int, p *wire.Packet) {
		text := fmt.Sprintf("%d %v %06x", to, p.Opcode, p.PSN)
		switch p.Kind {
		case wire.KindAck, wire.KindReadResponse, wire.KindAtomicAck:
			if p.Opcode != wire.OpReadResponseMiddle {
				text += fmt.Sprintf(" %02x msn %d", p.Syndrome, p.MSN)
			}
		}
		if p.Solicited() {
			text += " SE"
		}
		seen = append(seen, text)
	}
	e.receive(1, ReceiveRequest{SGEs: at(0, 1024)})
	for _, w := range []WorkRequest{
		{Op: WorkWrite, SGEs: at(0, 1025), Remote: base, RKey: 7},
		{Op: WorkSendImm, SGEs: at(0, 1024), Imm: 1, Solicited: true},
		{Op: WorkRead, SGEs: at(0, 1500), Remote: base, RKey: 7},
		{Op: WorkFetchAdd, SGEs: at(0, 8), Remote: base, RKey: 7, Swap: 1},
		{Op: WorkWrite, SGEs: at(0, 0), Remote: 1, RKey: 1},
	} {
		e.post(0, w)
		e.run(func() bool { return e.q[0].count == 0 })
	}
	want := []string{
		"1 WRITE_FIRST fffffe", "1 WRITE_MIDDLE ffffff", "0 ACK fffffe 1f msn 0", "1 WRITE_LAST 000000",
		"0 ACK ffffff 1f msn 0", "0 ACK 000000 1f msn 1",
		"1 SEND_FIRST 000001", "1 SEND_LAST_IMM 000002 SE", "0 ACK 000001 1f msn 1", "0 ACK 000002 1f msn 2",
		"1 READ_REQUEST 000003", "0 READ_RESPONSE_FIRST 000003 1f msn 3", "0 READ_RESPONSE_MIDDLE 000004",
		"0 READ_RESPONSE_LAST 000005 1f msn 3",
		"1 FETCH_ADD 000006", "0 ATOMIC_ACK 000006 1f msn 4",
		"1 WRITE_ONLY 000007", "0 ACK 000007 1f msn 5",
	}
	slices.SortStableFunc(seen, func(a, b string) int { return int(a[0]) - int(b[0]) })
	slices.SortStableFunc(want, func(a, b string) int { return int(a[0]) - int(b[0]) })
	if !slices.Equal(seen, want) {
		t.Errorf("sent\n%v\nwant\n%v", seen, want)
	}
}

// TestPairStrangers has packets with the number of a queue pair that are not of its connection be strays.
func TestPairStrangers(t *testing.T) {
	e := connected(t)
	forward, _ := e.ways(0)
	forward.Src = wire.Addr{10, 0, 0, 9}
	header, err := wire.NewFlowHeader(forward)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range []wire.Opcode{
		wire.OpWriteOnly, wire.OpSendOnly, wire.OpReadRequest, wire.OpFetchAdd,
		wire.OpAtomicAck, wire.OpReadResponseOnly,
	} {
		m := wire.Message{
			Op: op, PSN: 0xfffffe, VA: base, RKey: 7, Length: 4,
			Payload: map[bool]int{true: 4}[op.IsData() || op.IsReadResponse()],
		}
		f := e.Frame(wire.V4.MessageLen(m.Op, m.Payload))
		wire.BeginMessage(f.Data(), header, &m)
		wire.EndMessage(f.Data())
		e.nics[1].Receive(e.now, f)
		e.pool.Put(f)
	}
	for _, syndrome := range []uint8{wire.SyndromeAck, wire.SyndromeNakAccess} {
		f := e.Frame(wire.AckLen)
		wire.PutAck(f.Data(), header, syndrome, 0xffffff, 0)
		e.nics[1].Receive(e.now, f)
		e.pool.Put(f)
	}
	if e.nics[1].Stray != 8 || len(e.m[1].completed)+len(e.m[1].events) != 0 || e.q[1].State() != StateRTS ||
		e.nics[1].Backlog() != 0 {
		t.Errorf("%d strays, %v, %v, %v, %d answers", e.nics[1].Stray, e.m[1].completed, e.m[1].events, e.q[1].State(),
			e.nics[1].Backlog())
	}
}

// TestPairTimes has timeouts be those of the queue pair's attribute, of 4.096 us * 2^n, and RNR NAKs be waited for as
// their timers say.
func TestPairTimes(t *testing.T) {
	e := connected(t)
	e.loss = 1
	var sent []vtime.Time
	e.seen = func(int, *wire.Packet) { sent = append(sent, e.now) }
	e.post(0, WorkRequest{Op: WorkWrite})
	e.run(func() bool { return e.q[0].count == 0 })
	if len(sent) != 4 || sent[1]-sent[0] != 131072*vtime.Nanosecond || e.now-sent[0] != 4*131072*vtime.Nanosecond {
		t.Errorf("sent at %v, given up at %v", sent, e.now)
	}
	e = connected(t)
	e.q[1].Remote.RNRTimer, sent = 14, nil
	e.seen = func(to int, p *wire.Packet) {
		if to == 1 {
			sent = append(sent, e.now)
		}
	}
	e.post(0, WorkRequest{Op: WorkSend})
	e.run(func() bool { return e.q[0].count == 0 })
	if len(sent) != 4 {
		t.Fatalf("sent at %v", sent)
	}
	for i := range 3 {
		if gap := sent[i+1] - sent[i]; gap < 1280*us || gap > 1290*us {
			t.Errorf("sent again after %v", gap)
		}
	}
}

// TestPairLongestWrite: a WRITE of more than 2^30 bytes is an invalid request, whatever its memory; one of 2^30 is
// refused for its memory, which has less.
func TestPairLongestWrite(t *testing.T) {
	for length, want := range map[uint32]struct {
		syndrome uint8
		event    EventKind
	}{1 << 30: {wire.SyndromeNakAccess, EventAccess}, 1<<30 + 1: {wire.SyndromeNakInvalid, EventRequest}} {
		e := connected(t)
		forward, _ := e.ways(0)
		header, err := wire.NewFlowHeader(forward)
		if err != nil {
			t.Fatal(err)
		}
		var syndromes []uint8
		e.seen = func(_ int, p *wire.Packet) { syndromes = append(syndromes, p.Syndrome) }
		m := wire.Message{Op: wire.OpWriteFirst, PSN: 0xfffffe, VA: base, RKey: 7, Length: length, Payload: 512}
		f := e.Frame(wire.V4.MessageLen(m.Op, m.Payload))
		wire.BeginMessage(f.Data(), header, &m)
		wire.EndMessage(f.Data())
		e.nics[1].Receive(e.now, f)
		e.pool.Put(f)
		e.look()
		e.run(func() bool { return len(syndromes) > 0 })
		if !slices.Equal(syndromes, []uint8{want.syndrome}) || !slices.Equal(e.m[1].events, []EventKind{want.event}) {
			t.Errorf("%d bytes: syndromes %02x, events %v, want %02x and %v", length, syndromes, e.m[1].events, want.syndrome,
				want.event)
		}
	}
}

// TestPairPSNsInFlight: fewer than 2^23 PSNs are in flight, half of all there are: a READ of 2^30 bytes takes 2^22 at
// an MTU of 256, and a second waits for the first unless it takes at least one less.
func TestPairPSNsInFlight(t *testing.T) {
	for second, want := range map[uint32]int{1 << 30: 1, 1<<30 - 256: 2} {
		e := newLink(t, 1, nil).join(usual, Remote{PSN: 0xfffffe, MTU: 256, Reads: 4, RNRTimer: 1},
			Requester{Reads: 4, Timeout: 5, Retry: 3, RNRRetry: 3}, lineRate)
		for _, length := range []uint32{1 << 30, second} {
			e.post(0, WorkRequest{Op: WorkRead, SGEs: []SGE{{base, length, 7}}, Remote: base, RKey: 7})
		}
		sent := 0
		for range 5 {
			if f, _ := e.nics[0].Dequeue(e.now, 0); f != nil {
				sent++
				e.pool.Put(f)
			}
			e.now += vtime.Microsecond
		}
		if sent != want {
			t.Errorf("READs of 2^30 and %d bytes: %d requests, want %d", second, sent, want)
		}
	}
}

// TestPairRepairsBeforeError checks that a work whose packets were lost is repaired and completes with success, although
// a later work has had a local error meanwhile: works complete in the order of posting.
func TestPairRepairsBeforeError(t *testing.T) {
	e := connected(t)
	e.loss = 1
	e.seen = func(int, *wire.Packet) {
		if e.frames > 2 { // both packets of work 0 are lost
			e.loss = 0
		}
	}
	for id, key := range []uint32{7, 9, 7} {
		e.post(0, WorkRequest{
			ID: uint64(id), Op: WorkWrite, SGEs: []SGE{{base, 1000, key}}, Remote: base, RKey: 7, Signaled: true,
		})
	}
	e.run(func() bool { return len(e.m[0].completed) == 3 })
	if got := e.outcomes(0); !slices.Equal(got, []string{"0:0", "1:4", "2:5"}) {
		t.Errorf("%v after %v", got, e.now)
	}
}
