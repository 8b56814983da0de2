package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

// lasting lists a run's files that depend only on scenario and seed.
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

// onKernel returns options of a run on the kernel plane.
func onKernel(t *testing.T) Options { return Options{Plane: opener(t, plane.Kernel)} }

// TestTenRuns: one seed gives one fingerprint and the same files, byte for byte, ten times: three times on the kernel
// plane, which is slower, and seven times on the wasm plane. Another seed gives another.
func TestTenRuns(t *testing.T) {
	testenv.WholeScenario(t)
	s := parse(t, lab.Small)
	for _, controller := range []string{"dcqcn", "dcon"} {
		first := run(t, s, controller, onKernel(t))
		if p := first.Summary.PFC.Pauses; p == 0 || first.Summary.ECNMarks == 0 {
			t.Fatalf("%d PAUSEs, %d marks: this run tests nothing", p, first.Summary.ECNMarks)
		}
		for i := range 9 {
			o := Options{}
			if i < 2 {
				o = onKernel(t)
			}
			again := run(t, s, controller, o)
			if again.Summary.Fingerprint != first.Summary.Fingerprint || again.content() != first.content() {
				t.Errorf("%s: %s, then %s in run %d", controller, first.Summary.Fingerprint, again.Summary.Fingerprint, i+2)
			}
		}
		if other := run(t, s, controller, Options{Seed: 2}); other.Summary.Fingerprint == first.Summary.Fingerprint {
			t.Errorf("%s: seeds 1 and 2 give one fingerprint", controller)
		}
	}
}

// TestUnderLoad checks that busy processors do not change a run, nor does running it in another process.
func TestUnderLoad(t *testing.T) {
	testenv.WholeScenario(t)
	testenv.NeedRoot(t)
	s := parse(t, lab.Small)
	quiet := run(t, s, "dcqcn", onKernel(t))
	for range runtime.GOMAXPROCS(0) {
		// it ends with this process, whatever ends that
		spin := exec.Command("sh", "-c", "while [ -d /proc/$PPID ]; do :; done")
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
		if r := run(t, s, "dcqcn", onKernel(t)); r.Summary.Fingerprint != quiet.Summary.Fingerprint {
			t.Errorf("%s when idle, %s under load", quiet.Summary.Fingerprint, r.Summary.Fingerprint)
		}
	}
	both.Wait()
	if err != nil || !strings.Contains(string(out), "fingerprint "+quiet.Summary.Fingerprint) {
		t.Errorf("want fingerprint %s of the other process: %v\n%s", quiet.Summary.Fingerprint, err, out)
	}
}

// TestFingerprintForUnderLoad runs in the other process of TestUnderLoad, and does nothing by itself.
func TestFingerprintForUnderLoad(t *testing.T) {
	if os.Getenv("PAUSENET_TEST_FINGERPRINT") == "" {
		return
	}
	t.Log("fingerprint " + run(t, parse(t, lab.Small), "dcqcn", onKernel(t)).Summary.Fingerprint)
}

// TestProcessorsOfTheMachine checks that 0 processors stands for all of the machine's, and that a run uses at most as
// many as it has independent parts. The test does not run in parallel, because it changes the number of processors that
// the process may use.
func TestProcessorsOfTheMachine(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	s := parse(t, lab.Small)
	for given, want := range map[int]int{0: 2, 1: 1, 64: 2} {
		r, err := newRunner(s, Options{Controller: "dcqcn", Processors: given})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.openPlane(); err != nil {
			t.Fatal(err)
		}
		if got := r.workers(); got != want {
			t.Errorf("%d processors: %d are used, want %d", given, got, want)
		}
		if err := r.plane.Close(); err != nil {
			t.Error(err)
		}
	}
}
