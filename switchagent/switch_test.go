package switchagent_test

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Each priority's gate is its own; a closed one opens by itself when the pause runs out.
func TestPFCGate(t *testing.T) {
	r := newRig(t, nil)
	const out = first + 2
	if f, wake := r.Dequeue(0, out); f != nil || wake != vtime.Never {
		t.Errorf("an empty port: %v, wake %v", f, wake)
	}
	r.put(first, out, 3, 100)
	r.put(first, out, 5, 100)
	r.put(first, out, 1, 100)
	class := &r.state.Ports[out].Class
	class[3].PausedUntil, class[5].PausedUntil, class[6].PausedUntil = 2000, 1000, 10 // priority 6 has nothing to send
	if f, _ := r.Dequeue(500, out); f == nil || f.Priority != 1 {
		t.Fatal("the priority that is ON does not send")
	}
	if f, wake := r.Dequeue(500, out); f != nil || wake != 1000 {
		t.Errorf("all OFF: wake %v, want 1000", wake)
	}
	if f, wake := r.Dequeue(999, out); f != nil || wake != 1000 {
		t.Errorf("a picosecond before: wake %v", wake)
	}
	control := r.frame(-1, 0, 60)
	control.Control = true
	r.Enqueue(out, control)
	if f, _ := r.Dequeue(999, out); f != control {
		t.Error("a pause holds a control frame")
	}
	if f, _ := r.Dequeue(1000, out); f == nil || f.Priority != 5 {
		t.Error("the pause of priority 5 did not end in time")
	}
	if f, wake := r.Dequeue(1000, out); f != nil || wake != 2000 {
		t.Errorf("wake %v, want 2000", wake)
	}
	class[3].PausedUntil = 1500 // a RESUME
	if f, _ := r.Dequeue(1500, out); f == nil || f.Priority != 3 {
		t.Error("not resumed")
	}
}

// With several gates closed the port is looked at again when the first of them opens, whichever that is.
func TestWakeIsTheFirst(t *testing.T) {
	for _, until := range [][3]uint64{{1000, 1500, 2000}, {1500, 1000, 2000}, {2000, 1500, 1000}} {
		r := newRig(t, nil)
		for i, u := range until {
			r.put(first, first, uint8(2*i+1), 100)
			r.state.Ports[first].Class[2*i+1].PausedUntil = u
		}
		if f, wake := r.Dequeue(10, first); f != nil || wake != 1000 {
			t.Errorf("paused until %v: wake %v", until, wake)
		}
	}
}

// The departure record is the port's state with the frame gone.
func TestDepartureRecord(t *testing.T) {
	r := newRig(t, nil)
	r.put(first, first+1, 3, 1000)
	r.put(first+2, first+1, 3, 600)
	r.put(first+2, first+1, 3, 70)
	p := &r.state.Ports[first+1]
	p.Class[3].PausedUntil, p.Class[3].Burst, p.Class[4].Burst = 77, 2, 1
	for priority, c := range p.Class {
		if want := map[int]uint32{3: 1670}[priority]; c.QueueBytes != want {
			t.Errorf("priority %d: %d bytes queued, want %d", priority, c.QueueBytes, want)
		}
	}
	for _, want := range [][2]uint32{{670, 2}, {70, 1}, {0, 0}} {
		f, _ := r.Dequeue(100, first+1)
		if f.QueueBytes != want[0] || f.QueuePackets != want[1] || f.OnSince != 77 || f.Burst != 2 {
			t.Errorf("left behind %d bytes in %d packets, ON since %d, burst %d", f.QueueBytes, f.QueuePackets, f.OnSince,
				f.Burst)
		}
		if p.Class[3].QueueBytes != uint32(want[0]) {
			t.Errorf("register says %d", p.Class[3].QueueBytes)
		}
	}
	if r.state.Ports[first].Class[3].Buffered+r.state.Ports[first+2].Class[3].Buffered != 0 ||
		r.state.Switches[index].Used != 0 {
		t.Error("not released")
	}
}

