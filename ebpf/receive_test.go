//go:build linux

package ebpf_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// pfc sends a PFC frame of the peer into a port.
func (r *rig) pfc(in int, enable uint8, times [8]uint16) result {
	r.t.Helper()
	frame := make([]byte, wire.PFCLen)
	wire.PutPFC(frame, peerMAC(in), enable, &times)
	got := r.enter(in, frame)
	if got.Verdict != ebpf.VerdictConsumed {
		r.fatalf("verdict %d of a PFC frame", got.Verdict)
	}
	return got
}

// pfcTo returns a PFC frame with another destination than the standard's: no pause of the link it comes over.
func pfcTo(address wire.MAC) []byte {
	frame := make([]byte, wire.PFCLen)
	wire.PutPFC(frame, peerMAC(0), 1<<lossless, &[8]uint16{lossless: 0xffff})
	wire.Ethernet(frame).SetDst(address)
	return frame
}

// A pause of q quanta lasts q*512 bit times: to the picosecond, at a switch's port and at a host's.
func TestPauseLasts(t *testing.T) {
	r := newRig(t)
	for _, rate := range []uint64{25, 40, 100} { // Gb/s
		for _, q := range []uint16{1, 2, 0x1234, 0xffff} {
			for _, in := range []int{3, rigHostPort} {
				r.reset()
				// 512 bits at so many bits a nanosecond: 20.48, 12.8 and 5.12 ns.
				r.port(in).Quantum = map[uint64]uint32{25: 20_480, 40: 12_800, 100: 5_120}[rate]
				lasts := vtime.Time(uint64(q) * 512 * 1000 / rate)
				start := r.now()
				got := r.pfc(in, 1<<lossless, [8]uint16{lossless: q})
				if got.Want != ebpf.StateChanged || got.Changed != 1<<lossless {
					t.Fatalf("want mask %d, changed %d", got.Want, got.Changed)
				}
				if !r.State.Paused(in, lossless, start) || !r.State.Paused(in, lossless, start+lasts-1) ||
					r.State.Paused(in, lossless, start+lasts) {
					t.Errorf("%d quanta at %d Gbps: paused until %d, want %v after %v",
						q, rate, r.port(in).Class[lossless].PausedUntil, lasts, start)
				}
				if r.State.Paused(in, lossless-1, start) || r.State.Paused(in, lossless+1, start) {
					t.Error("another priority is paused")
				}
			}
		}
	}
}

// IEEE 802.1Qbb, a quantum being 512 bit times (vectors): 0xffff quanta are 838.85 us at 40 Gb/s and 335.54 us at 100
// Gb/s.
func TestLongestPause(t *testing.T) {
	r := newRig(t)
	for quantum, want := range map[uint32]vtime.Time{12_800: 838_848 * vtime.Nanosecond, 5_120: 335_539_200} {
		r.reset()
		r.port(0).Quantum = quantum
		r.pfc(0, 1, [8]uint16{0xffff})
		if got := vtime.Time(r.port(0).Class[0].PausedUntil) - r.now(); got != want {
			t.Errorf("a quantum of %d ps: %v, want %v", quantum, got, want)
		}
	}
}

func TestRefreshKeepsOffSince(t *testing.T) {
	r := newRig(t)
	p := r.port(0)
	start := r.now()
	r.pfc(0, 8, [8]uint16{3: 100})
	r.after(50 * 12_800)
	r.pfc(0, 8, [8]uint16{3: 100})
	if p.Class[3].OffSince != uint64(start) || p.Class[3].PausedUntil != uint64(start+150*12_800) {
		t.Errorf("refreshed: OFF from %d to %d", p.Class[3].OffSince, p.Class[3].PausedUntil)
	}
	// A shorter pause replaces a longer one: the last frame counts.
	r.pfc(0, 8, [8]uint16{3: 1})
	if p.Class[3].OffSince != uint64(start) || p.Class[3].PausedUntil != uint64(start+51*12_800) {
		t.Errorf("shortened: OFF from %d to %d", p.Class[3].OffSince, p.Class[3].PausedUntil)
	}
	// At the very end of the pause the port is ON, so this is a new OFF period.
	r.after(12_800)
	r.pfc(0, 8, [8]uint16{3: 1})
	if p.Class[3].OffSince != uint64(start+51*12_800) {
		t.Errorf("a new period: OFF from %d", p.Class[3].OffSince)
	}
	if p.PausesReceived != 4 || p.ResumesReceived != 0 {
		t.Errorf("%d pauses and %d resumes received", p.PausesReceived, p.ResumesReceived)
	}
}

