package report

import (
	"math"
	"math/rand/v2"
	"slices"
)

// synthetic returns a report like the DCON paper's figures 2 and 6: f0 and f1 at 20 Gb/s each, a burst from 20 to 27 ms
// at the receiver of f1. Under dcqcn the pause spreads and f0 starves; under dcon it does not. Further controllers lie
// between these two.
func synthetic(controllers ...string) *Report {
	if len(controllers) == 0 {
		controllers = []string{"dcqcn", "dcon"}
	}
	r := &Report{
		Scenario: "dcon-basic",
		Description: "Two long flows, f0 and f1, share a spine and have converged to 20 Gbps each. At 20 ms fourteen hosts " +
			"beside f1's receiver send it 35 flows of 64 KB each. f0 goes elsewhere: whatever it loses, " +
			"it loses to pause spreading.",
		Topology: "3 leaves, 2 spines, 18 hosts; 40 Gbps links of 5 us; 22 MB shared buffer a switch",
		Version:  "0.1.0", Seed: 1, Plane: "kernel",
		Command: "pausenet run dcon-basic --cc dcqcn,dcon --plane kernel --seed 1",
		LookAt: []string{
			"In the burst, does the ingress queue of L2 from S1 cross X_off? If it does, L2 pauses S1, the queue of S1 grows, " +
				"and S1 pauses L0 and L1.",
			"f0 shares no congested port with the burst. Its goodput should not change.",
		},
		Spans: []Span{{20e6, 27e6, "burst"}},
	}
	for _, label := range []string{"flows completed", "FCT mean"} {
		r.Headline = append(r.Headline, HeadlineRow{label, slices.Repeat([]string{"17.3 us"}, len(controllers))})
	}
	panels := []Panel{
		{Title: "Congested port: egress queue of L2 to R1", Unit: Bytes, Series: map[string][]Series{}},
		{
			Title: "Bytes buffered at L2 from S1", Unit: Bytes, Series: map[string][]Series{},
			Note: "Above X_off, L2 pauses the spine.",
		},
		{Title: "Egress queue of S1 to L2", Unit: Bytes, Series: map[string][]Series{}},
		{Title: "PAUSE frames", Unit: "frames/s", Series: map[string][]Series{}},
		{Title: "Goodput of the long flows", Unit: BitsPerSecond, Series: map[string][]Series{}},
	}
	for i, name := range controllers {
		bad := 1.0 // how far pauses spread
		if len(controllers) > 1 {
			bad = 1 - float64(i)/float64(len(controllers)-1)
		}
		rng := rand.New(rand.NewPCG(uint64(i), 7))
		panels[0].Series[name] = []Series{trace("L2 → R1", rng, 5e3, 40e6, func(t float64) float64 {
			return noisy(rng, 25e3, 0.5) + (3.2e6+2.7e6*bad)*burst(t, 0.1, 0.35+0.3*bad)*(1+0.04*rng.NormFloat64())
		})}
		in := trace("L2 from S1", rng, 5e3, 40e6, func(t float64) float64 {
			b := burst(t, 0.05, 0.1)
			return noisy(rng, 12e3, 0.6) + bad*b*(325e3+40e3*math.Abs(math.Sin(t*40))) + (1-bad)*b*90e3*(1+0.3*rng.NormFloat64())
		})
		in.Reference = &Level{320e3, "X_off 320 KB"}
		panels[1].Series[name] = []Series{in}
		panels[2].Series[name] = []Series{trace("S1 → L2", rng, 5e3, 40e6, func(t float64) float64 {
			return noisy(rng, 45e3, 0.5) + bad*burst(t, 0.3, 0.5)*(690e3+25e3*rng.NormFloat64())
		})}
		pause := func(label string, lag, peak float64) Series {
			return trace(label, rng, 100e3, 40e6, func(t float64) float64 {
				return math.Max(0, math.Round(bad*peak*burst(t-lag, 0.02, 0.02)*(1+0.25*rng.NormFloat64())/1e4)*1e4)
			})
		}
		panels[3].Series[name] = []Series{pause("L2 → S1", 0, 9e4), pause("S1 → L0", 0.3, 5e4), pause("S1 → L1", 0.4, 4e4)}
		flow := func(label string, low float64) Series {
			s := trace(label, rng, 100e3, 40e6, func(t float64) float64 {
				if t < 0.1 {
					return 0
				}
				return 20e9 - (20e9-low)*math.Min(1, burst(t, 0.15, 1.2)) + 0.15e9*rng.NormFloat64()*(1-0.9*burst(t, 0.1, 1))
			})
			s.Step = false
			return s
		}
		panels[4].Series[name] = []Series{flow("f0", 20e9-19.7e9*bad), flow("f1", 1.2e9+1.1e9*(1-bad))}
		r.Runs = append(r.Runs, syntheticRun(name, bad, rng))
	}
	r.Panels = panels
	return r
}

