//go:build linux

package ebpf_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
)

// Every forwarded frame is on the account of its (ingress port, priority) until it is released.
func TestAccounting(t *testing.T) {
	r := newRig(t)
	type inside struct {
		in, out  int
		priority uint8
		n        uint64
	}
	rapid.Check(t, func(t *rapid.T) {
		r.reset()
		var queued []inside
		var account, peak [rigSwitch0][8]uint64
		var frames, received [rigSwitch0]uint64
		var used uint64
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(queued) > 0 && rapid.IntRange(0, 2).Draw(t, "release") == 0 {
				i := rapid.IntRange(0, len(queued)-1).Draw(t, "which")
				h := queued[i]
				queued = append(queued[:i], queued[i+1:]...)
				r.release(h.in, h.out, h.priority, int(h.n), 0)
				account[h.in][h.priority] -= h.n
				used -= h.n
			} else {
				p := roce{
					in: rapid.IntRange(0, rigSwitch0-1).Draw(t, "in"), dst: rapid.SampledFrom([]int{0, 1, 2, 6}).Draw(t, "dst"),
					priority: uint8(rapid.IntRange(0, 7).Draw(t, "priority")), payload: rapid.IntRange(1, 1500).Draw(t, "payload"),
				}
				frame := p.frame(r.t)
				n := uint64(len(frame))
				got := r.enter(p.in, frame)
				queued = append(queued, inside{p.in, int(got.Egress), p.priority, n})
				account[p.in][p.priority] += n
				peak[p.in][p.priority] = max(peak[p.in][p.priority], account[p.in][p.priority])
				frames[p.in]++
				received[p.in] += n
				used += n
			}
			for i := range account {
				p := r.port(i)
				if each(&p.Class, buffered) != account[i] || each(&p.Class, peakBuffered) != peak[i] || p.RxFrames != frames[i] ||
					p.RxBytes != received[i] {
					t.Fatalf("port %d holds %v (most %v), received %d frames of %d bytes; want %v (%v), %d, %d", i,
						each(&p.Class, buffered), each(&p.Class, peakBuffered), p.RxFrames, p.RxBytes, account[i], peak[i], frames[i], received[i])
				}
			}
			if r.sw().Used != used || r.State.Switches[1].Used != 0 {
				t.Fatalf("%d bytes used, want %d; the other switch %d", r.sw().Used, used, r.State.Switches[1].Used)
			}
		}
	})
}

// TestXOFF: the frame that takes the account to XOFF requests PAUSE, and no frame before it, nor one after the PAUSE
// was sent.
func TestXOFF(t *testing.T) {
	r := newRig(t)
	n := uint64(dataLen)
	for _, c := range []struct {
		name string
		xoff uint64
		at   int // the frame that crosses
	}{
		{"exactly", 5 * n, 5},
		{"one byte less", 5*n - 1, 5},
		{"one byte more", 5*n + 1, 6},
		{"at once", 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			r.reset()
			r.sw().Profiles[0].Xoff, r.sw().Profiles[0].Xon = c.xoff, 0
			for i := 1; i < c.at; i++ {
				if _, got := r.data(1, 0, 0); got.Want != 0 {
					t.Fatalf("frame %d asks for %d", i, got.Want)
				}
				// Other ports and priorities have accounts of their own.
				r.enter(2, roce{in: 2, dst: 0, priority: lossless}.frame(t))
				r.enter(1, roce{in: 1, dst: 0, priority: 4}.frame(t))
			}
			// Not paused yet, so it asks until it is.
			for range 2 {
				if _, got := r.data(1, 0, 0); got.Want != ebpf.WantPause || got.OutPriority != lossless || got.InPort != 1 {
					t.Fatalf("frame %d asks for %d, priority %d, port %d", c.at, got.Want, got.OutPriority, got.InPort)
				}
			}
			pause := r.generate(1, ebpf.TriggerPause, 0, lossless)
			want := make([]byte, wire.PFCLen)
			wire.PutPause(want, portMAC(1), lossless, 0xffff)
			if pause.Verdict != ebpf.VerdictForward || pause.Egress != 1 || !bytes.Equal(pause.data, want) {
				t.Fatalf("verdict %d, port %d\n%x, want\n%x", pause.Verdict, pause.Egress, pause.data, want)
			}
			if p := r.port(1); each(&p.Class, pausing) != [8]uint8{lossless: 1} || p.PausesSent != 1 || p.IdleTriggers != 0 {
				t.Errorf("pausing %v, %d sent, %d idle triggers", each(&p.Class, pausing), p.PausesSent, p.IdleTriggers)
			}
			for range 3 {
				if _, got := r.data(1, 0, 0); got.Want != 0 {
					t.Errorf("a paused port asks for %d", got.Want)
				}
			}
		})
	}
}

// The lossy priorities never pause, each of several lossless ones does for itself.
func TestXOFFPerPriority(t *testing.T) {
	r := newRig(t)
	r.sw().Profiles[0].Xoff, r.sw().Profiles[0].Xon, r.sw().Lossless = 100, 0, 0b1001_1000
	for priority := range uint8(8) {
		got := r.enter(0, roce{in: 0, dst: 1, priority: priority}.frame(t))
		want := uint32(0)
		if r.sw().Lossless>>priority&1 != 0 {
			want = ebpf.WantPause
		}
		if got.Want != want {
			t.Errorf("priority %d asks for %d, want %d", priority, got.Want, want)
			continue
		}
		if want == 0 {
			continue
		}
		frame := make([]byte, wire.PFCLen)
		wire.PutPause(frame, portMAC(0), priority, 0xffff)
		if pause := r.generate(0, ebpf.TriggerPause, 0, priority); !bytes.Equal(pause.data, frame) {
			t.Errorf("priority %d:\n%x, want\n%x", priority, pause.data, frame)
		}
	}
}

