package switchagent_test

import (
	"testing"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// TestDiscard: a closed port accepts nothing, and one whose queue is in a storm nothing of that priority. Refused and
// flushed frames leave the accounts of their ingress ports.
func TestDiscard(t *testing.T) {
	r := newRig(t, nil)
	const out, in = first, first + 1
	take := func(priority uint8) switchagent.Drop { return r.Enqueue(out, r.frame(in, priority, 1000)) }
	control := func() switchagent.Drop {
		f := r.frame(-1, 0, 60)
		f.Control = true
		return r.Enqueue(out, f)
	}
	if d := take(3); d != switchagent.Admitted {
		t.Fatal(d)
	}
	r.Discard(out, 3, true)
	if d := take(3); d != switchagent.DropDiscard {
		t.Errorf("in a storm: %v", d)
	}
	if d := take(6); d != switchagent.Admitted {
		t.Errorf("another priority: %v", d)
	}
	if control() != switchagent.Admitted {
		t.Error("a control frame was refused in a storm")
	}
	if buffered := r.state.Ports[in].Class[3].Buffered; buffered != 1000 {
		t.Errorf("%d bytes buffered, want those of the first", buffered)
	}
	r.Close(out)
	if d := take(6); d != switchagent.DropDiscard || !r.Closed(out) {
		t.Errorf("closed: %v", d)
	}
	if control() != switchagent.DropDiscard {
		t.Error("a control frame was taken by a closed port")
	}
	flushed := 0
	for priority := range uint8(switchagent.Priorities) {
		r.Flush(out, priority, func(*frame.Frame) { flushed++ })
	}
	r.FlushControl(out, func(*frame.Frame) { flushed++ })
	if n, bytes := r.Port(out).Backlog(); flushed != 3 || n != 0 || bytes != 0 || r.Port(out).Waiting() {
		t.Errorf("%d flushed, %d frames of %d bytes left", flushed, n, bytes)
	}
	if p := &r.state.Ports[in]; p.Class[3].Buffered != 0 || p.Class[6].Buffered != 0 ||
		r.state.Switches[index].Used != 0 || r.state.Ports[first].Class[3].QueueBytes != 0 {
		t.Error("the accounts are not empty")
	}
	r.Open(out)
	if d := take(3); d != switchagent.DropDiscard {
		t.Errorf("open, the storm goes on: %v", d)
	}
	r.Discard(out, 3, false)
	if d := take(3); d != switchagent.Admitted || r.Closed(out) {
		t.Errorf("open, the storm is over: %v", d)
	}
}

// TestIgnore: a queue that ignores PAUSE sends although it is paused, the others do not.
func TestIgnore(t *testing.T) {
	r := newRig(t, nil)
	for _, priority := range []uint8{3, 4} {
		r.put(first+1, first, priority, 1000)
		r.state.Ports[first].Class[priority].PausedUntil = uint64(vtime.Second)
	}
	if f, wake := r.Dequeue(0, first); f != nil || wake != vtime.Second {
		t.Fatalf("%v left a paused port, or is to be looked at again at %v", f, wake)
	}
	r.Ignore(first, 3, true)
	if f, _ := r.Dequeue(0, first); f == nil || f.Priority != 3 || !r.Ignores(first, 3) {
		t.Errorf("%v left", f)
	}
	r.Ignore(first, 3, false)
	r.put(first+1, first, 3, 1000)
	if f, _ := r.Dequeue(0, first); f != nil {
		t.Errorf("%v left a paused port", f)
	}
}

// TestWatchdogSettings: times that cannot be are refused.
func TestWatchdogSettings(t *testing.T) {
	for _, c := range []struct {
		set  func(*switchagent.Settings)
		fine bool
	}{
		{func(s *switchagent.Settings) { s.PFC.Watchdog.Detect, s.PFC.Watchdog.Restore = 1, 1 }, true},
		{func(s *switchagent.Settings) { s.PFC.Watchdog.Detect = 1 }, false},
		{func(s *switchagent.Settings) {
			s.PFC.Watchdog.Detect, s.PFC.Watchdog.Restore, s.FlowControl = 1, 1, switchagent.FlowCBFC
		}, false},
	} {
		s := switchagent.Default()
		c.set(&s)
		if err := s.Validate(); (err == nil) != c.fine {
			t.Errorf("%+v: %v", s.PFC.Watchdog, err)
		}
	}
}
