package switchagent_test

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
)

// TestLossyAlpha: a queue alone comes to alpha/(1+alpha) of the buffer, and n equally long ones to alpha/(1+n*alpha)
// each (Choudhury and Hahne, section III): with 1 MB and frames of 1000 bytes, whole frames of that.
func TestLossyAlpha(t *testing.T) {
	const n, buffer = 1000, 1_000_000
	for _, c := range []struct {
		alpha  float64
		queues int
	}{{1, 1}, {0.5, 1}, {8, 1}, {1, 2}, {0.25, 3}} {
		r := newRig(t, func(s *switchagent.Settings) {
			s.Buffer, s.LossyLimit, s.LossyAlpha, s.PFC.Priorities = buffer, 10*units.MB, c.alpha, 0
		})
		admitted, full := 0, 0
		for full < c.queues {
			full = 0
			for q := range c.queues {
				switch d := r.Enqueue(first+q, r.frame(first+3, 0, n)); d {
				case switchagent.Admitted:
					admitted++
				case switchagent.DropAlpha:
					full++
				default:
					t.Fatalf("alpha %g: %v after %d frames", c.alpha, d, admitted)
				}
			}
		}
		want := int(c.alpha * buffer / (1 + float64(c.queues)*c.alpha) / n)
		if each := admitted / c.queues; each < want-1 || each > want+1 {
			t.Errorf("alpha %g, %d queues: %d frames in each, want %d", c.alpha, c.queues, each, want)
		}
	}
}