// The frames of IEEE 802.1Qbb, byte for byte (vectors: PAUSE and RESUME).
func TestPauseFrame(t *testing.T) {
	r := newRig(t)
	p := r.port(1)
	p.Mac = wire.MAC{0x02, 0, 0, 0, 0x01, 0x01}
	p.Class[3].Buffered = 320_000
	header := "\x01\x80\xc2\x00\x00\x01\x02\x00\x00\x00\x01\x01\x88\x08\x01\x01\x00\x08\x00\x00\x00\x00\x00\x00"
	for _, c := range []struct {
		quanta  uint32
		trigger uint32
		time    string
	}{
		{0xffff, ebpf.TriggerPause, "\xff\xff"},
		{0x0102, ebpf.TriggerPause, "\x01\x02"},
		{0xffff, ebpf.TriggerResume, "\x00\x00"},
	} {
		r.sw().Quanta = c.quanta
		if c.trigger == ebpf.TriggerResume {
			p.Class[3].Buffered = 0
		}
		want := []byte(header + c.time + string(make([]byte, 34)))
		if got := r.generate(1, c.trigger, 0, 3); !bytes.Equal(got.data, want) || len(want) != 60 {
			t.Errorf("trigger %d:\n%x, want\n%x", c.trigger, got.data, want)
		}
	}
}

// TestPauseTriggers: of all triggers on a port, the due ones build packets; the others are counted as idle.
func TestPauseTriggers(t *testing.T) {
	r := newRig(t)
	const xoff, xon = 320_000, 318_000
	for _, c := range []struct {
		name     string
		trigger  uint32
		buffered uint64
		pausing  bool
		built    bool
	}{
		{"pause at XOFF", ebpf.TriggerPause, xoff, false, true},
		{"pause below XOFF", ebpf.TriggerPause, xoff - 1, false, false},
		{"refresh above XOFF", ebpf.TriggerPause, xoff + 1, true, true},
		{"refresh between XON and XOFF", ebpf.TriggerPause, xon + 1, true, true},
		{"refresh at XON", ebpf.TriggerPause, xon, true, false},
		{"resume at XON", ebpf.TriggerResume, xon, true, true},
		{"resume of an empty account", ebpf.TriggerResume, 0, true, true},
		{"resume above XON", ebpf.TriggerResume, xon + 1, true, false},
		{"resume of a port that was not paused", ebpf.TriggerResume, 0, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			r.reset()
			p := r.port(2)
			p.Class[lossless].Buffered = uint32(c.buffered)
			if c.pausing {
				p.Class[lossless].Pausing = 1
			}
			want := p.copy()
			switch {
			case !c.built:
				want.IdleTriggers++
			case c.trigger == ebpf.TriggerPause:
				want.PausesSent++
				want.Class[lossless].Pausing = 1
			default:
				want.ResumesSent++
				want.Class[lossless].Pausing = 0
			}
			if due := r.State.ResumeDue(2, lossless); due != (c.pausing && c.buffered <= xon) {
				t.Errorf("ResumeDue says %v", due)
			}
			verdict := ebpf.VerdictConsumed
			if c.built {
				verdict = ebpf.VerdictForward
			}
			if got := r.generate(2, c.trigger, 0, lossless); got.Verdict != verdict || got.Egress != 2 || got.Want != 0 {
				t.Errorf("verdict %d, port %d, want mask %d", got.Verdict, got.Egress, got.Want)
			}
			if p.copy() != want {
				t.Errorf("port\n%+v, want\n%+v", p.copy(), want)
			}
		})
	}
}

// A whole episode: up to XOFF, refreshed, down to XON.
func TestPauseEpisode(t *testing.T) {
	r := newRig(t)
	n := uint64(dataLen)
	r.sw().Profiles[0].Xoff, r.sw().Profiles[0].Xon = 10*n, 8*n
	for range 12 {
		if _, got := r.data(0, 1, 0); got.Want != 0 && r.generate(0, ebpf.TriggerPause, 0,
			lossless).Verdict != ebpf.VerdictForward {
			t.Fatal("no PAUSE where one was asked for")
		}
	}
	for buffered := 12; buffered > 8; buffered-- {
		if r.State.ResumeDue(0, lossless) || r.generate(0, ebpf.TriggerResume, 0, lossless).Verdict != ebpf.VerdictConsumed {
			t.Fatalf("RESUME with %d frames buffered", buffered)
		}
		if r.generate(0, ebpf.TriggerPause, 0, lossless).Verdict != ebpf.VerdictForward {
			t.Fatalf("no refresh with %d frames buffered", buffered)
		}
		r.release(0, 1, lossless, int(n), 0)
	}
	if !r.State.ResumeDue(0, lossless) || r.generate(0, ebpf.TriggerResume, 0, lossless).Verdict != ebpf.VerdictForward {
		t.Fatal("no RESUME at XON")
	}
	if r.State.ResumeDue(0, lossless) || r.generate(0, ebpf.TriggerResume, 0, lossless).Verdict != ebpf.VerdictConsumed {
		t.Fatal("a second RESUME")
	}
	if p := r.port(0); p.PausesSent != 5 || p.ResumesSent != 1 || p.IdleTriggers != 5 ||
		uint64(p.Class[lossless].Peak) != 12*n {
		t.Errorf("%d pauses, %d resumes, %d idle triggers, at most %d bytes buffered",
			p.PausesSent, p.ResumesSent, p.IdleTriggers, p.Class[lossless].Peak)
	}
}
