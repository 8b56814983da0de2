package runner

import (
	"context"
	"testing"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/vtime"
)

const incastWatched = `
topology: {star: {hosts: 4}, rate: 100Gbps, delay: 1us, framing: ns3}
switch: {pfc: {xoff: 100KB}}
flows: [{from: [h0, h1, h2], to: h3, size: 300KB}]
duration: 10us
drain: true
`

// TestWatch compares a watched run with an unwatched one.
func TestWatch(t *testing.T) {
	s := parse(t, incastWatched)
	var samples []int64
	perFlow := map[int]vtime.Time{}
	sum, err := Watch(context.Background(), s, Options{Controller: "timely", Seed: s.Seed, Processors: 1}, Watching{
		Sample: func(flow int, now, rtt vtime.Time) {
			if now-rtt < perFlow[flow] {
				t.Errorf("flow %d: a packet sent at %v is timed, before the ACK at %v", flow, now-rtt, perFlow[flow])
			}
			perFlow[flow] = now
			samples = append(samples, rtt.RoundNanoseconds())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	plain := run(t, s, "timely", Options{Plane: wasmplane.Open})
	if sum.Fingerprint != plain.Summary.Fingerprint || sum.Verdict.Status != plain.Summary.Verdict.Status ||
		sum.PFC.Pauses == 0 {
		t.Errorf("watched %s %v, run %s %v", sum.Fingerprint, sum.Verdict, plain.Summary.Fingerprint, plain.Summary.Verdict)
	}
	most, total := int64(0), int64(0)
	for _, v := range samples {
		most, total = max(most, v), total+v
	}
	r := plain.Summary.RTTSampled
	if r != sum.RTTSampled || r.Samples != int64(len(samples)) || int64(r.Max) != most || r.Samples < 10 ||
		r.Samples > plain.Summary.RTT.Samples/4 {
		t.Errorf("%d samples of up to %d; summary %+v of %+v", len(samples), most, r, plain.Summary.RTT)
	}
	if mean := float64(total) / float64(len(samples)); mean < r.Mean-1 || mean > r.Mean+1 {
		t.Errorf("mean %g, in the summary %g", mean, r.Mean)
	}
}

// TestWatchController replaces the controllers by constant rates.
func TestWatchController(t *testing.T) {
	s := parse(t, incastWatched)
	built := map[int]bool{}
	sum, err := Watch(context.Background(), s, Options{Controller: "timely", Seed: s.Seed, Processors: 1}, Watching{
		Controller: func(flow int, env cc.Env, set cc.Settings) (cc.Controller, error) {
			built[flow] = true
			if set.Controller() != "timely" {
				t.Errorf("settings of %s", set.Controller())
			}
			return cc.Constant(float64(env.LineRate) / 4), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	// Three flows at a quarter of the line meet no queue beyond each other's packets.
	if len(built) != 3 || sum.RTT.Max > 4600 || sum.Flows.Completed != 3 {
		t.Errorf("%v built; RTT %+v, %d flows", built, sum.RTT, sum.Flows.Completed)
	}
}

func TestWatchRefuses(t *testing.T) {
	if _, err := Watch(context.Background(), parse(t, incastWatched), Options{Controller: "nonsense"},
		Watching{}); err == nil {
		t.Error("an unknown congestion control was taken")
	}
}

// TestRoundTrips follows figure 6 of the LSTM-PID thesis: D1 is timed; D2 to D4, sent before its ACK arrived, are not;
// D5 is.
func TestRoundTrips(t *testing.T) {
	var timed []vtime.Time
	all := newRTTRecorders(1)
	trips := &flowRTT{all: all, tell: func(_, rtt vtime.Time) { timed = append(timed, rtt) }}
	for _, p := range []struct{ sent, acknowledged vtime.Time }{
		{0, 4200}, {1000, 9000}, {2000, 9500}, {4199, 9600}, {4201, 9700},
	} {
		trips.Record(0, p.acknowledged*vtime.Nanosecond, (p.acknowledged-p.sent)*vtime.Nanosecond)
	}
	if len(timed) != 2 || timed[0] != 4200*vtime.Nanosecond || timed[1] != 5499*vtime.Nanosecond {
		t.Errorf("timed: %v", timed)
	}
	if a, s := all.every.sum().summary(), all.sampled.sum().summary(); a.Samples != 5 || s.Samples != 2 ||
		s.Mean != (4200+5499)/2. || s.Max != 5499 || a.Max != 8000 {
		t.Errorf("all %+v, timed %+v", a, s)
	}
}
