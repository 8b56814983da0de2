//go:build linux

package live

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TestIncastIsTheScenarios checks that RDMA flows that no program disturbs complete in a live fabric when they do in a
// run of a scenario that starts them at the same virtual times. The fingerprint equals that of the same engine driven
// without a wall clock. Neither the machine's lateness nor the reuse of the first round's flows by the second changes
// it.
func TestIncastIsTheScenarios(t *testing.T) {
	t.Parallel()
	for _, controller := range []string{"dcqcn", "none"} {
		t.Run(controller, func(t *testing.T) {
			f := bringUp(t, "", "controllers=["+controller+"]")
			var rounds []round
			var fingerprint string
			for _, to := range []string{"h1", "h5"} {
				requests, err := f.Incast(7, to, 256_000, "")
				if err != nil {
					t.Fatal(err)
				}
				rounds = append(rounds, runFlows(t, f, requests))
				fingerprint = settled(t, f)
			}
			if ended := snapshot(t, f).Ended; ended.Count != 14 || ended.SizeBytes != 14*256_000 || ended.SlowdownMean < 1 {
				t.Errorf("%+v", ended)
			}
			down(t, f)

			for tag, want := range ranAsScenario(t, controller, rounds) {
				n, from, _ := strings.Cut(tag, "-")
				i, _ := strconv.Atoi(n)
				if got := (rounds[i].took[from] + vtime.Nanosecond/2).Nanoseconds(); got != want { // flows.csv has the nearest
					t.Errorf("%s: FCT %d ns live, %d ns in the scenario", tag, got, want)
				}
			}
			if got := ranWithoutWall(t, f, rounds); got != fingerprint {
				t.Errorf("fingerprint %s live, %s without a wall clock", fingerprint, got)
			}
		})
	}
}

// round holds flows that started at one time, and the completion time of each source's flow.
type round struct {
	requests []FlowRequest
	start    vtime.Time
	took     map[string]vtime.Time
}

// runFlows starts flows at one time and waits for their ends.
func runFlows(t *testing.T, f *Fabric, requests []FlowRequest) round {
	t.Helper()
	ended := make(chan FlowResult, len(requests))
	if err := f.StartFlows(requests, func(r FlowResult) { ended <- r }); err != nil {
		t.Fatal(err)
	}
	all := round{requests: requests, took: map[string]vtime.Time{}}
	for range requests {
		r := <-ended
		all.took[r.From], all.start = r.FCT, r.Began
	}
	return all
}