func TestAdmission(t *testing.T) {
	const n, in, out = 1000, first, first + 1
	for _, c := range []struct {
		name     string
		priority uint8
		edit     func(s *switchagent.Settings)
		prepare  func(r *rig)
		in       int
		want     switchagent.Drop
	}{
		{name: "lossless", priority: 3, in: in, want: switchagent.Admitted},
		{name: "fills the buffer", priority: 3, in: in, want: switchagent.Admitted, prepare: func(r *rig) {
			r.state.Switches[index].Used = uint64(r.buffer) - n
		}},
		{name: "one byte over the buffer", priority: 3, in: in, want: switchagent.DropBuffer, prepare: func(r *rig) {
			r.state.Switches[index].Used = uint64(r.buffer) - n + 1
		}},
		{
			name: "4 GB of a larger buffer", priority: 3, in: in, want: switchagent.DropBuffer,
			edit:    func(s *switchagent.Settings) { s.Buffer = 1000 * units.GB },
			prepare: func(r *rig) { r.state.Switches[index].Used = 1<<32 - 1<<20 - n + 1 },
		},
		{
			name: "almost 4 GB of a larger buffer", priority: 3, in: in, want: switchagent.Admitted,
			edit:    func(s *switchagent.Settings) { s.Buffer = 1000 * units.GB },
			prepare: func(r *rig) { r.state.Switches[index].Used = 1<<32 - 1<<20 - n },
		},
		{name: "lossy, one byte over the buffer", priority: 0, in: in, want: switchagent.DropFull, prepare: func(r *rig) {
			r.state.Switches[index].Used = uint64(r.buffer) - n + 1
		}},
		{
			name: "lossy, fills its queue", priority: 0, in: in, want: switchagent.Admitted,
			edit: func(s *switchagent.Settings) { s.LossyLimit = n },
		},
		{
			name: "lossy, one byte over its queue", priority: 0, in: in, want: switchagent.DropLossy,
			edit: func(s *switchagent.Settings) { s.LossyLimit = n - 1 },
		},
		{
			name: "lossless knows no lossy limit", priority: 3, in: in, want: switchagent.Admitted,
			edit: func(s *switchagent.Settings) { s.LossyLimit = 1 },
		},
		{name: "above XOFF, not paused yet", priority: 3, in: in, want: switchagent.Admitted, prepare: func(r *rig) {
			r.state.Ports[in].Class[3].Buffered = 10_000_000
		}},
		{name: "fills the headroom", priority: 3, in: in, want: switchagent.Admitted, prepare: func(r *rig) {
			r.pause(in, 3)
			r.state.Ports[in].Class[3].Buffered = 320_000 + 75_000 - n
		}},
		{name: "one byte over the headroom", priority: 3, in: in, want: switchagent.DropHeadroom, prepare: func(r *rig) {
			r.pause(in, 3)
			r.state.Ports[in].Class[3].Buffered = 320_000 + 75_000 - n + 1
		}},
		{name: "another port is paused", priority: 3, in: in, want: switchagent.Admitted, prepare: func(r *rig) {
			r.pause(in+1, 3)
			r.pause(in, 4)
			r.state.Ports[in].Class[3].Buffered = 1_000_000
		}},
		{name: "resumed", priority: 3, in: in, want: switchagent.Admitted, prepare: func(r *rig) {
			r.pause(in, 3)
			r.state.Ports[in].Class[3].Pausing = 0
			r.Resumed(in, 3)
			r.state.Ports[in].Class[3].Buffered = 1_000_000
		}},
		{name: "the switch's own frame has no account", priority: 3, in: -1, want: switchagent.Admitted},
		// With a dynamic threshold, what came when it was reached is in the headroom, whatever it is now. XOFF is 500 000.
		{
			name: "dynamic threshold, fills the headroom", priority: 3, in: in, want: switchagent.Admitted, edit: dynamic,
			prepare: func(r *rig) {
				spilled(r, in, 500_000, 75_000-n)
			},
		},
		{
			name: "dynamic threshold, over the headroom", priority: 3, in: in, want: switchagent.DropHeadroom, edit: dynamic,
			prepare: func(r *rig) {
				spilled(r, in, 500_000, 75_000-n+1)
			},
		},
		// Others have filled the buffer while the port's peer sent nothing: the port holds far more than XOFF. What may come
		// is what was in flight as PAUSE was sent.
		{
			name: "dynamic threshold that fell, fills the headroom", priority: 3, in: in, want: switchagent.Admitted,
			edit: dynamic, prepare: func(r *rig) {
				spilled(r, in, 900_000, 75_000-n)
			},
		},
		{
			name: "dynamic threshold that fell, over the headroom", priority: 3, in: in, want: switchagent.DropHeadroom,
			edit: dynamic, prepare: func(r *rig) {
				spilled(r, in, 900_000, 75_000-n+1)
				r.Paused(in, 3)
			},
		},
		{
			name: "dynamic threshold that rose, a full headroom", priority: 3, in: in, want: switchagent.Admitted, edit: dynamic,
			prepare: func(r *rig) {
				spilled(r, in, 400_000, 75_000)
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.edit)
			if c.prepare != nil {
				c.prepare(r)
			}
			buffered, used := r.buffered(in), r.state.Switches[index].Used
			headroom := r.state.Extras[in].HeadroomBuffered
			got := r.Enqueue(out, r.frame(c.in, c.priority, n))
			if got != c.want {
				t.Fatalf("%v, want %v", got, c.want)
			}
			p := r.Port(out)
			queued, packets := p.Queue(c.priority)
			if c.want == switchagent.Admitted {
				if queued != n || packets != 1 || p.EnqueuedFrames != 1 || p.EnqueuedBytes != n || p.QueuePeak != n {
					t.Errorf("%d bytes in %d packets queued; %+v", queued, packets, p.Counters)
				}
				return
			}
			// A refused frame leaves no trace but its counter.
			want := switchagent.Counters{}
			want.DroppedFrames[got], want.DroppedBytes[got] = 1, n
			if queued != 0 || packets != 0 || p.Counters != want {
				t.Errorf("%d bytes in %d packets queued; %+v", queued, packets, p.Counters)
			}
			if r.buffered(in) != buffered || r.state.Switches[index].Used != used {
				t.Errorf("%v buffered, %d used after a drop; before %v, %d", r.buffered(in), r.state.Switches[index].Used, buffered,
					used)
			}
			if r.state.Extras[in].HeadroomBuffered != headroom || r.state.Switches[index].HeadroomUsed != uint64(headroom[3]) {
				t.Errorf("%v in the headroom after a drop, %d in all; before %v", r.state.Extras[in].HeadroomBuffered,
					r.state.Switches[index].HeadroomUsed, headroom)
			}
		})
	}
}

