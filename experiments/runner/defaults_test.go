package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// rateKeys lists the keys that set rates of a built-in topology, in addition to its rate.
var rateKeys = map[string][]string{
	"leafspine": {"leafspine.host_rate", "leafspine.fabric_rate"},
	"small":     {"leafspine.host_rate", "leafspine.fabric_rate"},
	"hpcc-fat":  {"fattree.host_rate"},
}

// incastOn returns an incast on a built-in topology that sets only a rate and a delay. One host of the receiver's rack
// and three of others send enough for PAUSE to reach them all.
func incastOn(t *testing.T, topology string, gigabits int, delay vtime.Time) *scenario.Scenario {
	t.Helper()
	rate := units.Rate(gigabits) * units.Gbps
	plan, err := spec.Builtin(topology)
	if err != nil {
		t.Fatal(err)
	}
	name := func(i int) string {
		n := &plan.Nodes[plan.Hosts[i]]
		if len(n.Ports) > 1 { // by rails of their own flows would not meet
			return n.Name + ".1"
		}
		return n.Name
	}
	n := len(plan.Hosts)
	// Each of four fills its ports at three quarters of the line: to XOFF and through the headroom, with as much again.
	size := 3 * (rate.BytesIn(64*vtime.Microsecond) + rate.BytesIn(2*delay) + 80_000)
	text := fmt.Sprintf("name: t\ntopology: %s\nflows: [{tag: incast, from: [%s, %s, %s, %s], to: %s, size: %dB}]\n"+
		"host: {coalesce_acks: 64}\nduration: 100ms\ndrain: true\nsample: {interval: 1ms, flows: none}\n",
		topology, name(1), name(n/2), name(3*n/4), name(n-1), name(0), size)
	sets := []string{fmt.Sprintf("topology.rate=%dGbps", gigabits), "topology.delay=" + delay.String()}
	for _, key := range rateKeys[topology] {
		sets = append(sets, fmt.Sprintf("topology.%s=%dGbps", key, gigabits))
	}
	s, err := scenario.Parse("t.yaml", []byte(text), sets)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Topology.Links {
		if l := &s.Topology.Links[i]; l.Rate != rate || l.Delay != delay {
			t.Fatalf("%s has a link of %v, %v", topology, l.Rate, l.Delay)
		}
	}
	return s
}

// The defaults work at any rate: on every built-in topology, from 10 to 800 Gb/s and from 100 ns to 20 us a cable, an
// incast loses nothing, with and without congestion control. Defaults are computed from rates and delays port by port,
// so the rates and delays between the extremes are tested on one topology of each number of tiers.
func TestDefaultsAtAnyRate(t *testing.T) {
	testenv.WholeScenario(t)
	between := []string{"star", "small", "tcd-fat"}
	delays := []vtime.Time{100 * vtime.Nanosecond, vtime.Microsecond, 5 * vtime.Microsecond, 20 * vtime.Microsecond}
	for _, topology := range spec.BuiltinNames() {
		rates, delays := []int{10, 25, 40, 100, 200, 400, 800}, delays
		if !slices.Contains(between, topology) {
			rates, delays = []int{10, 800}, []vtime.Time{delays[0], delays[3]}
		}
		for _, gigabits := range rates {
			for _, delay := range delays {
				for _, controller := range []string{"none", "dcqcn"} {
					t.Run(fmt.Sprintf("%s/%dGbps/%v/%s", topology, gigabits, delay, controller), func(t *testing.T) {
						t.Parallel()
						checkDefaults(t, incastOn(t, topology, gigabits, delay), controller)
					})
				}
			}
		}
	}
}

// So they do for the others that set switches' thresholds or read their telemetry, up to 1.6 Tb/s.
func TestDefaultsOfControllers(t *testing.T) {
	testenv.WholeScenario(t)
	for _, gigabits := range []int{10, 800, 1600} {
		for _, controller := range []string{"dcon", "dctcp", "hpcc", "pcn", "dcqcn+tcd", "swift", "timely"} {
			t.Run(fmt.Sprintf("%dGbps/%s", gigabits, controller), func(t *testing.T) {
				t.Parallel()
				checkDefaults(t, incastOn(t, "small", gigabits, 20*vtime.Microsecond), controller)
			})
		}
	}
}

func checkDefaults(t *testing.T, s *scenario.Scenario, controller string) {
	t.Helper()
	r, err := Run(context.Background(), s, Options{
		Controller: controller, Plane: wasmplane.Open, Seed: 1,
		Directory: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	v := &r.Summary.Verdict
	if v.Status == measure.Warn && controller != "none" { // what it kept from happening is no fault of the defaults'
		for _, m := range v.Messages {
			if !strings.Contains(m, "PFC was never reached") {
				t.Errorf("%s", m)
			}
		}
	} else if v.Status != measure.Pass {
		t.Errorf("%s: %s", v.Status, strings.Join(v.Messages, "; "))
	}
	if controller == "none" && r.Summary.PFC.Pauses < 4 {
		t.Errorf("%d PAUSEs: the headroom was not needed", r.Summary.PFC.Pauses)
	}
}

// TestCreditsAtAnyRate checks the defaults of credits and TCD. A single flow fills its link at any rate, up to the
// limit of 2048 frames that can be granted at a time. An incast loses nothing and gets a message.
func TestCreditsAtAnyRate(t *testing.T) {
	rates := []int{10, 40, 100, 400, 800}
	if testing.Short() {
		rates = []int{40, 400}
	}
	for _, gigabits := range rates {
		for _, delay := range []vtime.Time{100 * vtime.Nanosecond, 20 * vtime.Microsecond} {
			t.Run(fmt.Sprintf("%dGbps/%v", gigabits, delay), func(t *testing.T) {
				t.Parallel()
				link := []string{
					fmt.Sprintf("topology.rate=%dGbps", gigabits), "topology.delay=" + delay.String(),
					"switch={flow_control: cbfc, detector: tcd}",
				}
				rate := units.Rate(gigabits) * units.Gbps
				size := rate.BytesIn(100*vtime.Microsecond + 4*delay) // of four, three quarters fill a port's buffer and more
				s := mustLoad(t, "line-rate", append(link, fmt.Sprintf("flows.0.size=%dB", size))...)
				sum := run(t, s, "none", Options{}).Summary
				if sum.Verdict.Status == measure.Fail {
					t.Errorf("a flow: %v", sum.Verdict.Messages)
				}
				if granted := rate.BytesIn(2*delay+12*vtime.Microsecond) < 2048*1000; granted && sum.Flows.Slowdown.Max > 1.02 {
					t.Errorf("a flow alone takes %g times its ideal time", sum.Flows.Slowdown.Max)
				}
				s = mustLoad(t, "incast", append(link, fmt.Sprintf("flows.0.size=%dB", size))...)
				sum = run(t, s, "none", Options{}).Summary
				if sum.Verdict.Status == measure.Fail || sum.Credits == nil || sum.Credits.Stalls == 0 {
					t.Errorf("an incast: %v, %+v", sum.Verdict.Messages, sum.Credits)
				}
			})
		}
	}
}
