//go:build linux

package ebpf_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/ebpf"
)

// xoffOf returns the threshold by exact arithmetic: alpha times the free part of the shared buffer, which excludes
// headroom, rounded down, at most the upper bound.
func xoffOf(sw *ebpf.SwitchState, profile uint8) uint64 {
	if sw.Profiles[profile].Alpha == 0 {
		return sw.Profiles[profile].Xoff
	}
	free := new(big.Int)
	if shared := sw.Used - sw.HeadroomUsed; shared < sw.Buffer {
		free.SetUint64(sw.Buffer - shared)
	}
	free.Mul(free, new(big.Int).SetUint64(sw.Profiles[profile].Alpha))
	free.Div(free, big.NewInt(1<<16))
	threshold := free.Uint64()
	if bound := sw.Profiles[profile].Xoff; bound != 0 {
		threshold = min(threshold, bound)
	}
	return threshold
}

func xonOf(sw *ebpf.SwitchState, profile uint8) uint64 {
	if sw.Profiles[profile].Alpha == 0 {
		return sw.Profiles[profile].Xon
	}
	if x := xoffOf(sw, profile); x > sw.XoffToXon {
		return x - sw.XoffToXon
	}
	return 0
}

// anyThresholds draws settings, a port's profile, and an account close to where something happens. Other profiles have
// other thresholds. With a dynamic threshold some of the account, and of others', may be in the headroom.
func anyThresholds(t *rapid.T, sw *ebpf.SwitchState, p registers) (buffered uint64) {
	profile := uint8(rapid.IntRange(0, ebpf.Profiles-1).Draw(t, "profile"))
	p.Profile = profile
	sw.Buffer = rapid.Uint64Range(0, 64_000_000).Draw(t, "buffer")
	sw.Used = rapid.Uint64Range(0, 70_000_000).Draw(t, "used")
	if rapid.Bool().Draw(t, "almost full") {
		sw.Used = sw.Buffer + rapid.Uint64Range(0, 4000).Draw(t, "over") - min(sw.Buffer, 2000)
	}
	k := &sw.Profiles[profile]
	xoff := rapid.SampledFrom([]uint64{0, 1, 320_000, 1 << 40}).Draw(t, "xoff")
	xon := rapid.Uint64Range(0, 400_000).Draw(t, "xon")
	sw.XoffToXon = rapid.SampledFrom([]uint64{0, 2_000, 100_000, 1 << 40}).Draw(t, "xoff to xon")
	for i := range sw.Profiles {
		sw.Profiles[i] = ebpf.Profile{Alpha: 5 << 12, Xoff: 77_000, Xon: 33_000}
	}
	k.Xoff, k.Xon = xoff, xon
	k.Alpha = rapid.SampledFrom([]uint64{0, 1, 1 << 13, 1 << 16, 3 << 16, 64 << 16}).Draw(t, "alpha")
	if k.Alpha != 0 {
		p.HeadroomBuffered[lossless] = rapid.SampledFrom([]uint32{0, 0, 1, 1500, 75_000}).Draw(t, "headroom")
		sw.Used += uint64(p.HeadroomBuffered[lossless])
		sw.HeadroomUsed = uint64(p.HeadroomBuffered[lossless]) + rapid.Uint64Range(0,
			sw.Used-uint64(p.HeadroomBuffered[lossless])).Draw(t, "others' headroom")
	}
	near := rapid.SampledFrom([]uint64{xoffOf(sw, profile), xonOf(sw, profile), 0, sw.Used}).Draw(t, "near")
	near = min(near, 1<<31) // a port's account has 32 bits
	return near + rapid.Uint64Range(0, 4).Draw(t, "beside") - min(near, 2) + uint64(p.HeadroomBuffered[lossless])
}

