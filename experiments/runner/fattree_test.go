package runner

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/traffic/workload"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TestLSTMFatTree checks the traffic that the scenario's seed draws against the thesis' section 4.4.2 and HPCC's
// simulator.
func TestLSTMFatTree(t *testing.T) {
	s := mustLoad(t, "lstm-fattree")
	normal, incast := s.Workloads[0].View, s.Workloads[1].View
	// 0.3 * 320 * 100 Gb/s * 10 ms = 12 GB, of 120 421 B on average: 99 651 flows; at 2 % 26.67 incasts of 30 MB.
	if got := 10e6 / normal.Interval; math.Abs(got-99_651) > 1 {
		t.Errorf("%.1f normal flows are expected", got)
	}
	if got := 10e6 / incast.Interval; math.Abs(got-26.667) > 0.001 {
		t.Errorf("%.3f incasts are expected", got)
	}
	if math.Abs(float64(normal.Flows)/99_651-1) > 0.01 || math.Abs(float64(normal.Bytes)/12e9-1) > 0.01 {
		t.Errorf("%d normal flows of %v: more than 1 %% from the load", normal.Flows, normal.Bytes)
	}
	if incast.Flows != 34*60 || incast.Bytes != 34*60*500_000 {
		t.Errorf("%d flows of incasts, %v; in the thesis 34 incasts happened", incast.Flows, incast.Bytes)
	}
	// The longest path: 6 links of 1 us, and the simulator's 240 ns of packets. The window covers that time.
	var most vtime.Time
	for i := range s.Flows {
		most = max(most, scenario.Environment(s.Topology, &s.Flows[i], cc.SwitchNeeds{}).BaseRTT)
	}
	if most < 12_240*vtime.Nanosecond || most > 12_300*vtime.Nanosecond {
		t.Errorf("greatest unloaded RTT %v", most)
	}
	// run.py --bw 100: DCTCP marks at 300 KB at 100 Gb/s and at 1200 KB at 400, RED from 400 and 1600 KB.
	for needs, want := range map[cc.SwitchNeeds][2]units.Bytes{
		{ECN: true, ECNStep: true}: {300 * units.KB, 1200 * units.KB}, {ECN: true}: {400 * units.KB, 1600 * units.KB},
	} {
		for _, sw := range scenario.SwitchSettings(s, needs) {
			slow, _ := sw.ECN.At(100 * units.Gbps)
			fast, _ := sw.ECN.At(400 * units.Gbps)
			if got := [2]units.Bytes{slow, fast}; got != want {
				t.Fatalf("marks from %v, want %v", got, want)
			}
		}
	}
	if s.ControllerSettings["hpcc"]["rtt"] != "12.24us" || s.ControllerSettings["hpcc"]["window"] != "153KB" {
		t.Errorf("constants %v", s.ControllerSettings)
	}
}

// TestFatTreeSizes checks the sizes and the load of the fat-trees' workloads. The Kolmogorov-Smirnov statistic of a
// correct sample exceeds 2.23/sqrt(n) once in 10 000 times. The payload is summed over so many seeds that 1 % is three
// standard deviations.
func TestFatTreeSizes(t *testing.T) {
	testenv.WholeScenario(t)
	t.Parallel()
	for _, c := range []struct {
		scenario string
		seeds    uint64
		of       float64 // payload that is expected, bytes
	}{
		{"lstm-fattree", 40, 0.3 * 320 * 100e9 / 8 * 0.01},
		{"tcd-fattree", 40, 10_000 * 1_711_250},
		{"tcd-fattree-hadoop", 40, 100_000 * 120_421},
	} {
		s := mustLoad(t, c.scenario)
		view := &s.Workloads[0].View
		sizes, err := workload.BuiltinSizes(view.Sizes.Name)
		if err != nil {
			t.Fatal(err)
		}
		var values []float64
		for i := range s.Flows {
			if s.Flows[i].Tag == view.Tag {
				values = append(values, float64(s.Flows[i].Size))
			}
		}
		slices.Sort(values)
		n, most := float64(len(values)), 0.0
		for i, size := range values {
			// Of flows of one size, the last: whatever is not longer.
			if i == len(values)-1 || values[i+1] != size {
				most = max(most, math.Abs(part(sizes, size)-float64(i+1)/n))
			}
		}
		if most*math.Sqrt(n) > 2.23 {
			t.Errorf("%s: Kolmogorov-Smirnov %.2f", c.scenario, most*math.Sqrt(n))
		}
		sum := 0.0
		for seed := uint64(1); seed <= c.seeds; seed++ {
			other, err := s.WithSeed(seed)
			if err != nil {
				t.Fatal(err)
			}
			for i := range other.Flows {
				if other.Flows[i].Tag == view.Tag {
					sum += float64(other.Flows[i].Size)
				}
			}
		}
		if got := sum / float64(c.seeds) / c.of; math.Abs(got-1) > 0.01 {
			t.Errorf("%s: %.4f of the payload that its load means", c.scenario, got)
		}
	}
}

// part returns the fraction of flows up to a size, by bisection of the quantile.
func part(sizes *workload.Sizes, size float64) float64 {
	low, high := 0.0, 1.0
	for range 50 {
		if middle := (low + high) / 2; float64(sizes.Quantile(middle)) <= size {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// TestFatTreePaths checks that a flow's packets take one of the equal paths, as under ECMP, and that flows between two
// pods use all of them.
func TestFatTreePaths(t *testing.T) {
	for name, cores := range map[string]int{"hpcc-fat": 16, "tcd-fat": 25} {
		plan, err := spec.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		from, to := plan.Hosts[0], plan.Hosts[len(plan.Hosts)-1]
		seen := map[topologies.NodeID]bool{}
		for port := range uint16(2000) {
			path := paths.Forward(plan, from, to, paths.Ports{Source: 49152 + port})
			if len(path) != 6 {
				t.Fatalf("%s: a path of %d links", name, len(path))
			}
			seen[plan.PeerNode(path[2]).ID] = true
		}
		if len(seen) != cores {
			t.Errorf("%s: %d of %d cores carry flows between the first and the last pod", name, len(seen), cores)
		}
	}
}

// TestDCONVariants checks that dcon-qcnm and dcon-window differ from dcon-websearch only in their variants.
func TestDCONVariants(t *testing.T) {
	base := mustLoad(t, "dcon-websearch")
	for _, name := range []string{"dcon-qcnm", "dcon-window"} {
		s := mustLoad(t, name)
		if s.Switch != base.Switch || s.Host != base.Host || s.Topology.Name != base.Topology.Name ||
			s.Duration != base.Duration ||
			!reflect.DeepEqual(s.Flows, base.Flows) || !reflect.DeepEqual(s.ControllerSettings, base.ControllerSettings) {
			t.Errorf("%s is not dcon-websearch", name)
		}
		for _, v := range s.Variants {
			if v.CC != "dcon" || v.Host != nil || len(v.Constants) > 0 {
				t.Errorf("%s: %+v", name, v)
			}
			own := *v.Switch
			own.CNM.QCNM, own.CNM.Window = base.Switch.CNM.QCNM, base.Switch.CNM.Window
			if own != base.Switch {
				t.Errorf("%s: %s changes more than the threshold and the window", name, v.Name)
			}
		}
	}
}
