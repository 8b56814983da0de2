package env

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	_ "github.com/pausenet/pausenet/controllerfile/star"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/vtime"
)

const interval = 10 * vtime.Microsecond

func incast(t testing.TB) *Environment {
	t.Helper()
	e, err := Read("incast", Options{Interval: interval}, scenario.Reading{Sets: []string{"flows.0.size=100KB"}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// constant is a controller file that has the rates of TestEpisode.
const constant = `
interval = 10 * us

def init(flow):
    flow.rate = path.line_rate
    flow.started = False

def on_sent(flow, now, payload):
    if not flow.started:
        flow.started = True
        flow.timer = (now // interval + 1) * interval

def on_ack(flow, ack):
    flow.marked = ack.ce

def on_timer(flow, now):
    flow.rate = path.line_rate / 8
    flow.timer = (now // interval + 1) * interval
`

// TestEpisode compares an episode with a run under a controller file that sets the same rates at the same times, and
// its observations with the flows' sizes and the path.
func TestEpisode(t *testing.T) {
	e := incast(t)
	p, err := e.Start(1)
	if err != nil {
		t.Fatal(err)
	}
	rates := slices.Repeat([]float32{1.0 / 8}, e.Agents)
	delivered := make([]float64, e.Agents) // in intervals of the line
	for steps := 1; ; steps++ {
		for i := range delivered {
			o := p.Observations[i*e.count():]
			delivered[i] += float64(o[1])
			if o[2] != 0 && (o[3] < 1 || o[2] < o[3]) {
				t.Errorf("%v: mean RTT %v, least %v, by the base RTT", p.Now, o[2], o[3])
			}
			if want := float32(1.0 / 8); steps > 1 && o[0] != want || steps == 1 && o[0] != 1 {
				t.Errorf("%v: rate %v", p.Now, o[0])
			}
		}
		if p.Now != vtime.Time(steps)*interval {
			t.Fatalf("step %d at %v", steps, p.Now)
		}
		if p.Over {
			break
		}
		p.Begin(rates)
		if err := p.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	p.End()
	for i, sum := range delivered {
		// 40 Gbps carry 50 KB in 10 us.
		if math.Abs(sum-2) > 1e-5 || p.States[i] != Ended {
			t.Errorf("agent %d: %v intervals of the line, want 2 for 100 KB; state %v", i, sum, p.States[i])
		}
	}
	file := filepath.Join(t.TempDir(), "constant.star")
	if err := os.WriteFile(file, []byte(e.Declarations()+constant), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Reading{Sets: []string{"flows.0.size=100KB"}, Controllers: []string{file}}.Load("incast")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := runner.Watch(context.Background(), s, runner.Options{Controller: file, Seed: 1, Processors: 1},
		runner.Watching{})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Fingerprint != p.Fingerprint || p.Fingerprint == "" {
		t.Errorf("the episode has the fingerprint %q, the run %q", p.Fingerprint, sum.Fingerprint)
	}
}

// TestEvents compares an episode whose steps end at events with a run under a controller file that sets the same rates
// at the same events, in a fabric of several switches: its steps are in order of time, and one flow has each event.
func TestEvents(t *testing.T) {
	sets := []string{
		"flows.0.size=20KB", "report=[]",
		"topology={rate: 40Gbps, delay: 1us, leafspine: {leaves: 3, spines: 1, hosts_per_leaf: 2}}",
	}
	e, err := Read("incast", Options{Hops: 3}, scenario.Reading{Sets: sets})
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Start(1)
	if err != nil {
		t.Fatal(err)
	}
	acks, last, telemetry := 0, vtime.Time(0), false
	for rates := slices.Repeat([]float32{1.0 / 2}, e.Agents); !p.Over; {
		if p.Now < last {
			t.Fatalf("a step at %v after one at %v", p.Now, last)
		}
		last = p.Now
		for i, events := range p.Events {
			o := p.Observations[i*e.count():]
			if events&Acked != 0 {
				acks++
				// The ports have the hosts' rate. The spine's has a queue, since two leaves send to the third.
				spine := o[len(features)+len(hopFeatures):]
				telemetry = telemetry || spine[0] > 0 && spine[2] > 0.9 && spine[2] <= 1.01 && spine[3] != 0
				if o[1] == 0 || spine[1] != 1 {
					t.Errorf("%v: %v", p.Now, o[:e.count()])
				}
			}
		}
		p.Begin(rates)
		if err := p.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	// Each flow has 20 packets, the ACK of the last of which ends it.
	if acks != 19*e.Agents || !telemetry {
		t.Errorf("%d ACKs of %d flows; telemetry: %v", acks, e.Agents, telemetry)
	}
	file := filepath.Join(t.TempDir(), "events.star")
	const text = `
def init(flow):
    flow.rate = path.line_rate

def on_sent(flow, now, payload):
    flow.rate = path.line_rate / 2

def on_ack(flow, ack):
    flow.rate = path.line_rate / 2
`
	if err := os.WriteFile(file, []byte(e.Declarations()+text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Reading{Sets: sets, Controllers: []string{file}}.Load("incast")
	if err != nil {
		t.Fatal(err)
	}
	ordered, err := runner.Watch(t.Context(), s, runner.Options{Controller: file, Seed: 1, Processors: 1},
		runner.Watching{Ordered: true})
	if err != nil {
		t.Fatal(err)
	}
	if ordered.Fingerprint != p.Fingerprint || p.Fingerprint == "" {
		t.Errorf("the episode has the fingerprint %q, the run %q", p.Fingerprint, ordered.Fingerprint)
	}
	sum, err := runner.Watch(t.Context(), s, runner.Options{Controller: file, Seed: 1, Processors: 1}, runner.Watching{})
	if err != nil || !reflect.DeepEqual(sum.Flows, ordered.Flows) || sum.VirtualNS != ordered.VirtualNS {
		t.Errorf("error %v; in order of time %+v, otherwise %+v", err, ordered.Flows, sum.Flows)
	}
	if p, err = e.Start(1); err != nil {
		t.Fatal(err)
	}
	p.End() // in the middle
}

// TestVector checks that environments do not depend on each other, nor on when they are reset.
func TestVector(t *testing.T) {
	e := incast(t)
	play := func(v *Vector, at int, steps int) (all []float32) {
		for i := range v.Operations {
			v.Operations[i] = Leave
		}
		v.Operations[at], v.Seeds[at] = Reset, 7
		for n := range steps {
			if err := v.Proceed(); err != nil {
				t.Fatal(err)
			}
			all = append(all, v.Observations[at*e.Agents*e.count():(at+1)*e.Agents*e.count()]...)
			for i := range v.Operations {
				v.Operations[i] = byte(Step)
				if v.Over[i] == 1 || v.Times[i] == 0 {
					v.Operations[i], v.Seeds[i] = Reset, uint64(n)
				}
			}
			for i := range v.Rates {
				v.Rates[i] = float32(i%e.Agents+1) / 8 / float32(n+1)
			}
		}
		return all
	}
	one, several := NewVector(e, 1), NewVector(e, 3)
	defer one.Close()
	defer several.Close()
	first := play(one, 0, 8)
	if second := play(one, 0, 8); !slices.Equal(first, second) {
		t.Error("the same seed and rates gave other observations")
	}
	if third := play(several, 2, 8); !slices.Equal(first, third) {
		t.Error("an environment among others gave other observations")
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		name     string
		interval vtime.Time
		sets     []string
		want     string
	}{
		{"incast", -1, nil, "expected a time above 0"},
		{"incost", interval, nil, `did you mean "incast"`},
		{"incast", interval, []string{"flows.0.sise=1KB"}, "sise"},
		{"dcon-websearch", interval, nil, "expected 1 to 4096, since each is an agent"},
	} {
		_, err := Read(c.name, Options{Interval: c.interval}, scenario.Reading{Sets: c.sets})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	v := NewVector(incast(t), 1)
	defer v.Close()
	if err := v.Proceed(); err == nil || !strings.Contains(err.Error(), "without a reset") {
		t.Errorf("a step before a reset: %v", err)
	}
}

// BenchmarkStep measures agents' steps: see docs/env.md.
func BenchmarkStep(b *testing.B) {
	e, err := Read("incast", Options{Interval: interval}, scenario.Reading{})
	if err != nil {
		b.Fatal(err)
	}
	v := NewVector(e, 16)
	defer v.Close()
	for i := range v.Operations {
		v.Operations[i], v.Seeds[i] = Reset, uint64(i)
	}
	for i := range v.Rates {
		v.Rates[i] = 0.25
	}
	for b.Loop() {
		if err := v.Proceed(); err != nil {
			b.Fatal(err)
		}
		for i := range v.Operations {
			v.Operations[i] = Step
			if v.Over[i] == 1 {
				v.Operations[i] = Reset
			}
		}
	}
	b.ReportMetric(float64(len(v.Rates))*float64(b.N)/b.Elapsed().Seconds(), "agent-steps/s")
}