// In any state: Go's view of XOFF and XON is the pipelines', and both are the formula.
func TestThresholdsAgree(t *testing.T) {
	r := newRig(t)
	rapid.Check(t, func(t *rapid.T) {
		r.reset()
		sw, p := r.sw(), r.port(1)
		buffered := anyThresholds(t, sw, p)
		pausing := rapid.Bool().Draw(t, "pausing")
		p.Class[lossless].Buffered = uint32(buffered)
		if pausing {
			p.Class[lossless].Pausing = 1
		}
		xoff, xon := xoffOf(sw, p.Profile), xonOf(sw, p.Profile)
		if got := r.State.Threshold(1); got != xoff {
			t.Fatalf("Threshold is %d, want %d", got, xoff)
		}
		spilled := p.HeadroomBuffered[lossless] != 0
		due := pausing && buffered <= xon && !spilled
		if got := r.State.ResumeDue(1, lossless); got != due {
			t.Fatalf("ResumeDue says %v with %d buffered and XON %d", got, buffered, xon)
		}
		// The pipeline builds a RESUME just when Go says that it is due, ...
		if got := r.generate(1, ebpf.TriggerResume, 0, lossless).Verdict == ebpf.VerdictForward; got != due {
			t.Fatalf("RESUME built: %v, due: %v", got, due)
		}
		// ... and a PAUSE from XOFF on, or to refresh above XON.
		p.Class[lossless].Pausing = 0
		pause := buffered >= xoff || spilled
		if pausing {
			p.Class[lossless].Pausing = 1
			pause = buffered > xon || spilled
		}
		if got := r.generate(1, ebpf.TriggerPause, 0, lossless).Verdict == ebpf.VerdictForward; got != pause {
			t.Fatalf("PAUSE built: %v with %d buffered, XOFF %d, XON %d, pausing %v", got, buffered, xoff, xon, pausing)
		}
	})
}

// A frame asks for PAUSE by the threshold that holds with the frame itself in the buffer, and the trigger agrees with
// it.
func TestDynamicXOFF(t *testing.T) {
	r := newRig(t)
	rapid.Check(t, func(t *rapid.T) {
		r.reset()
		sw, p := r.sw(), r.port(0)
		buffered := anyThresholds(t, sw, p)
		sw.Uncounted = rapid.SampledFrom([]uint32{0, 10}).Draw(t, "uncounted")
		frame := roce{in: 0, dst: 1, priority: lossless}.frame(r.t)
		n := uint64(len(frame)) - uint64(sw.Uncounted)
		headroom := p.HeadroomBuffered[lossless]
		p.Class[lossless].Buffered = uint32(max(buffered-min(buffered, n), uint64(headroom)))
		shared := uint64(p.Class[lossless].Buffered - headroom)
		after := *sw
		after.Used += n
		if sw.Profiles[p.Profile].Alpha != 0 && shared+n > xoffOf(sw, p.Profile) {
			headroom += uint32(n)
			after.HeadroomUsed += n
		}
		buffered = uint64(p.Class[lossless].Buffered) + n
		want := uint32(0)
		if headroom != 0 || buffered >= xoffOf(&after, p.Profile) {
			want = ebpf.WantPause
		}
		if got := r.enter(0, frame); got.Want != want {
			t.Fatalf("asks for %d, want %d: %d buffered, XOFF %d", got.Want, want, buffered, xoffOf(&after, p.Profile))
		}
		if uint64(p.Class[lossless].Buffered) != buffered || p.HeadroomBuffered[lossless] != headroom || sw.Used != after.Used ||
			sw.HeadroomUsed != after.HeadroomUsed {
			t.Fatalf("%d buffered, %d in headroom; %d used, %d in headroom; want %d, %d, %d, %d", p.Class[lossless].Buffered,
				p.HeadroomBuffered[lossless], sw.Used, sw.HeadroomUsed, buffered, headroom, after.Used, after.HeadroomUsed)
		}
		if built := r.generate(0, ebpf.TriggerPause, 0, lossless).Verdict == ebpf.VerdictForward; built != (want != 0) {
			t.Fatalf("PAUSE built: %v, asked for: %v", built, want != 0)
		}
	})
}

