package experiments

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator"
)

// small is an incast with everything in it that draws random numbers or meets ties: RED, PFC, CNPs, equal starts.
const small = `
name: small
topology: {rate: 40Gbps, delay: 1us, leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4}}
switch:
  pfc: {xoff: 60KB, xoff_to_xon: 5KB}
  ecn: {kmin: 5KB, kmax: 100KB, pmax: 0.2}
  cnm: {ecn_threshold: 20KB}
flows:
  - {tag: incast, from: [h0..h5], to: h7, size: 60KB, count: 2, interval: 20us}
  - {tag: other, from: h7, to: h0, size: 100KB}
duration: 300us
drain: true
sample: {interval: 5us}
`

// lasting are a run's files that depend on nothing but scenario and seed.
var lasting = []string{"flows.csv", "ports.csv", "pfc.csv", "rates.csv", "events.csv"}

func (o *outcome) content() string {
	var b strings.Builder
	for _, name := range lasting {
		data, err := os.ReadFile(filepath.Join(o.dir, name))
		if err != nil {
			o.Fatal(err)
		}
		b.Write(data)
	}
	return b.String()
}

// TestTenRuns: one seed gives one fingerprint and the same files, byte for byte, ten times; another seed another.
func TestTenRuns(t *testing.T) {
	testenv.WholeScenario(t)
	s := parse(t, small)
	for _, controller := range []string{"dcqcn", "dcon"} {
		first := run(t, s, controller, Options{})
		if p := first.Summary.PFC.Pauses; p == 0 || first.Summary.ECNMarks == 0 {
			t.Fatalf("%d PAUSEs, %d marks: this run tests nothing", p, first.Summary.ECNMarks)
		}
		for range 9 {
			again := run(t, s, controller, Options{})
			if again.Summary.Fingerprint != first.Summary.Fingerprint || again.content() != first.content() {
				t.Errorf("%s: %s, then %s", controller, first.Summary.Fingerprint, again.Summary.Fingerprint)
			}
		}
		if other := run(t, s, controller, Options{Seed: 2}); other.Summary.Fingerprint == first.Summary.Fingerprint {
			t.Errorf("%s: seeds 1 and 2 give one fingerprint", controller)
		}
		if wasm := run(t, s, controller, Options{Plane: orchestrator.PlaneWasm}); wasm.Summary.Fingerprint != first.Summary.Fingerprint ||
			wasm.content() != first.content() {
			t.Errorf("%s: %s on the kernel plane, %s on the wasm plane", controller, first.Summary.Fingerprint, wasm.Summary.Fingerprint)
		}
	}
}

// TestSideBySide: runs at the same time, in goroutines of one process, do not show in each other.
func TestSideBySide(t *testing.T) {
	s := parse(t, small)
	alone := run(t, s, "dcqcn", Options{})
	suite := &Suite{Directory: t.TempDir(), Jobs: 4, Plane: orchestrator.PlaneKernel}
	for _, name := range []string{"a", "b", "c"} {
		copied := *s
		copied.Name = name
		suite.Scenarios = append(suite.Scenarios, SuiteScenario{Scenario: &copied, Controllers: []string{"dcqcn", "none"}, Seed: 1})
	}
	results, err := suite.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if got := r[0].Summary.Fingerprint; got != alone.Summary.Fingerprint {
			t.Errorf("run %d: %s, alone %s", i, got, alone.Summary.Fingerprint)
		}
		if r[1].Summary.Fingerprint != results[0][1].Summary.Fingerprint || r[1].Summary.Fingerprint == r[0].Summary.Fingerprint {
			t.Errorf("run %d under none: %s", i, r[1].Summary.Fingerprint)
		}
	}
}

// TestUnderLoad: processes that keep every processor busy change nothing, nor does a run in another process.
func TestUnderLoad(t *testing.T) {
	testenv.WholeScenario(t)
	testenv.NeedRoot(t)
	s := parse(t, small)
	quiet := run(t, s, "dcqcn", Options{})
	for range runtime.GOMAXPROCS(0) {
		spin := exec.Command("sh", "-c", "while [ -d /proc/$PPID ]; do :; done") // it ends with this process, whatever ends that
		if err := spin.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = spin.Process.Kill()
			_ = spin.Wait()
		}()
	}
	// The same run in this process and in another, at the same time.
	other := exec.Command(os.Args[0], "-test.run=^TestFingerprintForUnderLoad$", "-test.v")
	other.Env = append(os.Environ(), "PAUSENET_TEST_FINGERPRINT=1")
	var out []byte
	var err error
	var both sync.WaitGroup
	both.Go(func() { out, err = other.CombinedOutput() })
	for range 2 {
		if r := run(t, s, "dcqcn", Options{}); r.Summary.Fingerprint != quiet.Summary.Fingerprint {
			t.Errorf("%s when idle, %s under load", quiet.Summary.Fingerprint, r.Summary.Fingerprint)
		}
	}
	both.Wait()
	if err != nil || !strings.Contains(string(out), "fingerprint "+quiet.Summary.Fingerprint) {
		t.Errorf("want fingerprint %s of the other process: %v\n%s", quiet.Summary.Fingerprint, err, out)
	}
}

// TestFingerprintForUnderLoad is the other process of TestUnderLoad, and nothing by itself.
func TestFingerprintForUnderLoad(t *testing.T) {
	if os.Getenv("PAUSENET_TEST_FINGERPRINT") == "" {
		return
	}
	t.Log("fingerprint " + run(t, parse(t, small), "dcqcn", Options{}).Summary.Fingerprint)
}