// TestTrim: a lossy data frame without room is trimmed to its headers in the control priority, on the account of its
// ingress port. A frame is dropped if it is no data, has been trimmed before, or finds the control priority's queue
// full or lossless.
func TestTrim(t *testing.T) {
	const payload, in, out = 1000, first + 1, first
	full := wire.V4.DataLen(wire.OpWriteOnly, payload)
	data := func(r *rig) *frame.Frame {
		h, err := wire.NewFlowHeader(wire.FlowParams{DestQP: 9, TOS: wire.DataTOS(3, wire.ECT0), HeadersOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		f := r.frame(in, 3, full)
		wire.PutData(f.Data(), h, wire.OpWriteOnly, 7, payload, false, true)
		return f
	}
	newLossy := func(edit func(*switchagent.Settings)) *rig {
		r := newRig(t, func(s *switchagent.Settings) {
			s.PFC.Priorities, s.LossyLimit, s.Trim = 0, units.Bytes(2*full), true
			if edit != nil {
				edit(s)
			}
		})
		r.TrimTo(6)
		return r
	}
	r := newLossy(nil)
	for range 2 {
		if d := r.Enqueue(out, data(r)); d != switchagent.Admitted {
			t.Fatal(d)
		}
	}
	f := data(r)
	if d := r.Enqueue(out, f); d != switchagent.Admitted {
		t.Fatal(d)
	}
	const cut = 74 // Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, ICRC 4
	var p wire.Packet
	if err := f.ParseHeaders(&p); err != nil || f.Length != cut || f.Priority != 6 || !p.Trimmed() || p.PSN != 7 ||
		p.ECN() != wire.ECT0 || p.Priority() != 6 {
		t.Errorf("%d bytes of priority %d, %+v, %v", f.Length, f.Priority, p, err)
	}
	port := r.Port(out)
	queued, packets := port.Queue(6)
	if got := r.buffered(in); queued != cut || packets != 1 || got[3] != uint64(2*full) || got[6] != cut ||
		r.state.Switches[index].Used != uint64(2*full+cut) ||
		r.state.Ports[out].Class[6].QueueBytes != cut || r.state.Ports[in].Class[6].Peak != cut {
		t.Errorf("%d bytes in %d packets queued, accounts %v, %d used", queued, packets, got, r.state.Switches[index].Used)
	}
	if c := port.Counters; c.TrimmedFrames != 1 || c.TrimmedBytes != int64(full-cut) ||
		c.DroppedFrames != [switchagent.Drops]int64{} || c.EnqueuedFrames != 3 {
		t.Errorf("%+v", c)
	}
	if next := r.take(out); next != f {
		t.Error("the headers do not go first")
	}
	for r.Port(out).Waiting() {
		r.take(out)
	}
	if r.state.Switches[index].Used != 0 || r.buffered(in) != [8]uint64{} {
		t.Errorf("%d used by nothing, %v", r.state.Switches[index].Used, r.buffered(in))
	}

	dropped := func(what string, r *rig, f *frame.Frame) {
		t.Helper()
		before, n := r.buffered(in), f.Length
		before[3] -= r.state.Switches[index].Counted(int(n))
		if d := r.Enqueue(out, f); d != switchagent.DropLossy || f.Length != n || f.Priority != 3 ||
			r.buffered(in) != before || r.Port(out).TrimmedFrames != 0 {
			t.Errorf("%s: %v, %d bytes of priority %d, accounts %v, want %v", what, d, f.Length, f.Priority, r.buffered(in),
				before)
		}
	}
	fill := func(r *rig) *rig {
		for range 2 {
			r.Enqueue(out, data(r))
		}
		return r
	}
	r = fill(newLossy(nil))
	dropped("no data", r, func() *frame.Frame { f := r.frame(in, 3, full); clear(f.Data()); return f }())
	r = fill(newLossy(nil))
	f = data(r)
	f.Length = cut
	dropped("no payload", r, f)
	r = fill(newLossy(nil))
	f = data(r)
	wire.Trim(f.Data(), 3, false)
	dropped("trimmed before", r, f)
	r = fill(newLossy(nil))
	for range 2 * full / 100 {
		r.put(in, out, 6, 100)
	}
	dropped("no room for headers", r, data(r))
	r = fill(newLossy(func(s *switchagent.Settings) { s.PFC.Priorities = 1 << 6 }))
	dropped("a lossless control priority", r, data(r))
	r = fill(newLossy(func(s *switchagent.Settings) { s.Trim = false }))
	dropped("no trimming", r, data(r))
	r = fill(newLossy(nil))
	r.Discard(out, 6, true)
	dropped("a storm in the control priority", r, data(r))
}

// TestTrimCoin: where a queue is full, a coin decides whether the frame that comes is trimmed, or the newest of the
// queue, whose place it takes. It falls as the switch's seed says.
func TestTrimCoin(t *testing.T) {
	const payload, in, out, tosses, cut = 1000, first + 1, first, 400, 74
	full := wire.V4.DataLen(wire.OpWriteOnly, payload)
	falls := func(seed uint64) string {
		r := newRig(t, func(s *switchagent.Settings) {
			s.PFC.Priorities, s.LossyLimit, s.Trim, s.TrimVictim = 0, units.Bytes(3*full), true, switchagent.TrimCoin
		})
		r.TrimTo(6)
		r.state.Switches[index].Seed = seed
		h, err := wire.NewFlowHeader(wire.FlowParams{DestQP: 9, TOS: wire.DataTOS(3, wire.ECT0), HeadersOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		put := func(from int, psn uint32) *frame.Frame {
			f := r.frame(from, 3, full)
			wire.PutData(f.Data(), h, wire.OpWriteOnly, psn, payload, false, true)
			if d := r.Enqueue(out, f); d != switchagent.Admitted {
				t.Fatal(d)
			}
			return f
		}
		oldest, second := put(in, 0), put(in, 1)
		newest, from := put(in, 2), in
		var coins []byte
		for n := range tosses {
			comes := first + 2 + n%2 // another port than the newest's, so that accounts tell which was trimmed
			f := put(comes, uint32(n+3))
			victim, at, coin := f, comes, byte('a')
			if f.Length == int32(full) {
				victim, at, coin = newest, from, 'n'
				newest, from = f, comes
			}
			coins = append(coins, coin)
			var p wire.Packet
			if err := victim.ParseHeaders(&p); err != nil || victim.Length != cut || victim.Priority != 6 || !p.Trimmed() {
				t.Fatalf("toss %d: %d bytes of priority %d, %+v, %v", n, victim.Length, victim.Priority, p, err)
			}
			queued, packets := r.Port(out).Queue(3)
			port := r.Port(out)
			if queued != int64(3*full) || packets != 3 || r.state.Ports[out].Class[3].QueueBytes != uint32(3*full) ||
				r.state.Switches[index].Used != uint64(3*full+cut) ||
				port.EnqueuedBytes-port.TxBytes != port.QueuedBytes() || port.EnqueuedFrames-port.TxFrames != 4 ||
				r.buffered(from)[3] == 0 || r.buffered(at)[6] != cut {
				t.Fatalf("toss %d: %d bytes in %d packets, %d used, accounts %v and %v, %+v", n, queued, packets,
					r.state.Switches[index].Used, r.buffered(from), r.buffered(at), port.Counters)
			}
			if next := r.take(out); next != victim {
				t.Fatalf("toss %d: the headers do not go first", n)
			}
		}
		for _, want := range []*frame.Frame{oldest, second, newest} {
			if got := r.take(out); got != want {
				t.Fatal("the queue is out of order")
			}
		}
		if c := r.Port(out).Counters; r.state.Switches[index].Used != 0 || c.TrimmedFrames != tosses ||
			c.TrimmedBytes != tosses*int64(full-cut) || c.DroppedFrames != [switchagent.Drops]int64{} {
			t.Fatalf("%d used by nothing, %+v", r.state.Switches[index].Used, c)
		}
		return string(coins)
	}
	one := falls(1)
	if n := strings.Count(one, "n"); n < tosses/2-50 || n > tosses/2+50 { // five standard deviations
		t.Errorf("%d of %d times the newest", n, tosses)
	}
	if falls(1) != one || falls(2) == one {
		t.Error("the coin does not fall as the seed says")
	}
}

// coinRig returns a rig whose lossy queues hold this many bytes, with a coin, and put, which enqueues a data frame with
// 1000 bytes of payload at a port.
func coinRig(t *testing.T, limit int, seed uint64,
	edit func(*switchagent.Settings),
) (r *rig, put func(psn uint32) (*frame.Frame, switchagent.Drop)) {
	r = newRig(t, func(s *switchagent.Settings) {
		s.PFC.Priorities, s.LossyLimit, s.Trim, s.TrimVictim = 0, units.Bytes(limit), true, switchagent.TrimCoin
		if edit != nil {
			edit(s)
		}
	})
	r.TrimTo(6)
	r.state.Switches[index].Seed = seed
	h, err := wire.NewFlowHeader(wire.FlowParams{DestQP: 9, TOS: wire.DataTOS(3, wire.ECT0), HeadersOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	return r, func(psn uint32) (*frame.Frame, switchagent.Drop) {
		f := r.frame(first+1, 3, wire.V4.DataLen(wire.OpWriteOnly, 1000))
		wire.PutData(f.Data(), h, wire.OpWriteOnly, psn, 1000, false, true)
		return f, r.Enqueue(first, f)
	}
}

// TestTrimCoinLeavesRoom: however often the newest frame is trimmed, a queue holds as many frames as before, also where
// of each frame 10 bytes do not count.
func TestTrimCoinLeavesRoom(t *testing.T) {
	const each = 1074 - 10
	r, put := coinRig(t, 3*each, 1, nil)
	r.state.Switches[index].Uncounted = 10
	for round := range 5 {
		whole := 0
		for psn := range uint32(20) {
			if f, d := put(psn); d != switchagent.Admitted {
				t.Fatalf("round %d: %v", round, d)
			} else if f.Length > 74 && psn < 3 {
				whole++
			}
		}
		if queued, packets := r.Port(first).Queue(3); whole != 3 || packets != 3 || queued != 3*each {
			t.Fatalf("round %d: %d packets of %d bytes in the queue", round, packets, queued)
		}
		for r.Port(first).Waiting() {
			r.take(first)
		}
	}
}

// TestTrimCoinNeverFalls: the newest frame stays whole where its headers could not go on: to its own queue, or to a
// priority that is lossless or in a storm.
func TestTrimCoinNeverFalls(t *testing.T) {
	const each = 1074
	for name, c := range map[string]struct {
		edit  func(*switchagent.Settings)
		ready func(*rig)
	}{
		"its own queue":       {nil, func(r *rig) { r.TrimTo(3) }},
		"a lossless priority": {func(s *switchagent.Settings) { s.PFC.Priorities = 1 << 6 }, func(*rig) {}},
		"a storm":             {nil, func(r *rig) { r.Discard(first, 6, true) }},
	} {
		for seed := range uint64(20) {
			r, put := coinRig(t, 3*each+80, seed, c.edit)
			c.ready(r)
			var before []*frame.Frame
			for psn := range uint32(3) {
				f, _ := put(psn)
				before = append(before, f)
			}
			put(3)
			for _, f := range before {
				if f.Length != each {
					t.Fatalf("%s: with seed %d a queued frame has %d bytes", name, seed, f.Length)
				}
			}
		}
	}
}
