package hostagent

import (
	"bytes"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
)

// datagramPair is a queue pair that sends, and one that receives what has come out of the first.
type datagramPair struct {
	*testing.T
	memories [2]*memory
	pairs    [2]*Datagrams
	frame    []byte // the last that was sent
}

const ownQKey = 0x11111111

func newDatagramPair(t *testing.T) *datagramPair {
	t.Helper()
	p := &datagramPair{T: t}
	for i := range p.pairs {
		p.memories[i] = &memory{bytes: make([]byte, 4096)}
		q, err := NewDatagrams(PairConfig{Number: uint32(0x800000 + i), Program: p.memories[i], SendDepth: 4, ReceiveDepth: 4, SignalAll: true}, 1024)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.PostReceive(&ReceiveRequest{}); err != ErrState {
			t.Errorf("in RESET a receive request is taken: %v", err)
		}
		q.SetKey(ownQKey)
		for _, err := range []error{q.Init(), q.Ready(), q.Start(7)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		p.pairs[i] = q
	}
	return p
}

// send posts a work request and gives what comes out of it to the other end; false if that does not take it.
func (p *datagramPair) send(w *WorkRequest, number, qkey uint32) bool {
	p.Helper()
	p.frame = nil
	to := &Destination{FlowParams: wire.FlowParams{Src: wire.Addr{10, 0, 0, 1}, Dst: wire.Addr{10, 0, 0, 2}, SrcPort: 0xc001, DestQP: number, TOS: wire.ControlTOS(3)}, QKey: qkey}
	err := p.pairs[0].PostSend(w, to, func(n int) []byte {
		p.frame = make([]byte, n)
		return p.frame
	})
	if err != nil {
		p.Fatal(err)
	}
	return p.deliver()
}

func (p *datagramPair) deliver() bool {
	p.Helper()
	var packet wire.Packet
	if err := wire.Parse(p.frame, &packet); err != nil {
		p.Fatal(err)
	}
	return p.pairs[1].Receive(&packet)
}

func (p *datagramPair) receive(id uint64, length uint32) {
	p.Helper()
	if err := p.pairs[1].PostReceive(&ReceiveRequest{ID: id, SGEs: []SGE{{base, length, 7}}}); err != nil {
		p.Fatal(err)
	}
}

// TestDatagram sends one from memory: what comes has the IPv4 header before it, and says who has sent it.
func TestDatagram(t *testing.T) {
	p := newDatagramPair(t)
	copy(p.memories[0].bytes[100:], "lossless or not")
	p.receive(5, 4096)
	if !p.send(&WorkRequest{ID: 9, Op: WorkSendImm, Imm: 0xabcd, Solicited: true, SGEs: []SGE{{base + 100, 8, 7}, {base + 108, 7, 7}}}, 0x800001, ownQKey) {
		t.Fatal("it is not taken")
	}
	if want := []Completion{{ID: 9, QP: 0x800000, Remote: 0x800001, Op: CompletionSend}}; !slices.Equal(p.memories[0].completed, want) {
		t.Errorf("the sender has %+v", p.memories[0].completed)
	}
	want := []Completion{{ID: 5, QP: 0x800001, Remote: 0x800000, Op: CompletionReceive, Length: 55, Imm: 0xabcd, WithImm: true, Solicited: true, Receive: true}}
	if !slices.Equal(p.memories[1].completed, want) {
		t.Errorf("the receiver has %+v", p.memories[1].completed)
	}
	got := p.memories[1].bytes
	if got[20] != 0x45 || !bytes.Equal(got[32:40], []byte{10, 0, 0, 1, 10, 0, 0, 2}) || string(got[40:56]) != "lossless or not\x00" {
		t.Errorf("the receiver's memory is %q", got[:60])
	}
}

// TestDatagramRefused: what is not for a queue pair is not taken, and what it has no memory for is lost.
func TestDatagramRefused(t *testing.T) {
	p := newDatagramPair(t)
	inline := &WorkRequest{Inline: []byte("lossless")}
	if !p.send(inline, 0x800001, ownQKey) || len(p.memories[1].completed) > 0 {
		t.Error("without a receive request it is not lost")
	}
	p.receive(1, wire.GRHLen+7)
	if !p.send(inline, 0x800001, ownQKey) || len(p.memories[1].completed) > 0 {
		t.Error("one that is too long is not lost")
	}
	if p.send(inline, 0x800002, ownQKey) || p.send(inline, 0x800001, ownQKey+1) {
		t.Error("another's is taken, or one with another Q_Key")
	}
	p.send(inline, 0x800002, ownQKey)
	p.frame[len(p.frame)-1] ^= 1
	if p.deliver() {
		t.Error("one with a wrong ICRC is taken")
	}
	p.pairs[1].Fail()
	if want := []Completion{{ID: 1, QP: 0x800001, Status: StatusFlushed, Op: CompletionReceive, Receive: true}}; !slices.Equal(p.memories[1].completed, want) {
		t.Errorf("as it fails it has %+v", p.memories[1].completed)
	}
	if p.send(inline, 0x800001, ownQKey) {
		t.Error("in ERROR one is taken")
	}
}

// TestDatagramPostErrors posts what cannot be sent.
func TestDatagramPostErrors(t *testing.T) {
	p := newDatagramPair(t)
	q := p.pairs[0]
	none := func(int) []byte { t.Error("there is a packet"); return nil }
	for _, k := range []struct {
		w    WorkRequest
		want error
	}{
		{WorkRequest{Op: WorkWrite}, ErrWork},
		{WorkRequest{Op: WorkRead}, ErrWork},
		{WorkRequest{Inline: make([]byte, 1025)}, ErrLength},
		{WorkRequest{SGEs: []SGE{{base, 1025, 7}}}, ErrLength},
	} {
		if err := q.PostSend(&k.w, &Destination{}, none); err != k.want {
			t.Errorf("%+v: %v", k.w, err)
		}
	}
	if err := q.PostSend(&WorkRequest{ID: 3, SGEs: []SGE{{1, 8, 7}}}, &Destination{}, none); err != nil || q.State() != PairError {
		t.Errorf("of memory that it may not have: %v, %v", err, q.State())
	}
	if err := q.PostSend(&WorkRequest{ID: 4}, &Destination{}, none); err != nil {
		t.Error(err)
	}
	q.Reset()
	if err := q.PostSend(&WorkRequest{}, &Destination{}, none); err != ErrState {
		t.Errorf("in RESET: %v", err)
	}
	var got []Status
	for _, c := range p.memories[0].completed {
		got = append(got, c.Status)
	}
	if !slices.Equal(got, []Status{StatusLocalProtection, StatusFlushed}) {
		t.Errorf("statuses are %v", got)
	}
}
