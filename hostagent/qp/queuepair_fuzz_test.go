package qp

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// FuzzPairFrames has a queue pair that has requests under way get frames that say that they are its peer's. Each 16
// bytes of input are one: opcode, syndrome, what the PSN is off by, lengths and addresses. Whatever they say, works
// are completed once and in order, memory that may not be had stays as it is, all frames are accounted for, and the
// other queue pair of the host goes on.
func FuzzPairFrames(f *testing.F) {
	for op := range 32 {
		f.Add([]byte{
			byte(op), 0x1f, 0, 0, 4, 0, 0, 0, 7, 0, 0, 0, 4, 0, 0, 0, 0x11, 0x60, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
			0, 0,
		})
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		e := newLink(t, 1, nil).join(usual, Remote{PSN: 0xfffffe, MTU: 256, Reads: 2, RNRTimer: 1},
			Requester{Reads: 2, Timeout: 5, Retry: 3, RNRRetry: 3}, lineRate)
		q, m := e.q[0], e.m[0]
		const own = 1 << 16 // memory after it is not accessible
		m.bytes = m.bytes[:own]
		forbidden := m.bytes[:cap(m.bytes)][own:]
		for i := range uint64(3) {
			e.receive(0, ReceiveRequest{i, at(0, 600)})
		}
		posted := 0
		for i, w := range []WorkRequest{
			{Op: WorkWrite, SGEs: at(0, 700)},
			{Op: WorkRead, SGEs: at(0, 900)},
			{Op: WorkFetchAdd, SGEs: at(0, 8)},
			{Op: WorkSend, SGEs: at(0, 300)},
			{Op: WorkRead, SGEs: at(0, 900)},
		} {
			w.ID, w.Signaled, w.Remote, w.RKey = uint64(i), true, base, 7
			e.post(0, w)
			posted++
		}
		for range 6 { // some are under way, and nothing is answered
			e.pull(0)
			e.now = max(e.now, e.busy[0])
		}
		e.flying = nil
		forward, back := e.ways(1)
		header, err := wire.NewFlowHeader(forward)
		if err != nil {
			t.Fatal(err)
		}
		answers, err := wire.NewFlowHeader(back)
		if err != nil {
			t.Fatal(err)
		}
		for ; len(input) >= 16; input = input[16:] {
			x := input[:16]
			op := wire.Opcode(x[0])
			psn := (0xfffffe + uint32(int32(int8(x[2])))) & wire.PSNMask
			var fr *frame.Frame
			switch {
			case op.Operation() == wire.OpAck:
				fr = e.Frame(wire.AckLen)
				wire.PutAck(fr.Data(), answers, x[1], psn, uint32(x[3]))
			case op == wire.OpCNP:
				fr = e.Frame(wire.CNPLen)
				wire.PutCNP(fr.Data(), answers, wire.CNPBECN, nil)
			default:
				size := int(binary.LittleEndian.Uint16(x[4:])) % 700
				if !op.IsData() && !op.IsReadResponse() {
					size = 0
				}
				msg := wire.Message{
					Op: op, PSN: psn, AckRequest: x[3]&1 != 0, Solicited: x[3]&2 != 0, Payload: size,
					VA:   base + uint64(int64(int32(binary.LittleEndian.Uint32(x[8:])))),
					RKey: 7 + uint32(x[6])&3, Length: binary.LittleEndian.Uint32(x[12:]), Syndrome: x[1],
				}
				fr = e.Frame(wire.V4.MessageLen(op, size))
				payload := wire.BeginMessage(fr.Data(), header, &msg)
				for i := range payload {
					payload[i] = 0xee
				}
				wire.EndMessage(fr.Data())
			}
			if x[7]&7 == 7 { // as it was damaged: the ICRC tells
				fr.Data()[wire.EthernetLen+wire.IPv4Len+wire.UDPLen+int(x[7]>>3)%10] ^= 0x55
			}
			e.nics[0].Receive(e.now, fr)
			e.pool.Put(fr)
			for range int(x[7]>>3) & 3 {
				e.pull(0)
				e.now = max(e.now, e.busy[0])
			}
			e.flying = nil
			if q.Sender() != nil && q.Sender().Armed() <= e.now {
				q.Sender().OnTimer(e.now)
			}
		}
		q.Fail(e.now)
		next, receives := uint64(0), uint64(0)
		for _, c := range m.completed {
			to := &next
			if c.Receive {
				to = &receives
			}
			if c.ID != *to {
				t.Fatalf("completed out of order, or twice: %+v, want %d", c, *to)
			}
			*to++
		}
		if next != uint64(posted) || receives != 3 {
			t.Fatalf("%d works and %d receives were completed of %d and 3", next, receives, posted)
		}
		if !bytes.Equal(forbidden, make([]byte, len(forbidden))) {
			t.Fatal("memory was written that may not be had")
		}
		for e.nics[0].Backlog() > 0 {
			e.now += vtime.Microsecond
			e.pull(0)
		}
		if out := e.pool.Out(); out != 0 {
			t.Fatalf("%d frames are out", out)
		}
	})
}

// TestPairAllocations has messages of all kinds take no memory once a queue pair has been at work for a while.
func TestPairAllocations(t *testing.T) {
	e := newLink(t, 1, nil).join(Config{SendDepth: 8, ReceiveDepth: 8}, Remote{MTU: 1000, Reads: 4},
		Requester{Reads: 4, Retry: 7, RNRRetry: 7}, func() cc.Controller { return cc.Constant(line) })
	w := [...]WorkRequest{
		{Op: WorkWrite, SGEs: at(0, 5000), Remote: base, RKey: 7},
		{Op: WorkSend, SGEs: at(0, 3000)},
		{Op: WorkRead, SGEs: at(0, 5000), Remote: base, RKey: 7},
		{Op: WorkFetchAdd, SGEs: at(0, 8), Remote: base, RKey: 7},
	}
	r := ReceiveRequest{SGEs: at(0, 3000)}
	round := func() {
		if e.q[1].PostReceive(&r) != nil {
			t.Fatal("the receive queue is full")
		}
		for i := range w {
			if e.q[0].PostSend(e.now, &w[i]) != nil {
				t.Fatal("the send queue is full")
			}
		}
		for e.q[0].count > 0 {
			for from := range e.nics {
				f, _ := e.nics[from].Dequeue(e.now, 0)
				e.now += us
				if f != nil {
					e.nics[1-from].Receive(e.now, f)
					e.pool.Put(f)
				}
			}
		}
		e.m[1].completed = e.m[1].completed[:0]
	}
	for range 20 {
		round()
	}
	if n := testing.AllocsPerRun(100, round); n > 0 {
		t.Errorf("17 packets and their answers take %v allocations", n)
	}
}

// BenchmarkPair sends a WRITE of 64 packets and takes its ACKs.
func BenchmarkPair(b *testing.B) {
	e := newLink(b, 1, nil).join(usual, Remote{MTU: 1000, Reads: 4}, Requester{Reads: 4, Retry: 7, RNRRetry: 7},
		func() cc.Controller { return cc.Constant(line) })
	w := WorkRequest{Op: WorkWrite, SGEs: at(0, 64000), Remote: base, RKey: 7}
	for b.Loop() {
		if err := e.q[0].PostSend(e.now, &w); err != nil {
			b.Fatal(err)
		}
		for e.q[0].count > 0 {
			for from := range e.nics {
				f, _ := e.nics[from].Dequeue(e.now, 0)
				e.now += us
				if f != nil {
					e.nics[1-from].Receive(e.now, f)
					e.pool.Put(f)
				}
			}
		}
	}
}
