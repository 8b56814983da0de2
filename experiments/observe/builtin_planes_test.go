package observe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/vtime"
)

// Durations at which the test ends long scenarios, because the kernel plane is slow.
const (
	planesUntil = 25 * vtime.Millisecond
	largeUntil  = 300 * vtime.Microsecond // with a quick form
	hugeUntil   = 60 * vtime.Microsecond  // with a quick form and more than hugeHosts hosts
	hugeHosts   = 249
)

// planesCuts holds shorter durations. The time cut off repeats earlier traffic, except for mechanisms that another
// built-in covers, as testdata/mechanisms.txt shows: later flows of convergence-2 and convergence-8, which mark and pause
// (lstm-incast), the watchdog and the storm's end in allreduce-storm (pfc-storm), and spray's marks in load-balancing
// (spray-failure).
var planesCuts = map[string]vtime.Time{
	"allreduce-16":    150 * vtime.Microsecond,
	"allreduce-storm": 1200 * vtime.Microsecond,
	"convergence-2":   500 * vtime.Microsecond,
	"convergence-8":   3 * vtime.Millisecond,
	"dcon-burst":      22 * vtime.Millisecond,
	"dcon-interval":   500 * vtime.Microsecond,
	"dcon-qcnm":       hugeUntil, // dcon-websearch's variants
	"dcon-size":       500 * vtime.Microsecond,
	"dcon-window":     hugeUntil, // dcon-websearch's variants
	"deadlock":        3 * vtime.Millisecond,
	"ecn-thresholds":  60 * vtime.Microsecond,
	"link-failure":    2 * vtime.Millisecond,
	"load-balancing":  100 * vtime.Microsecond,
	"lstm-incast":     300 * vtime.Microsecond,
	"qp-scaling":      100 * vtime.Microsecond,
	"rails":           40 * vtime.Microsecond,
	"rails-plain":     40 * vtime.Microsecond,
	"rccc-incast":     vtime.Millisecond,
	"spray-failure":   700 * vtime.Microsecond,
	"spray-reorder":   150 * vtime.Microsecond,
	"tcd-multi":       vtime.Millisecond,
	"tcd-single":      vtime.Millisecond,
	"tcd-victims":     1500 * vtime.Microsecond,
	"trim-incast":     350 * vtime.Microsecond,
}

// planesSets holds settings of built-ins by which a mechanism occurs before the cut.
var planesSets = map[string][]string{"spray-failure": {"faults.cut.reroute=300us"}}

// TestBuiltinsOnBothPlanes compares the runs of every built-in scenario on both planes, under each of its controllers,
// and the mechanisms that occur in them with testdata/mechanisms.txt.
func TestBuiltinsOnBothPlanes(t *testing.T) {
	testenv.NeedRoot(t)
	names := scenario.BuiltinNames()
	if testing.Short() { // for the race detector: code that concurrent runs share is the same in all of them
		names = []string{"incast", "line-rate"}
	}
	var mutex sync.Mutex
	found := map[string]string{}
	t.Run("runs", func(t *testing.T) {
		for _, name := range names {
			s, err := scenario.Reading{Quick: true, Sets: planesSets[name]}.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			until := cmp.Or(planesCuts[name], planesUntil)
			if s.HasQuick {
				until = min(until, largeUntil)
				if len(s.Topology.Hosts) > hugeHosts {
					until = hugeUntil
				}
			}
			if name == "dcon-qcnm" || name == "dcon-window" {
				s.Controllers = s.Controllers[:1]
			}
			if s.Duration > until {
				s.Duration, s.Drain = until, false
			}
			for _, controller := range s.Controllers {
				t.Run(name+"/"+controller, func(t *testing.T) {
					t.Parallel()
					summary := compareOnBothPlanes(t, s, controller)
					mutex.Lock()
					defer mutex.Unlock()
					found[name+"/"+controller] = mechanisms(t, summary)
				})
			}
		}
	})
	if testing.Short() || t.Failed() {
		return
	}
	var lines strings.Builder
	for _, key := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&lines, "%s: %s\n", key, found[key])
	}
	testenv.Golden(t, filepath.Join("testdata", "mechanisms.txt"), lines.String())
}

// compareOnBothPlanes runs a scenario on both planes, compares the runs, and returns the summary of one.
func compareOnBothPlanes(t *testing.T, s *scenario.Scenario, controller string) *measure.Summary {
	t.Helper()
	why := s.WhyFits() == nil
	var o runner.Options
	if why {
		o = observed(Why)
	}
	wasm := run(t, s, controller, o)
	o.Plane = opener(t, plane.Kernel)
	kernel := run(t, s, controller, o)
	if a, b := kernel.Summary.Fingerprint, wasm.Summary.Fingerprint; a != b || a == "" {
		t.Errorf("fingerprint %q on the kernel plane, %q on the wasm plane", a, b)
	}
	if a, b := timeless(t, kernel.dir)[rundir.Why.Name], timeless(t, wasm.dir)[rundir.Why.Name]; a != b || why && a == "" {
		t.Errorf("where flows' time goes is another on the kernel plane than on the wasm plane: %d B and %d", len(a), len(b))
	}
	return &wasm.Summary
}

// mechanisms lists what occurs in a run, by the summary's counters that are not zero.
func mechanisms(t *testing.T, s *measure.Summary) string {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var add func(path string, v any)
	add = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, v := range v {
				add(path+"."+key, v)
			}
		case float64:
			if v != 0 {
				seen[path] = true
			}
		}
	}
	for _, key := range []string{
		"credits", "ecn_marks", "ue_marks", "cnps", "cnms", "drops", "recovery", "grants", "faults",
	} {
		add(key, all[key])
	}
	for _, key := range []string{"pauses", "resumes", "pauses_between_switches"} {
		add("pfc."+key, all["pfc"].(map[string]any)[key])
	}
	add("completed", all["flows"].(map[string]any)["completed"])
	return strings.Join(slices.Sorted(maps.Keys(seen)), " ")
}
