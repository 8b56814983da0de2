package qp

import (
	"bytes"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
)

// datagramPair holds a queue pair that sends, and one that receives the packets of the first.
type datagramPair struct {
	*testing.T
	memories [2]*memory
	pairs    [2]*Datagrams
	frame    []byte // the last that was sent
	ip       wire.Version
}

const ownQKey = 0x11111111

func newDatagramPair(t *testing.T) *datagramPair {
	t.Helper()
	p := &datagramPair{T: t}
	for i := range p.pairs {
		p.memories[i] = &memory{bytes: make([]byte, 4096)}
		q, err := NewDatagrams(Config{
			Number: uint32(0x800000 + i), Program: p.memories[i], SendDepth: 4, ReceiveDepth: 4,
			SignalAll: true,
		}, 1080)
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

// send posts a work request and passes the resulting packet to the other end. It returns false if that does not accept
// it.
func (p *datagramPair) send(w *WorkRequest, number, qkey uint32) bool {
	p.Helper()
	p.frame = nil
	to := &Destination{FlowParams: wire.FlowParams{
		Version: p.ip, Src: wire.Addr{10, 0, 0, 1}, Dst: wire.Addr{10, 0, 0, 2},
		SrcPort: 0xc001, DestQP: number, TOS: wire.ControlTOS(3),
	}, QKey: qkey}
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

// TestDatagram sends a datagram from memory: the receiver gets the IP header before it, and the number of the sender.
func TestDatagram(t *testing.T) {
	for ip, header := range map[wire.Version][]byte{
		// Addresses, and what IBTA annex A17.4.5.1 has behind 20 bytes: an IPv4 header.
		wire.V4: {20: 0x45, 21: wire.ControlTOS(3), 23: 20 + 52, 26: 0x40, 28: 64, 29: 17, 32: 10, 35: 1, 36: 10, 39: 2},
		// RFC 8200 section 3: 52 bytes of UDP follow (8, BTH 12, DETH 8, immediate data 4, 16 of payload, ICRC 4),
		// and there is no flow label.
		wire.V6: {
			0: 0x60 | wire.ControlTOS(3)>>4, 1: wire.ControlTOS(3) & 0xf << 4, 5: 52, 6: 17, 7: 64, 8: 0xfd, 20: 10,
			23: 1, 24: 0xfd, 36: 10, 39: 2,
		},
	} {
		t.Run(ip.String(), func(t *testing.T) { sendDatagram(t, ip, header) })
	}
}

func sendDatagram(t *testing.T, ip wire.Version, header []byte) {
	p := newDatagramPair(t)
	p.ip = ip
	copy(p.memories[0].bytes[100:], "lossless or not")
	p.receive(5, 4096)
	if !p.send(&WorkRequest{
		ID: 9, Op: WorkSendImm, Imm: 0xabcd, Solicited: true,
		SGEs: []SGE{{base + 100, 8, 7}, {base + 108, 7, 7}},
	}, 0x800001, ownQKey) {
		t.Fatal("it is not taken")
	}
	if want := []Completion{{
		ID: 9, QP: 0x800000, Remote: 0x800001,
		Op: CompletionSend,
	}}; !slices.Equal(p.memories[0].completed, want) {
		t.Errorf("the sender has %+v", p.memories[0].completed)
	}
	want := []Completion{{
		ID: 5, QP: 0x800001, Remote: 0x800000, Op: CompletionReceive, Length: 55, Imm: 0xabcd,
		WithImm: true, Solicited: true, Receive: true, IP: ip,
	}}
	if !slices.Equal(p.memories[1].completed, want) {
		t.Errorf("the receiver has %+v", p.memories[1].completed)
	}
	got := p.memories[1].bytes
	got[30], got[31] = 0, 0 // IPv4's checksum
	if !bytes.Equal(got[:40], header) || string(got[40:56]) != "lossless or not\x00" {
		t.Errorf("the receiver's memory is %x %q, not %x", got[:40], got[40:60], header)
	}
}

// TestDatagramRefused: a packet for another queue pair is not accepted, and one without memory is lost.
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
	if want := []Completion{{
		ID: 1, QP: 0x800001, Status: StatusFlushed, Op: CompletionReceive,
		Receive: true,
	}}; !slices.Equal(p.memories[1].completed, want) {
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
		ip   wire.Version
		w    WorkRequest
		want error
	}{
		{wire.V4, WorkRequest{Op: WorkWrite}, ErrWork},
		{wire.V6, WorkRequest{Op: WorkRead}, ErrWork},
		{wire.V4, WorkRequest{Inline: make([]byte, 1025)}, ErrLength},
		{wire.V6, WorkRequest{SGEs: []SGE{{base, 1005, 7}}}, ErrLength}, // its header is 20 bytes longer
	} {
		if err := q.PostSend(&k.w, &Destination{FlowParams: wire.FlowParams{Version: k.ip}}, none); err != k.want {
			t.Errorf("%+v: %v", k.w, err)
		}
	}
	if err := q.PostSend(&WorkRequest{ID: 3, SGEs: []SGE{{1, 8, 7}}}, &Destination{}, none); err != nil ||
		q.State() != StateError {
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
