package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/blame"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/vtime"
)

// panicky implements a congestion control that panics in the named method.
type panicky struct {
	cc.Controller
	in    string
	calls int
}

func (p *panicky) maybe(method string) {
	if p.calls++; p.in == method && p.calls > 40 {
		var none []int
		none[p.calls%7] = 1
	}
}

func (p *panicky) OnSent(now vtime.Time, n int) { p.maybe("OnSent"); p.Controller.OnSent(now, n) }
func (p *panicky) OnAck(s *cc.Sample)           { p.maybe("OnAck"); p.Controller.OnAck(s) }
func (p *panicky) Window() int64                { p.maybe("Window"); return p.Controller.Window() }
func (p *panicky) Deadline() vtime.Time         { p.maybe("Deadline"); return p.Controller.Deadline() }

// TestPanic: a congestion control that panics fails its run. The verdict names the controller, the flow and the time,
// the results so far are there, and the stack is in a file beside them.
func TestPanic(t *testing.T) {
	for _, c := range []struct{ in, at string }{
		{"OnSent", "us: runtime error: index out of range"},
		{"OnAck", "us: runtime error: index out of range"},
		{"Window", "us: runtime error: index out of range"},
		{"Deadline", "us: runtime error: index out of range"},
		{"New", "0s: not ready"},
	} {
		t.Run(c.in, func(t *testing.T) {
			s := mustLoad(t, "incast", "controllers=[{name: mine, cc: none, set: {}}]")
			dir := filepath.Join(t.TempDir(), "run")
			r, err := newRunner(s, Options{Controller: "mine", Plane: wasmplane.Open, Seed: 1, Directory: dir})
			if err != nil {
				t.Fatal(err)
			}
			r.watching = &Watching{Controller: func(flow int, env cc.Env, _ cc.Settings) (cc.Controller, error) {
				inner := cc.Constant(float64(env.LineRate))
				switch {
				case flow != 2:
					return inner, nil
				case c.in == "New":
					panic("not ready")
				}
				return &panicky{Controller: inner, in: c.in}, nil
			}}
			if r.folder, err = files.OpenFolder(dir, dir); err != nil {
				t.Fatal(err)
			}
			defer r.folder.Close()
			if err := r.openPlane(); err != nil {
				t.Fatal(err)
			}
			defer r.plane.Close()
			result, err := r.run(context.Background())
			var p *engine.PanicError
			if !errors.As(err, &p) || result == nil {
				t.Fatalf("result %v, error %v", result, err)
			}
			v := result.Summary.Verdict
			said := strings.Join(v.Messages, "\n")
			if v.Status != measure.Fail || !result.Summary.Partial ||
				!strings.Contains(said, "the congestion control panicked: mine, flow 2 (h2 to h4) at ") ||
				!strings.Contains(said, c.at) || !strings.Contains(said, rundir.PanicFile) {
				t.Errorf("verdict %+v", v)
			}
			stack, err := os.ReadFile(filepath.Join(dir, rundir.PanicFile))
			if err != nil || !strings.Contains(string(stack), "panic_test.go:") {
				t.Errorf("stack %q, %v", stack, err)
			}
			if m := testenv.ReadJSON(t, filepath.Join(dir, rundir.ManifestFile)); m["status"] != rundir.StatusPartial ||
				m["verdict"] != string(measure.Fail) {
				t.Errorf("manifest: status %v, verdict %v", m["status"], m["verdict"])
			}
			if flows := testenv.ReadTable(t, filepath.Join(dir, "flows.csv")); len(flows.Rows) != 4 {
				t.Errorf("%d flows in flows.csv", len(flows.Rows))
			}
		})
	}
}

// TestOwnPanic checks that a panic that no congestion control caused is not caught.
func TestOwnPanic(t *testing.T) {
	s := mustLoad(t, "incast")
	defer func() {
		if v := recover(); v != "ours" {
			t.Errorf("recovered %v", v)
		}
	}()
	_, err := Watch(context.Background(), s, Options{Controller: "dcqcn", Seed: 1, Processors: 1},
		Watching{Sample: func(int, vtime.Time, vtime.Time) { panic("ours") }})
	t.Errorf("no panic: %v", err)
}

// TestPanicMethods checks that a panic in any method of a congestion control is reported with that method.
func TestPanicMethods(t *testing.T) {
	controller := reflect.TypeFor[cc.Controller]()
	for i := range controller.NumMethod() {
		if name := controller.Method(i).Name; !slices.Contains(blame.Methods, name) {
			t.Errorf("a panic in %s would be taken for the program's own", name)
		}
	}
}