// spilled has a paused port of a switch of 10 MB, of which 6 MB are shared, hold so much beside its headroom, and in
// it.
func spilled(r *rig, in int, shared, headroom uint64) {
	r.pause(in, 3)
	r.state.Ports[in].Class[3].Buffered, r.state.Extras[in].HeadroomBuffered[3] = uint32(shared+headroom), uint32(headroom)
	r.state.Switches[index].Used, r.state.Switches[index].HeadroomUsed = 6_000_000+headroom, headroom
}

// dynamic makes XOFF an eighth of the free part of 10 MB.
func dynamic(s *switchagent.Settings) {
	s.Buffer = 10 * units.MB
	s.PFC.Alpha, s.PFC.XOFF, s.PFC.XOFFToXON = 0.125, 0, 2*units.KB
}

// A paused ingress port is due for RESUME once its account has fallen to XON.
func TestDueStatic(t *testing.T) {
	r := newRig(t, func(s *switchagent.Settings) { s.PFC.XOFF, s.PFC.XON = 5000, 3000 })
	for range 5 {
		r.put(first, first+1, 3, 1000)
		r.put(first+2, first+1, 3, 1000)
	}
	r.pause(first, 3)
	for i := range 10 {
		f := r.take(first + 1)
		// Port first has 4, 4, 3, ... frames left; it was paused, the other was not.
		want := []switchagent.Due{{Port: first, Priority: 3}}
		if r.state.Ports[first].Class[3].Buffered > 3000 {
			want = nil
		}
		if !slices.Equal(r.Due(), want) {
			t.Errorf("after %d frames (this from port %d): due %v, want %v", i+1, f.InPort, r.Due(), want)
		}
	}
	// It stays due until the RESUME was sent.
	if r.FindDue(); len(r.Due()) != 1 {
		t.Errorf("due %v", r.Due())
	}
	r.state.Ports[first].Class[3].Pausing = 0
	r.Resumed(first, 3)
	if r.FindDue(); len(r.Due()) != 0 {
		t.Errorf("due %v after RESUME", r.Due())
	}
}