// burst rises at 20 ms and falls at 27 ms, t in ms.
func burst(t, rise, fall float64) float64 {
	if t < 20 {
		return 0
	}
	return (1 - math.Exp(-(t-20)/rise)) / (1 + math.Exp((t-27)/(fall/3)))
}

func noisy(rng *rand.Rand, level, share float64) float64 {
	return math.Max(0, level*(1+share*rng.NormFloat64()))
}

func trace(label string, _ *rand.Rand, every, until int64, y func(ms float64) float64) Series {
	s := Series{Label: label, Step: true}
	for t := int64(0); t <= until; t += every {
		s.Append(t, math.Max(0, math.Round(y(float64(t)/1e6))))
	}
	return s
}

func syntheticRun(name string, bad float64, rng *rand.Rand) Run {
	var slowdowns []float64
	for range 490 {
		slowdowns = append(slowdowns, 1+math.Exp(2.2+0.6*bad+1.3*rng.NormFloat64()))
	}
	f := func(scale float64) Flows {
		return Flows{
			Count: 490, FCT: Quantiles{3.1e6 * scale, 3.3e6 * scale, 6.4e6 * scale, 6.9e6 * scale},
			Slowdown: Quantiles{91.2 * scale, 88 * scale, 201 * scale, 233.4 * scale},
		}
	}
	run := Run{
		Controller: name, Fingerprint: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		Slowdowns: []Distribution{{Tag: "burst", Slowdowns: NewSample(slowdowns)}},
		Verdict: Verdict{Status: Pass, Word: "ok", Messages: []string{"All invariants hold: nothing lost, nothing out of " +
			"order, every account back at zero."}},
		Summary: Summary{
			All:   f(0.8 + 0.3*bad),
			ByTag: []Group{{"burst", f(0.8 + 0.3*bad)}},
			BySize: []Group{
				{"≤ 1 KB", Flows{}},
				{"10 KB", f(0.1 + 0.9*bad)},
				{"100 KB", f(0.3 + 0.4*bad)},
				{"1 MB", f(0.7 + 0.3*bad)},
				{"> 1 MB", f(1.2 - 0.3*bad)},
			},
			PFCFrames: int64(1312 * bad), PFCRate: 32800 * bad, Paused: int64(5.912e6 * bad), ECNMarks: 18213,
			CNPs: int64(4112 * bad), CNMs: int64(1290 * (1 - bad)),
			RTT:   RTT{88123, 181e3 * (0.5 + bad), 900e3 * (0.4 + bad), 1.63e6 * (0.4 + bad)},
			Speed: Speed{Frames: 1_048_223, VirtualSeconds: 0.04, WallSeconds: 5.1 + bad, HopsPerSecond: 391_000 + 9000*bad},
		},
	}
	if bad == 0 {
		run.Verdict = Verdict{
			Status: Warn, Word: "incomplete", Messages: []string{"the congestion control never reacted"},
			Notes: []string{"PFC was not needed"},
		}
	}
	return run
}