// settled returns the fingerprint of an idle fabric, when the last frames of its flows have ended.
func settled(t *testing.T, f *Fabric) (fingerprint string) {
	t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(time.Millisecond) {
		still := false
		if err := f.Do(func(e *engine.Engine) error {
			fingerprint, still = e.Fingerprint(), e.Created == e.Ended
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if still {
			return fingerprint
		}
		if time.Now().After(deadline) {
			t.Fatalf("frames are still under way %v after the last was sent", timeout)
		}
	}
}

// ranAsScenario returns the completion time in ns of each flow in a run of a scenario, by the number of its round and
// its source.
func ranAsScenario(t *testing.T, controller string, rounds []round) map[string]int64 {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "topology: small\ncontrollers: [%s]\nduration: %dns\ndrain: true\nflows:\n", controller,
		rounds[len(rounds)-1].start.Nanoseconds()+1e6)
	var flows []string
	for i := range rounds {
		for _, r := range rounds[i].requests {
			fmt.Fprintf(&text, "  - {from: %s, to: %s, size: %d, start: %dps}\n", r.From, r.To, int64(r.Size),
				int64(rounds[i].start))
			flows = append(flows, fmt.Sprintf("%d-%s", i, r.From))
		}
	}
	s, err := scenario.Reading{}.Parse("", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := runner.Run(context.Background(), s, runner.Options{
		Directory: dir, Controller: controller, Seed: 1,
	}); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(dir, "flows.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) != len(flows)+1 || rows[0][6] != "fct_ns" {
		t.Fatalf("flows.csv: %v, %v", rows, err)
	}
	took := map[string]int64{}
	for i, row := range rows[1:] {
		ns, err := strconv.ParseInt(row[6], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		took[flows[i]] = ns
	}
	return took
}

// ranWithoutWall returns the fingerprint of a fabric's engine, driven in virtual time on the other plane, with the same
// flows.
func ranWithoutWall(t *testing.T, f *Fabric, rounds []round) string {
	t.Helper()
	plane, err := wasmplane.Open(f.Plan, f.Made.Fabric().Features)
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	config := f.Made.Engine(1)
	config.Plane, config.Observer = plane, newWatcher(f.Plan)
	e, err := engine.New(config)
	if err != nil {
		t.Fatal(err)
	}
	var last vtime.Time
	listing := scenario.NewListing(1)
	for _, round := range rounds {
		last = round.start
		for _, r := range round.requests {
			own := &scenario.Flow{
				Tag: scenario.DefaultTag, Source: f.Plan.NodeByName(r.From).ID,
				Destination: f.Plan.NodeByName(r.To).ID, Size: r.Size, Start: last,
			}
			flow, err := f.Made.Flow(own, r.CC, listing.Salts(own)(0))
			if err != nil {
				t.Fatal(err)
			}
			listing.Add(own)
			e.AddFlow(flow)
		}
	}
	if err := e.Run(last+vtime.Millisecond, vtime.Second, nil); err != nil {
		t.Fatal(err)
	}
	return e.Fingerprint()
}

// TestScenarioFlowsKeepTheirPorts checks that flows of the scenario, also those of workloads, have the ports and
// interfaces of a run, whichever flows were started before.
func TestScenarioFlowsKeepTheirPorts(t *testing.T) {
	t.Parallel()
	text := `topology: {leafspine: {spines: 4, leaves: 2, hosts_per_leaf: 4, ports_per_host: 2}, rate: 10Gbps, delay: 1us}
flows:
  - {tag: a, from: h0..h3, to: h4, size: 1KB, count: 2, interval: 1us}
  - {from: h1, to: [h5, h6], size: 1KB}
workloads: [{tag: w, incast: {degree: 4, size: 1KB, interval: 20us, events: 2}}]
duration: 1ms
`
	f, err := bringUpFile(t, Options{}, "", text)
	if err != nil {
		t.Fatal(err)
	}
	defer down(t, f)
	requests, err := f.ScenarioFlows("")
	if err != nil {
		t.Fatal(err)
	}
	all, portsOf := f.Made.Scenario.Flows, f.Made.Scenario.PortsOf(1)
	if listed := len(f.Made.Scenario.Listed()); listed != 10 || len(all) == listed {
		t.Fatalf("%d flows, of which %d are listed", len(all), listed)
	}
	before := 0
	for _, typed := range []FlowRequest{{From: "h1", To: "h5", Size: units.KB}, {From: "h7", To: "h6", Size: units.KB}} {
		runFlows(t, f, []FlowRequest{typed})
		before++
		must(t, f.StartFlows(requests, func(FlowResult) {}))
		must(t, f.Do(func(e *engine.Engine) error {
			flows := e.Flows()
			for i := range flows {
				n := flows[i].Number - before
				if n < 0 || n >= len(all) {
					continue
				}
				if want, err := portsOf(n); err != nil || flows[i].Ports != want {
					t.Errorf("after %d others flow %d has ports %+v, in a run %+v (%v)", before, n, flows[i].Ports, want, err)
				}
			}
			return nil
		}))
		before += len(all)
	}
}

// TestNotifiedUnderAnother checks that a flow whose congestion control needs CNPs gets them even if the fabric's
// congestion control needs none.
func TestNotifiedUnderAnother(t *testing.T) {
	t.Parallel()
	for controller, want := range map[string]bool{"dcqcn": true, "": false} {
		f := bringUp(t, "", "controllers=[nscc]")
		requests, err := f.Incast(7, "h1", 256_000, controller)
		if err != nil {
			t.Fatal(err)
		}
		runFlows(t, f, requests)
		cnps := int64(0)
		must(t, f.Do(func(e *engine.Engine) error { cnps = e.NIC(1).CNPsSent; return nil }))
		if (cnps > 0) != want {
			t.Errorf("under %q h1 sent %d CNPs", controller, cnps)
		}
		down(t, f)
	}
}
