package runner

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/vtime"
)

// TestSampledRTT compares the samples with those of a sender that follows the thesis' rule literally: it keeps a flag
// for the pending sample, and checks it at each packet sent.
func TestSampledRTT(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		all := newRTTRecorders(3)
		flow := flowRTT{all: all}

		// Packets leave and are acknowledged in order; times are whole ns, and no two are equal.
		type packet struct{ sent, acked vtime.Time }
		var packets []packet
		var sent, acked vtime.Time
		for range 300 {
			sent += vtime.Time(2*rng.IntN(2000)+2) * vtime.Nanosecond
			acked = max(acked, sent) + vtime.Time(2*rng.IntN(3000)+2)*vtime.Nanosecond
			acked += (1 - acked/vtime.Nanosecond%2) * vtime.Nanosecond // odd
			packets = append(packets, packet{sent, acked})
		}
		var want []vtime.Time
		pending, leaving := -1, 0
		for i, p := range packets {
			for ; leaving < len(packets) && packets[leaving].sent < p.acked; leaving++ {
				if pending < 0 {
					pending = leaving
				}
			}
			due := i == pending
			if due {
				want = append(want, p.acked-p.sent)
				pending = -1
			}
			before := samplesOf(all.sampled)
			flow.Record(i%3, p.acked, p.acked-p.sent)
			if took := samplesOf(all.sampled) > before; took != due {
				t.Fatalf("seed %d: packet %d, sent %v, acknowledged %v: sampled %t", seed, i, p.sent, p.acked, took)
			}
		}
		var sum vtime.Time
		for _, rtt := range want {
			sum += rtt
		}
		every, sampled := all.every.sum(), all.sampled.sum()
		if len(want) < 5 || every.count != 300 || sampled.count != int64(len(want)) || sampled.sum != sum ||
			sampled.max != slices.Max(want) {
			t.Errorf("seed %d: %d samples of %d, want %d", seed, sampled.count, every.count, len(want))
		}
	}
}

// samplesOf returns the number of samples, without the distribution that sum merges.
func samplesOf(l workerRTTs) (n int64) {
	for _, r := range l {
		if r != nil {
			n += r.count
		}
	}
	return n
}

// TestRTTQuantiles checks that no quantile exceeds the largest sample, although the histogram has three digits.
func TestRTTQuantiles(t *testing.T) {
	for _, ns := range []vtime.Time{1, 999, 2049, 21_147, 165_244, 1_044_844, 9_999_999_999} {
		r := newRTTRecorder()
		r.Record(ns * vtime.Nanosecond / 2)
		for range 9 {
			r.Record(ns * vtime.Nanosecond)
		}
		s := r.summary()
		if s.Max != float64(ns) || s.P99 != s.Max || s.P95 != s.Max || s.P50 != s.Max {
			t.Errorf("of %d ns: %+v", ns, s)
		}
	}
}