// Numbers of the formula: alpha of an empty, a half full and an overfull buffer.
func TestThresholdNumbers(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ alpha, used, bound, want uint64 }{
		{1 << 16, 0, 0, 12_000_000},
		{1 << 13, 0, 0, 1_500_000}, // 1/8: the HPCC simulator's shift by 3
		{1 << 13, 6_000_000, 0, 750_000},
		{1 << 13, 6_000_000, 320_000, 320_000},
		{1 << 13, 11_999_993, 0, 0},
		{1 << 13, 11_999_992, 0, 1},
		{1 << 17, 12_000_001, 0, 0},
		{0, 6_000_000, 320_000, 320_000},
	} {
		r.sw().Buffer, r.sw().Used, r.sw().Profiles[0].Xoff, r.sw().Profiles[0].Alpha = 12_000_000, c.used, c.bound, c.alpha
		if got := r.State.Threshold(0); got != c.want {
			t.Errorf("%+v: threshold %d", c, got)
		}
	}
}

// TestHeadroomIsNotShared: the headroom is not part of the shared buffer, and is freed first (HPCC's simulator,
// switch-mmu.cc). 12 MB at alpha 1/8: alone, a port may have 12/9 MB.
func TestHeadroomIsNotShared(t *testing.T) {
	r := newRig(t)
	sw, p, other := r.sw(), r.port(0), r.port(1)
	sw.Buffer, sw.Profiles[0].Xoff, sw.XoffToXon, sw.Profiles[0].Alpha = 12_000_000, 0, 3_000, 1<<13
	size := int(dataLen)
	for p.HeadroomBuffered[lossless] == 0 {
		if _, got := r.data(0, 1, 0); got.Want != 0 && p.Class[lossless].Pausing == 0 {
			r.generate(0, ebpf.TriggerPause, 0, lossless)
		}
	}
	shared := uint64(p.Class[lossless].Buffered) - uint64(size)
	if shared < 12_000_000/9-uint64(size) || shared > 12_000_000/9+1 || p.Class[lossless].Pausing == 0 {
		t.Fatalf("the first frame went into the headroom with %d B buffered", shared)
	}
	before := r.State.Threshold(1)
	for range 20 {
		r.data(0, 1, 0)
	}
	if got := r.State.Threshold(1); got != before || p.HeadroomBuffered[lossless] != uint32(21*size) ||
		sw.HeadroomUsed != uint64(21*size) {
		t.Errorf("XOFF of the other port was %d and is %d; %d B in the headroom, %d in all", before, got,
			p.HeadroomBuffered[lossless], sw.HeadroomUsed)
	}
	if other.HeadroomBuffered != ([8]uint32{}) {
		t.Errorf("the other port has %v in its headroom", other.HeadroomBuffered)
	}
	for i := range 21 {
		if r.State.ResumeDue(0, lossless) {
			t.Fatalf("RESUME is due with %d frames in the headroom", 21-i)
		}
		r.release(0, 1, lossless, size, 0)
	}
	if sw.HeadroomUsed != 0 || p.HeadroomBuffered[lossless] != 0 || uint64(p.Class[lossless].Buffered) != shared ||
		sw.Used != shared {
		t.Errorf("%d B in the headroom, %d buffered, %d used; want 0 and %d", sw.HeadroomUsed, p.Class[lossless].Buffered,
			sw.Used, shared)
	}
	if r.State.ResumeDue(0, lossless) {
		t.Error("RESUME is due at XOFF")
	}
	for !r.State.ResumeDue(0, lossless) {
		r.release(0, 1, lossless, size, 0)
	}
	if buffered := uint64(p.Class[lossless].Buffered); buffered+3_000 > r.State.Threshold(0) ||
		buffered+3_000+uint64(size)*9/8+2 < r.State.Threshold(0) {
		t.Errorf("RESUME is due at %d B, XOFF is %d", buffered, r.State.Threshold(0))
	}
}