// With a dynamic threshold a dequeue of any port may make a RESUME due of any other; in the order of pausing.
func TestDueDynamic(t *testing.T) {
	r := newRig(t, dynamic)
	used := &r.state.Switches[index].Used
	for _, p := range []int{first + 2, first} {
		r.state.Ports[p].Class[3].Buffered = 300_000
	}
	*used = 8_000_000 // XOFF 250 000
	r.pause(first+2, 3)
	r.pause(first, 3)
	// Another port's frame leaves: XON is (10e6-used)/8 - 2000, which is 300 000 when 2 416 000 are free.
	r.put(first+1, first+3, 3, 1000)
	*used = 7_584_001 + 1000
	if r.take(first + 3); len(r.Due()) != 0 {
		t.Errorf("XON %d: due %v", r.state.Threshold(first)-2000, r.Due())
	}
	r.put(first+1, first+3, 3, 1000)
	*used = 7_584_000 + 1000
	r.take(first + 3)
	if want := []switchagent.Due{{Port: first + 2, Priority: 3}, {Port: first, Priority: 3}}; !slices.Equal(r.Due(),
		want) {
		t.Errorf("XON %d: due %v, want %v", r.state.Threshold(first)-2000, r.Due(), want)
	}
	r.Resumed(first+2, 3)
	r.FindDue()
	if want := []switchagent.Due{{Port: first, Priority: 3}}; !slices.Equal(r.Due(), want) {
		t.Errorf("due %v, want %v", r.Due(), want)
	}
	// A second PAUSE of the same port counts once.
	r.Paused(first, 3)
	if r.FindDue(); len(r.Due()) != 1 {
		t.Errorf("due %v", r.Due())
	}
}

func TestDropNames(t *testing.T) {
	for d := switchagent.DropHeadroom; d < switchagent.Drops; d++ {
		if d.String() == "" {
			t.Errorf("drop %d has no name", d)
		}
	}
	if switchagent.Admitted.String() != "admitted" {
		t.Error(switchagent.Admitted)
	}
}

// TestTakePeak: the longest queue of each interval, which starts with the current queue.
func TestTakePeak(t *testing.T) {
	r := newRig(t, nil)
	const out = first + 1
	p := r.Port(out)
	r.put(first, out, 3, 1000)
	r.put(first, out, 6, 500)
	r.take(out)
	if got := p.TakePeak(); got != 1500 {
		t.Errorf("%d", got)
	}
	if got := p.TakePeak(); got != 1000 { // what is left, of priority 3
		t.Errorf("%d after it was taken", got)
	}
	r.take(out)
	r.put(first, out, 3, 200)
	if got := p.TakePeak(); got != 1000 {
		t.Errorf("%d: the stretch began with 1000 bytes", got)
	}
	r.take(out)
	if first, second := p.TakePeak(), p.TakePeak(); first != 200 || second != 0 {
		t.Errorf("%d, %d", first, second)
	}
}
