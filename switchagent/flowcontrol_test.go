package switchagent_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// byCredits has priorities 3 and 4 go by credits of 64 B, of which every port starts with so many.
func (r *rig) byCredits(limit uint16) {
	for p := first; p < first+ports; p++ {
		r.state.Ports[p].CreditVls = 1<<3 | 1<<4
		port := &r.state.Extras[p]
		port.BlockShift = 6
		port.Credit[3].Limit, port.Credit[4].Limit = limit, limit
	}
}

// send makes port p send its next frame, if there is one that may leave, like the engine.
func (r *rig) send(now vtime.Time, p int) (*frame.Frame, vtime.Time) {
	f, wake := r.Dequeue(now, p)
	if f != nil && r.state.Ports[p].CreditVls>>f.Priority&1 != 0 {
		r.state.Spend(p, f.Priority, int(f.Length))
	}
	return f, wake
}

func newCreditRig(t failer, edit func(s *switchagent.Settings)) *rig {
	t.Helper()
	return newRig(t, func(s *switchagent.Settings) {
		s.FlowControl = switchagent.FlowCBFC
		s.CBFC.Priorities = 1<<3 | 1<<4
		if edit != nil {
			edit(s)
		}
	})
}

// A frame leaves if there are credits for all of it; until more come the queue is OFF, others are not, and the first to
// leave then knows since when it is ON.
func TestCreditGate(t *testing.T) {
	r := newCreditRig(t, nil)
	r.byCredits(34)
	const out = first + 1
	for range 3 {
		r.put(first, out, 3, 1048) // 17 blocks
	}
	r.put(first, out, 6, 1048)
	r.put(first, out, 4, 64)
	if f, _ := r.send(0, out); f.Priority != 6 {
		t.Fatalf("priority %d first", f.Priority)
	}
	if f, _ := r.send(0, out); f.Priority != 4 {
		t.Fatalf("priority %d second", f.Priority)
	}
	for range 2 {
		if f, _ := r.send(0, out); f.Priority != 3 || f.OnSince != 0 {
			t.Fatalf("priority %d, ON since %d", f.Priority, f.OnSince)
		}
	}
	class, registers := &r.state.Ports[out].Class[3], &r.state.Extras[out]
	if c := registers.Credit; c[3].Sent != 34 || c[4].Sent != 1 || c[6].Sent != 0 {
		t.Errorf("sent %+v", c)
	}
	// Looking again and again is one stall, and no time is known when it ends.
	for range 3 {
		if f, wake := r.send(1000, out); f != nil || wake != vtime.Never {
			t.Fatalf("%+v left without a credit, or will at %v", f, wake)
		}
	}
	if registers.CreditStalls != 1 || registers.Credit[3].Needed != 17 || class.OffSince != 1000 ||
		!r.state.Paused(out, 3, 1<<60) {
		t.Errorf("registers %+v, %+v", class, registers)
	}
	r.put(first, out, 6, 100)
	if f, _ := r.send(1000, out); f == nil || f.Priority != 6 {
		t.Fatal("the gate of one priority holds another")
	}
	// As the pipeline does when a message grants enough.
	registers.Credit[3].Limit, registers.Credit[3].Needed, class.PausedUntil = 51, 0, 2000
	if f, _ := r.send(2500, out); f == nil || f.OnSince != 2000 || f.QueuePackets != 0 {
		t.Fatalf("%+v left", f)
	}
	if f, wake := r.send(2500, out); f != nil || wake != vtime.Never || registers.CreditStalls != 1 {
		t.Fatalf("an empty queue: %+v, wake at %v, %d stalls", f, wake, registers.CreditStalls)
	}
}

// Whatever comes and goes, no port sends more blocks than it was granted, sends what it may, and never drops what goes
// by credits: its room is not the shared buffer.
func TestCreditsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newCreditRig(t, func(s *switchagent.Settings) {
			s.Buffer, s.CBFC.Buffer = 3000, 1_000_000
			s.LossyLimit = 2000
			s.Scheduler.Quantum[3] = units.Bytes(rapid.SampledFrom([]int{0, 900}).Draw(t, "quantum"))
			s.Scheduler.Quantum[4] = s.Scheduler.Quantum[3]
		})
		r.byCredits(uint16(rapid.IntRange(0, 100).Draw(t, "limit")))
		var granted, sent [8]int
		granted[3], granted[4] = int(r.state.Extras[first].Credit[3].Limit), int(r.state.Extras[first].Credit[4].Limit)
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			priority := uint8(rapid.IntRange(3, 5).Draw(t, "priority"))
			c := &r.state.Extras[first].Credit[priority]
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				f := r.frame(first+1, priority, rapid.IntRange(60, 1518).Draw(t, "length"))
				if d := r.Enqueue(first, f); d != switchagent.Admitted {
					if priority != 5 {
						t.Fatalf("priority %d: %v", priority, d)
					}
					r.pool.Put(f)
				}
			case 1:
				if priority == 5 {
					continue
				}
				n := rapid.IntRange(0, min(300, 2048-(granted[priority]-sent[priority]))).Draw(t, "grant")
				granted[priority] += n
				c.Limit = uint16(granted[priority] % 4096)
				if c.Needed != 0 && granted[priority]-sent[priority] >= int(c.Needed) {
					c.Needed, r.state.Ports[first].Class[priority].PausedUntil = 0, 1
				}
			default:
				f, wake := r.send(5, first)
				if f == nil {
					if wake != vtime.Never {
						t.Fatalf("wake at %v", wake)
					}
					for priority := range uint8(8) {
						if n, packets := r.Port(first).Queue(priority); packets > 0 &&
							(priority == 5 || !r.state.Paused(first, priority, 5)) {
							t.Fatalf("priority %d is ON with %d bytes queued, and nothing leaves", priority, n)
						}
					}
					continue
				}
				sent[f.Priority] += (int(f.Length) + 63) / 64
				r.pool.Put(f)
			}
			for _, p := range []int{3, 4} {
				if sent[p] > granted[p] || int(r.state.Extras[first].Credit[p].Sent) != sent[p]%4096 {
					t.Fatalf("priority %d: %d blocks sent of %d, register %d", p, sent[p], granted[p],
						r.state.Extras[first].Credit[p].Sent)
				}
			}
		}
	})
}

func TestBlockSize(t *testing.T) {
	for _, c := range []struct {
		buffer, block units.Bytes
		frame         int
		want          units.Bytes
	}{
		{280 * units.KB, 0, 1058, 128}, // the patent's, which 64 B blocks would leave more than half of unused
		{64 * units.KB, 0, 1058, 64},
		{units.MB, 0, 1058, 512},
		{280 * units.KB, 64, 1058, 64},
		{280 * units.KB, 4096, 1058, 4096},
		{2000, 0, 4154, 64}, // holds no frame at all
	} {
		b := switchagent.CBFC{Block: c.block}
		if got := b.BlockSize(c.buffer, c.frame); got != c.want {
			t.Errorf("%+v: blocks of %v", c, got)
		}
	}
	for buffer, holds := range map[units.Bytes]bool{1116: false, 1151: false, 1152: true} {
		if b := (switchagent.CBFC{}); b.Holds(buffer, 1116, 1058) != holds {
			t.Errorf("%v holds a frame: %t", buffer, !holds)
		}
	}
}
