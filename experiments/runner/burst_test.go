package runner

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
)

// The burst of dcon-burst: it starts at 20 ms, and 14*35*64 KB with headers take 6.7 ms of R1's 40 Gb/s; f1 has a
// share.
const (
	burstStart = int64(20e6) // ns
	burstEnd   = int64(27e6)
	burstXOFF  = 320_000
)

// TestBurst runs the built-in dcon-burst under both controllers, and checks the files against figures 2 and 6 of the
// paper. The run ends early, once both flows have their rates back.
func TestBurst(t *testing.T) {
	testenv.WholeScenario(t)
	s := mustLoad(t, "dcon-burst", "duration=32ms", "cc.dcqcn.clamp_target=true") // equation 1 of DCQCN's paper
	for _, c := range []struct {
		controller string
		check      func(t *testing.T, b *burst)
	}{
		{"dcqcn", func(t *testing.T, b *burst) {
			for _, link := range []string{"L2 to S1", "S1 to L0", "S1 to L1"} {
				if b.pauses[link] == 0 {
					t.Errorf("no PAUSE from %s", link)
				}
			}
			if b.switchPauses != b.pauses["L2 to S1"]+b.pauses["S1 to L0"]+b.pauses["S1 to L1"] {
				t.Errorf("PAUSEs between switches are not on the long flows' way alone: %v", b.pauses)
			}
			if b.first["L2 to S1"] < burstStart || b.first["L2 to S1"] > b.first["S1 to L0"] ||
				b.first["L2 to S1"] > b.first["S1 to L1"] {
				t.Errorf("PAUSE does not spread from L2: %v", b.first)
			}
			if b.peak < burstXOFF {
				t.Errorf("P1 peaked at %d B", b.peak)
			}
			// PAUSE lets f0 through in spurts: mostly it stands still, half a ms and more at a time, and no ms is
			// without a loss of 80 % and more.
			if most := slices.Max(b.perMS("f0")[1:6]); most > 4 {
				t.Errorf("f0 had %.2f Gbps in some ms of the burst: %.2f", most, b.perMS("f0"))
			}
			still, longest, run := 0, 0, 0
			for _, gigabits := range b.fine["f0"] {
				if run++; gigabits > 0 {
					run = 0
				} else {
					still++
				}
				longest = max(longest, run)
			}
			if parts := len(b.fine["f0"]); still < parts/2 || longest < 25 {
				t.Errorf("f0 stood still in %d of %d parts of 20 us, for %d on end at most", still, parts, longest)
			}
		}},
		{"dcon", func(t *testing.T, b *burst) {
			if b.switchPauses != 0 {
				t.Errorf("PAUSEs between switches: %v", b.pauses)
			}
			if b.peak >= burstXOFF || b.peak == 0 {
				t.Errorf("P1 peaked at %d B, XOFF %d", b.peak, burstXOFF)
			}
			if least := slices.Min(b.perMS("f0")); least < 15 {
				t.Errorf("f0 fell to %.2f Gbps: %.1f", least, b.perMS("f0"))
			}
			if least := slices.Min(b.perMS("f1")); least >= 2 {
				t.Errorf("f1 did not give way: %.1f", b.perMS("f1"))
			}
			if b.Summary.CNMs == 0 {
				t.Error("no CNM was sent")
			}
		}},
	} {
		t.Run(c.controller, func(t *testing.T) {
			t.Parallel()
			b := readBurst(run(t, s, c.controller, Options{}))
			if b.Summary.Verdict.Status != measure.Pass || b.Summary.Drops.Frames != 0 {
				t.Errorf("verdict %+v, drops %+v", b.Summary.Verdict, b.Summary.Drops)
			}
			if done := b.Summary.ByTag["burst"]; done.Count != 14*35 || done.Completed != done.Count {
				t.Errorf("burst: %d of %d flows ended", done.Completed, done.Count)
			}
			for _, f := range []string{"f0", "f1"} {
				if r := b.before[f]; r < 15 || r > 21.5 { // 20 Gb/s of line rate, and what they have gained since
					t.Errorf("%s had %.2f Gbps before the burst", f, r)
				}
			}
			c.check(t, b)
			other := run(t, s, c.controller, Options{Plane: wasmplane.Open})
			if other.Summary.Fingerprint != b.Summary.Fingerprint {
				t.Errorf("fingerprint %s on the kernel plane, %s on the wasm plane", b.Summary.Fingerprint,
					other.Summary.Fingerprint)
			}
		})
	}
}

// burst holds a run's data about dcon-burst.
type burst struct {
	*outcome
	pauses       map[string]int64 // PAUSEs by link, such as "L2 to S1"
	first        map[string]int64 // the first of them, ns
	switchPauses int64
	peak         int64                // most bytes that L2 buffered from S1, P1
	fine         map[string][]float64 // Gb/s in each 20 us of the burst, by flow
	before       map[string]float64   // Gb/s from 10 ms to the burst
}

// perMS returns a flow's Gb/s in each ms of the burst.
func (b *burst) perMS(flow string) []float64 {
	ms := make([]float64, len(b.fine[flow])/50)
	for i := range ms {
		for _, gigabits := range b.fine[flow][i*50 : (i+1)*50] {
			ms[i] += gigabits / 50
		}
	}
	return ms
}

func readBurst(o *outcome) *burst {
	b := &burst{
		outcome: o, pauses: map[string]int64{}, first: map[string]int64{}, fine: map[string][]float64{},
		before: map[string]float64{},
	}
	for _, row := range o.table("pfc.csv").Rows {
		if row["event"] != "pause" {
			continue
		}
		link := fmt.Sprintf("%s to %s", row["node"], row["peer"])
		if b.pauses[link]++; b.pauses[link] == 1 {
			b.first[link] = testenv.Number(o, row, "time_ns")
		}
		if row["peer"][0] == 'L' || row["peer"][0] == 'S' {
			b.switchPauses++
		}
	}
	for _, row := range o.table("ports.csv").Rows {
		if row["node"] == "L2" && row["peer"] == "S1" {
			b.peak = max(b.peak, testenv.Number(o, row, "ingress_bytes"))
		}
	}
	for _, row := range o.table("rates.csv").Rows {
		f := "f" + row["flow"]
		ns, gigabits := testenv.Number(o, row, "time_ns"), float64(testenv.Number(o, row, "goodput_bps"))/1e9
		switch {
		case ns > burstStart && ns <= burstEnd:
			b.fine[f] = append(b.fine[f], gigabits)
		case ns > burstStart/2 && ns <= burstStart:
			b.before[f] += gigabits / 500
		}
	}
	return b
}
