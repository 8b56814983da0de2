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

	"github.com/pausenet/pausenet/experiments"
	"github.com/pausenet/pausenet/internal/vtime"
	"github.com/pausenet/pausenet/orchestrator"
)

// TestIncastIsTheScenarios: RDMA flows that no program disturbs complete in a live fabric when they do in a run of a scenario that starts
// them at the same virtual time, and the fingerprint is that of the same engine driven without a wall clock: whatever the machine is
// late by.
func TestIncastIsTheScenarios(t *testing.T) {
	for _, controller := range []string{"dcqcn", "none"} {
		t.Run(controller, func(t *testing.T) {
			f := bringUp(t, "", "controllers=["+controller+"]")
			requests, err := f.Incast(7, "h1", 256_000, "")
			if err != nil {
				t.Fatal(err)
			}
			took, start := runFlows(t, f, requests)
			fingerprint := settled(t, f)
			down(t, f)

			for from, want := range ranAsScenario(t, controller, requests, start) {
				if got := (took[from] + vtime.Nanosecond/2).Nanoseconds(); got != want { // flows.csv has the nearest
					t.Errorf("%s: FCT %d ns live, %d ns in the scenario", from, got, want)
				}
			}
			if got := ranWithoutWall(t, f, requests, start); got != fingerprint {
				t.Errorf("fingerprint %s live, %s without a wall clock", fingerprint, got)
			}
		})
	}
}

// runFlows starts flows at one time and waits for their ends.
func runFlows(t *testing.T, f *Fabric, requests []FlowRequest) (took map[string]vtime.Time, start vtime.Time) {
	t.Helper()
	ended := make(chan FlowResult, len(requests))
	if err := f.StartFlows(requests, func(r FlowResult) { ended <- r }); err != nil {
		t.Fatal(err)
	}
	took = map[string]vtime.Time{}
	for range requests {
		r := <-ended
		took[r.From] = r.FCT
	}
	if err := f.Do(func(e *orchestrator.Engine) error { start = e.Flows()[0].Start; return nil }); err != nil {
		t.Fatal(err)
	}
	return took, start
}

// settled is the fingerprint of a fabric in which nothing moves any more, as the last frames of its flows have ended.
func settled(t *testing.T, f *Fabric) (fingerprint string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		still := false
		if err := f.Do(func(e *orchestrator.Engine) error {
			fingerprint, still = e.Fingerprint(), e.Created == e.Ended
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if still {
			return fingerprint
		}
		if time.Now().After(deadline) {
			t.Fatal("frames are still under way a minute after the last flow has ended")
		}
	}
}

// ranAsScenario is the completion time in ns of each source's flow in a run of a scenario.
func ranAsScenario(t *testing.T, controller string, requests []FlowRequest, start vtime.Time) map[string]int64 {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "topology: small\ncontrollers: [%s]\nduration: %dns\ndrain: true\nflows:\n", controller, start.Nanoseconds()+1e6)
	for _, r := range requests {
		fmt.Fprintf(&text, "  - {tag: %s, from: %s, to: %s, size: %d, start: %dps}\n", r.From, r.From, r.To, int64(r.Size), int64(start))
	}
	s, err := experiments.Reading{}.Parse("", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := experiments.Run(context.Background(), s, experiments.Options{
		Directory: dir, Controller: controller, Plane: orchestrator.PlaneWasm, Seed: 1,
	}); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(dir, "flows.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) != len(requests)+1 || rows[0][6] != "fct_ns" {
		t.Fatalf("flows.csv: %v, %v", rows, err)
	}
	took := map[string]int64{}
	for _, row := range rows[1:] {
		ns, err := strconv.ParseInt(row[6], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		took[row[1]] = ns
	}
	return took
}

// ranWithoutWall is the fingerprint of a fabric's engine, driven in virtual time on the other plane, with the same flows.
func ranWithoutWall(t *testing.T, f *Fabric, requests []FlowRequest, start vtime.Time) string {
	t.Helper()
	plane, err := orchestrator.OpenWasmPlane(f.Plan, f.Made.Fabric())
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	config := f.Made.Engine(1)
	config.Plane, config.Observer = plane, newWatcher(f.Plan)
	engine := orchestrator.NewEngine(config)
	for i, r := range requests {
		flow, err := f.Made.Flow(&experiments.Flow{
			Source: f.Plan.NodeByName(r.From).ID, Destination: f.Plan.NodeByName(r.To).ID, Size: r.Size, Start: start,
		}, r.CC, uint64(1<<32)^uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		engine.AddFlow(flow)
	}
	if err := engine.Run(context.Background(), start+vtime.Millisecond, true, nil); err != nil {
		t.Fatal(err)
	}
	return engine.Fingerprint()
}
