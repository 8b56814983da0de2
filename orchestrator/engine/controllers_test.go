package engine

import (
	"math"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/vtime"
)

// lapse represents a controller whose rate is no number for a while, or for good.
type lapse struct {
	cc.Controller
	from, back, now vtime.Time
}

func (l *lapse) Rate() float64 {
	if l.now >= l.from && l.now < l.back {
		return math.NaN()
	}
	return l.Controller.Rate()
}

func (l *lapse) OnSent(now vtime.Time, _ int) { l.now = now }

func (l *lapse) Deadline() vtime.Time {
	if l.now < l.back {
		return l.back
	}
	return vtime.Never
}

func (l *lapse) OnTimer(now vtime.Time) { l.now = now }

// TestImpossibleRates: a violation names the first flows whose controllers returned impossible values, by time, and the
// number of the others; in a live fabric also flows that have ended since.
func TestImpossibleRates(t *testing.T) {
	const us = vtime.Microsecond
	for _, live := range []bool{false, true} {
		plan, err := spec.Parse("star.yaml", []byte("rate: 40Gbps\ndelay: 1us\nstar: {hosts: 7}"))
		if err != nil {
			t.Fatal(err)
		}
		opened, err := wasmplane.Open(plan, plane.Features{Live: live})
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		sw, hosts := switchagent.Default(), hostagent.Default()
		e := newEngine(t, Config{
			Plan: plan, Plane: opened, Switches: []*switchagent.Settings{&sw}, Hosts: &hosts,
			Features: plane.Features{Live: live}, Seed: 1,
		})
		for i, l := range []lapse{
			{from: 30 * us, back: 40 * us},
			{from: vtime.Never, back: vtime.Never},
			{from: 10 * us, back: 20 * us},
			{from: 20 * us, back: vtime.Never},
			{from: 50 * us, back: 60 * us},
			{from: 60 * us, back: 70 * us},
		} {
			e.AddFlow(FlowConfig{
				Source: plan.Hosts[i], Destination: plan.Hosts[6], Size: 200_000, Ports: paths.Ports{Source: 0xc000},
				Controller:    "mine",
				NewController: func(int) (cc.Controller, error) { l.Controller = cc.Constant(5e9); return &l, nil },
			})
		}
		if err := e.Run(vtime.Millisecond, 0, nil); err != nil {
			t.Fatal(err)
		}
		if e.OpenFlows() != 1 || e.ControlErrors() != 1 {
			t.Errorf("%d flows have not ended, %d for their controllers", e.OpenFlows(), e.ControlErrors())
		}
		var texts []string
		for _, v := range e.Check() {
			texts = append(texts, v.String())
		}
		want := []string{
			"controllers say what can be sent: mine, flow 2 (h2 to h6) at 10.",
			"controllers say what can be sent: mine, flow 3 (h3 to h6) at 20.",
			"controllers say what can be sent: mine, flow 0 (h0 to h6) at 31.",
		}
		if len(texts) != len(want) {
			t.Fatalf("live: %t: %q", live, texts)
		}
		for i := range want {
			if !strings.HasPrefix(texts[i], want[i]) || !strings.Contains(texts[i], "us: a rate of NaN bps") {
				t.Errorf("live: %t: %q, want %q", live, texts[i], want[i])
			}
		}
		if !strings.HasSuffix(texts[2], "; and of 2 more") {
			t.Errorf("live: %t: %q", live, texts[2])
		}
	}
}
