//go:build unix

package runner

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/vtime"
)

// looping implements a congestion control that never returns from its first packet.
type looping struct{ cc.Controller }

func (looping) OnSent(now vtime.Time, payload int) {
	_, _ = os.Stderr.WriteString("loops\n")
	for n := 0; ; n++ {
		_ = n
	}
}

// TestLoopingController checks that a run whose congestion control does not return ends on a signal, and is marked
// partial. The run is a process of its own: this test once more.
func TestLoopingController(t *testing.T) {
	const variable = "PAUSENET_LOOPING_TEST"
	if folder := os.Getenv(variable); folder != "" {
		loopForEver(t, folder)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	c := exec.Command(self, "-test.run=^TestLoopingController$")
	c.Env = append(os.Environ(), variable+"="+folder)
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	const endless = testenv.Hung
	watchdog := time.AfterFunc(endless, func() { _ = c.Process.Kill() })
	lines := bufio.NewReader(stderr)
	if said, err := lines.ReadString('\n'); said != "loops\n" {
		t.Fatalf("%q, %v", said, err)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	said, _ := lines.ReadString('\n')
	_ = c.Wait()
	if !watchdog.Stop() {
		t.Fatalf("it had to be killed after %v", endless)
	}
	if c.ProcessState.ExitCode() != 7 || !strings.Contains(said,
		"interrupted: the results so far are kept, marked partial") {
		t.Errorf("%v: %q", c.ProcessState, said)
	}
	manifest, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	if err != nil || !strings.Contains(string(manifest), `"status": "partial"`) {
		t.Errorf("%v: %.200s", err, manifest)
	}
}

func loopForEver(t *testing.T, folder string) {
	shutdown.Start(7)
	ctx, release := shutdown.Context(context.Background())
	defer release()
	s := mustLoad(t, "incast")
	r, err := newRunner(s, Options{Controller: "none", Plane: wasmplane.Open, Seed: 1, Directory: folder})
	if err != nil {
		t.Fatal(err)
	}
	if r.folder, err = files.OpenFolder(folder, folder); err != nil {
		t.Fatal(err)
	}
	defer r.folder.Close()
	r.watching = &Watching{Controller: func(_ int, env cc.Env, set cc.Settings) (cc.Controller, error) {
		c, err := r.CC.New(env, set)
		return looping{c}, err
	}}
	if err := r.openPlane(); err != nil {
		t.Fatal(err)
	}
	_, _ = r.run(ctx)
}