func TestResume(t *testing.T) {
	r := newRig(t)
	p := r.port(0)
	// A RESUME where nothing is paused changes nothing.
	if got := r.pfc(0, 8, [8]uint16{}); got.Want != 0 || got.Changed != 0 || p.Class[3].PausedUntil != 0 {
		t.Errorf("want mask %d, changed %d, paused until %d", got.Want, got.Changed, p.Class[3].PausedUntil)
	}
	r.pfc(0, 8, [8]uint16{3: 100})
	since := p.Class[3].OffSince
	r.after(10)
	got := r.pfc(0, 8, [8]uint16{})
	if got.Want != ebpf.StateChanged || got.Changed != 8 || r.State.Paused(0, 3, r.now()) ||
		p.Class[3].PausedUntil != uint64(r.now()) {
		t.Errorf("want mask %d, changed %d, paused until %d at %d", got.Want, got.Changed, p.Class[3].PausedUntil, r.now())
	}
	if p.Class[3].OffSince != since || p.ResumesReceived != 2 || p.PausesReceived != 1 {
		t.Errorf("OFF since %d, %d resumes, %d pauses", p.Class[3].OffSince, p.ResumesReceived, p.PausesReceived)
	}
	// One that comes after the pause ran out does not move the end of the OFF period.
	r.pfc(0, 8, [8]uint16{3: 1})
	end := p.Class[3].PausedUntil
	r.after(1 * vtime.Microsecond)
	if got := r.pfc(0, 8, [8]uint16{}); got.Want != 0 || p.Class[3].PausedUntil != end {
		t.Errorf("late RESUME: want mask %d, paused until %d, was %d", got.Want, p.Class[3].PausedUntil, end)
	}
}

// Any sequence of PFC frames of any classes, against a model of one class at a time.
func TestReceiveAnyPFC(t *testing.T) {
	r := newRig(t)
	rapid.Check(t, func(t *rapid.T) {
		r.reset()
		const in = 4
		type class struct{ since, until vtime.Time }
		var model [8]class
		var pauses, resumes uint64
		for range rapid.IntRange(1, 12).Draw(t, "frames") {
			r.after(vtime.Time(rapid.IntRange(0, 5).Draw(t, "wait")) * 12_800)
			now := r.now()
			enable := rapid.Byte().Draw(t, "enable")
			var times [8]uint16
			var changed uint32
			for i := range times {
				times[i] = uint16(rapid.IntRange(0, 4).Draw(t, "time"))
				if enable>>i&1 == 0 {
					continue
				}
				m := &model[i]
				off := m.until > now
				switch {
				case times[i] != 0:
					pauses++
					if !off {
						m.since = now
					}
					m.until = now + vtime.Time(times[i])*12_800
					changed |= 1 << i
				case off:
					m.until = now
					changed |= 1 << i
					fallthrough
				default:
					resumes++
				}
			}
			frame := make([]byte, wire.PFCLen)
			wire.PutPFC(frame, peerMAC(in), enable, &times)
			// Times of classes that are not enabled mean nothing, and so does the vector's high byte.
			for i, q := range times {
				if enable>>i&1 == 0 {
					frame[18+2*i] = byte(q)
				}
			}
			frame[16] = rapid.Byte().Draw(t, "reserved")
			got := r.enter(in, frame)
			if got.Changed != changed || (got.Want == ebpf.StateChanged) != (changed != 0) || got.Want&^ebpf.StateChanged != 0 {
				t.Fatalf("changed %#b, want %#b; want mask %d", got.Changed, changed, got.Want)
			}
			p := r.port(in)
			for i, m := range model {
				if p.Class[i].OffSince != uint64(m.since) || p.Class[i].PausedUntil != uint64(m.until) {
					t.Fatalf("class %d: OFF from %d to %d, want %d to %d", i, p.Class[i].OffSince, p.Class[i].PausedUntil, m.since,
						m.until)
				}
			}
			if p.PausesReceived != pauses || p.ResumesReceived != resumes {
				t.Fatalf("%d pauses, %d resumes; want %d, %d", p.PausesReceived, p.ResumesReceived, pauses, resumes)
			}
		}
		if p := r.port(in); each(&p.Class, buffered) != [8]uint64{} || r.sw().Used != 0 || p.Dropped != [5]uint64{} {
			t.Fatal("a PFC frame was put on an account or counted as a drop")
		}
	})
}
