package switchagent_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Whatever comes and goes: every byte is queued, sent or counted as dropped, each account holds just what is queued, no
// frame leaves through a closed gate, and no queue is left out of the backlog. What a framing does not count is in no
// account but the backlog's.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(t, func(s *switchagent.Settings) {
			s.Buffer = bytesOf(rapid.IntRange(5_000, 100_000).Draw(t, "buffer"))
			s.LossyLimit = bytesOf(rapid.IntRange(1_000, 20_000).Draw(t, "lossy"))
			s.PFC.Priorities = rapid.Byte().Draw(t, "lossless")
			s.PFC.XOFF, s.PFC.XON, s.PFC.Headroom = 8_000, 6_000, bytesOf(rapid.IntRange(0, 8_000).Draw(t, "headroom"))
			s.PFC.Alpha = rapid.SampledFrom([]float64{0, 0.125, 1}).Draw(t, "alpha")
			for i := range s.Scheduler.Quantum {
				s.Scheduler.Quantum[i] = rapid.SampledFrom([]units.Bytes{0, 1, 700, 3000}).Draw(t, "quantum")
			}
		})
		sw := &r.state.Switches[index]
		sw.Uncounted = rapid.SampledFrom([]uint32{0, 10}).Draw(t, "uncounted")
		size := func(f *frame.Frame) int64 { return int64(sw.Counted(int(f.Length))) }
		type totals struct{ in, out, dropped, queued int64 }
		var all [first + ports]totals
		var order [first + ports][8][]*frame.Frame
		var now vtime.Time
		check := func() {
			t.Helper()
			var buffered [first + ports][8]uint64
			var used uint64
			for p := first; p < first+ports; p++ {
				port := r.Port(p)
				var frames, bytes int64
				port.Each(func(f *frame.Frame) {
					frames++
					bytes += int64(f.Length)
					if f.InPort >= 0 {
						buffered[f.InPort][f.Priority] += uint64(size(f))
						used += uint64(size(f))
					}
				})
				port.EachControl(func(f *frame.Frame) { frames++; bytes += int64(f.Length) })
				if f, b := port.Backlog(); f != frames || b != bytes {
					t.Fatalf("port %d: backlog of %d frames, %d bytes; counted %d, %d", p, f, b, frames, bytes)
				}
				c, want := port.Counters, all[p]
				if c.EnqueuedBytes != want.in || c.TxBytes != want.out || port.QueuedBytes() != want.in-want.out ||
					c.DroppedBytes[0]+c.DroppedBytes[1]+c.DroppedBytes[2]+c.DroppedBytes[switchagent.DropFull] != want.dropped ||
					c.QueuePeak != want.queued {
					t.Fatalf("port %d: %+v, %d queued; want %+v", p, c, port.QueuedBytes(), want)
				}
				for priority := range uint8(8) {
					queued, packets := port.Queue(priority)
					if queued != int64(r.state.Ports[p].Class[priority].QueueBytes) || int(packets) != len(order[p][priority]) {
						t.Fatalf("port %d, priority %d: %d bytes in %d packets, register %d, %d expected", p, priority,
							queued, packets, r.state.Ports[p].Class[priority].QueueBytes, len(order[p][priority]))
					}
				}
			}
			for p := range buffered {
				if r.buffered(p) != buffered[p] {
					t.Fatalf("port %d holds %v, queued are %v", p, r.buffered(p), buffered[p])
				}
			}
			var headroom uint64
			for p := range buffered {
				for priority, n := range r.state.Extras[p].HeadroomBuffered {
					headroom += uint64(n)
					if uint64(n) > buffered[p][priority] {
						t.Fatalf("port %d holds %d bytes of priority %d, %d in its headroom", p, buffered[p][priority], priority, n)
					}
				}
			}
			if sw.Used != used || sw.HeadroomUsed != headroom {
				t.Fatalf("%d used, %d queued; %d in the headroom, the ports' %d", sw.Used, used, sw.HeadroomUsed, headroom)
			}
		}
		dequeue := func(out int) bool {
			f, wake := r.Dequeue(now, out)
			if f == nil {
				// Only a closed gate can hold a queue, and the wake-up is when the first of them opens.
				opens := vtime.Never
				for priority, q := range order[out] {
					until := vtime.Time(r.state.Ports[out].Class[priority].PausedUntil)
					if len(q) == 0 {
						continue
					}
					if until <= now {
						t.Fatalf("port %d does not send its priority %d, which is ON", out, priority)
					}
					opens = min(opens, until)
				}
				if wake != opens {
					t.Fatalf("wake %v, want %v", wake, opens)
				}
				return false
			}
			if !f.Control {
				q := order[out][f.Priority]
				if vtime.Time(r.state.Ports[out].Class[f.Priority].PausedUntil) > now || len(q) == 0 || q[0] != f {
					t.Fatalf("port %d sent a frame of priority %d out of turn", out, f.Priority)
				}
				order[out][f.Priority] = q[1:]
				all[out].out += size(f)
			}
			r.pool.Put(f)
			return true
		}
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			out := rapid.IntRange(first, first+ports-1).Draw(t, "port")
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			default:
				in := rapid.IntRange(first, first+ports-1).Draw(t, "in")
				if rapid.IntRange(0, 9).Draw(t, "own") == 0 {
					in = -1
				}
				n := rapid.IntRange(60, 1518).Draw(t, "size")
				f := r.frame(in, uint8(rapid.IntRange(0, 7).Draw(t, "priority")), n)
				a := &all[out]
				if r.Enqueue(out, f) != switchagent.Admitted {
					a.dropped += size(f)
					r.pool.Put(f)
					break
				}
				a.in += size(f)
				a.queued = max(a.queued, a.in-a.out)
				order[out][f.Priority] = append(order[out][f.Priority], f)
			case 0:
				f := r.frame(-1, 0, 60)
				f.Control = true
				r.Enqueue(out, f)
			case 1:
				now += vtime.Time(rapid.IntRange(0, 3).Draw(t, "wait"))
				r.state.Ports[out].Class[rapid.IntRange(0, 7).Draw(t, "class")].PausedUntil =
					uint64(now) + uint64(rapid.IntRange(0, 5).Draw(t, "pause"))
			case 2:
				r.pause(out, uint8(rapid.IntRange(0, 7).Draw(t, "class")))
			case 3, 4, 5, 6:
				dequeue(out)
			}
			check()
		}
		now = math.MaxInt64 / 2
		for p := first; p < first+ports; p++ {
			for dequeue(p) {
			}
		}
		check()
		if r.pool.Out() != 0 || r.state.Switches[index].Used != 0 {
			t.Fatalf("%d frames and %d bytes are left", r.pool.Out(), r.state.Switches[index].Used)
		}
	})
}
