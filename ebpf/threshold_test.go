//go:build linux

package ebpf_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/ebpf"
)

// xoffOf is the threshold by exact arithmetic: alpha times the free buffer, rounded down, at most the upper bound.
func xoffOf(sw *ebpf.SwitchState, class uint8) uint64 {
	if sw.AtRate[class].Alpha == 0 {
		return sw.Xoff
	}
	free := new(big.Int)
	if sw.Used < sw.Buffer {
		free.SetUint64(sw.Buffer - sw.Used)
	}
	free.Mul(free, new(big.Int).SetUint64(sw.AtRate[class].Alpha))
	free.Div(free, big.NewInt(1<<16))
	threshold := free.Uint64()
	if sw.Xoff != 0 {
		threshold = min(threshold, sw.Xoff)
	}
	return threshold
}

func xonOf(sw *ebpf.SwitchState, class uint8) uint64 {
	if sw.AtRate[class].Alpha == 0 {
		return sw.Xon
	}
	if x := xoffOf(sw, class); x > sw.XoffToXon {
		return x - sw.XoffToXon
	}
	return 0
}

// anyThresholds draws settings, a port's rate class, and an account close to where something happens. Other classes have
// another alpha.
func anyThresholds(t *rapid.T, sw *ebpf.SwitchState, p *ebpf.Port) (held uint64) {
	class := uint8(rapid.IntRange(0, ebpf.RateClasses-1).Draw(t, "class"))
	p.RateClass = class
	sw.Buffer = rapid.Uint64Range(0, 64_000_000).Draw(t, "buffer")
	sw.Used = rapid.Uint64Range(0, 70_000_000).Draw(t, "used")
	if rapid.Bool().Draw(t, "almost full") {
		sw.Used = sw.Buffer + rapid.Uint64Range(0, 4000).Draw(t, "over") - min(sw.Buffer, 2000)
	}
	sw.Xoff = rapid.SampledFrom([]uint64{0, 1, 320_000, 1 << 40}).Draw(t, "xoff")
	sw.Xon = rapid.Uint64Range(0, 400_000).Draw(t, "xon")
	sw.XoffToXon = rapid.SampledFrom([]uint64{0, 2_000, 100_000, 1 << 40}).Draw(t, "xoff to xon")
	for i := range sw.AtRate {
		sw.AtRate[i].Alpha = 5 << 12
	}
	sw.AtRate[class].Alpha = rapid.SampledFrom([]uint64{0, 1, 1 << 13, 1 << 16, 3 << 16, 64 << 16}).Draw(t, "alpha")
	near := rapid.SampledFrom([]uint64{xoffOf(sw, class), xonOf(sw, class), 0, sw.Used}).Draw(t, "near")
	return near + rapid.Uint64Range(0, 4).Draw(t, "beside") - min(near, 2)
}

// In any state: Go's view of XOFF and XON is the pipelines', and both are the formula.
func TestThresholdsAgree(t *testing.T) {
	r := newRig(t)
	rapid.Check(t, func(t *rapid.T) {
		r.reset()
		sw, p := r.sw(), r.port(1)
		held := anyThresholds(t, sw, p)
		pausing := rapid.Bool().Draw(t, "pausing")
		p.Class[lossless].Held = held
		if pausing {
			p.Class[lossless].Pausing = 1
		}
		xoff, xon := xoffOf(sw, p.RateClass), xonOf(sw, p.RateClass)
		if got := r.State.Threshold(1); got != xoff {
			t.Fatalf("Threshold is %d, want %d", got, xoff)
		}
		due := pausing && held <= xon
		if got := r.State.ResumeDue(1, lossless); got != due {
			t.Fatalf("ResumeDue says %v with %d held and XON %d", got, held, xon)
		}
		// The pipeline builds a RESUME just when Go says that it is due, ...
		if got := r.tick(1, ebpf.TickResume, 0, lossless).Verdict == ebpf.VerdictForward; got != due {
			t.Fatalf("RESUME built: %v, due: %v", got, due)
		}
		// ... and a PAUSE from XOFF on, or to refresh above XON.
		p.Class[lossless].Pausing = 0
		pause := held >= xoff
		if pausing {
			p.Class[lossless].Pausing = 1
			pause = held > xon
		}
		if got := r.tick(1, ebpf.TickPause, 0, lossless).Verdict == ebpf.VerdictForward; got != pause {
			t.Fatalf("PAUSE built: %v with %d held, XOFF %d, XON %d, pausing %v", got, held, xoff, xon, pausing)
		}
	})
}

// A frame asks for PAUSE by the threshold that holds with the frame itself in the buffer, and the tick agrees with it.
func TestDynamicXOFF(t *testing.T) {
	r := newRig(t)
	rapid.Check(t, func(t *rapid.T) {
		r.reset()
		sw, p := r.sw(), r.port(0)
		held := anyThresholds(t, sw, p)
		frame := roce{in: 0, dst: 1, priority: lossless}.frame(r.t)
		n := uint64(len(frame))
		p.Class[lossless].Held = held - min(held, n)
		held = p.Class[lossless].Held + n
		after := *sw
		after.Used += n
		want := uint32(0)
		if held >= xoffOf(&after, p.RateClass) {
			want = ebpf.WantPause
		}
		if got := r.enter(0, frame); got.Want != want {
			t.Fatalf("asks for %d, want %d: %d held, XOFF %d", got.Want, want, held, xoffOf(&after, p.RateClass))
		}
		if built := r.tick(0, ebpf.TickPause, 0, lossless).Verdict == ebpf.VerdictForward; built != (want != 0) {
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
		r.sw().Buffer, r.sw().Used, r.sw().Xoff, r.sw().AtRate[0].Alpha = 12_000_000, c.used, c.bound, c.alpha
		if got := r.State.Threshold(0); got != c.want {
			t.Errorf("%+v: threshold %d", c, got)
		}
	}
}
