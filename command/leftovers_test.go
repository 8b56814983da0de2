//go:build linux

package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/internal/testenv"
)

// testVariable marks all processes that these tests start, and the background processes that those leave. Its value
// tells which test started them.
const testVariable = "TEST_OF_PAUSENET"

// identity distinguishes a process from all others, also from later ones with its pid. It is empty if no process has
// this pid.
func identity(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// After the name, which may have anything in it, the third field is the first; the 22nd is when the process began.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fmt.Sprintf("%d-%s", pid, fields[19])
}

// startedBy returns the processes that have testVariable with a value that satisfies the predicate.
func startedBy(meant func(value string) bool) (pids []int) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		environ, rerr := os.ReadFile(folder + "/environ")
		if err != nil || rerr != nil || pid == os.Getpid() {
			continue
		}
		for _, v := range bytes.Split(environ, []byte{0}) {
			if value, found := strings.CutPrefix(string(v), testVariable+"="); found && meant(value) && identity(pid) != "" {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// endStarted ends them, in order if they can: a fabric that a failed test left in the background would be in the way of
// the next run.
func endStarted(meant func(value string) bool) {
	signal := syscall.SIGTERM
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		left := startedBy(meant)
		if len(left) == 0 {
			return
		}
		if time.Since(start) > 10*time.Second {
			signal = syscall.SIGKILL
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, signal) // or it has ended
		}
	}
}

// endLeftovers ends the processes left by test processes that ended by a timeout or a signal.
func endLeftovers() {
	endStarted(func(value string) bool {
		owner, _, _ := strings.Cut(value, " ")
		pid, _, _ := strings.Cut(owner, "-")
		n, err := strconv.Atoi(pid)
		return err == nil && identity(n) != owner
	})
}

// forgetFabric removes the files of a killed fabric.
func forgetFabric(name string) {
	for _, kind := range []string{".sock", ".json", ".log"} {
		_ = os.Remove(filepath.Join(live.Folder, name+kind))
	}
}

// failingScript implements testscript's T for a script that may fail without failing our test.
type failingScript struct {
	*testing.T
	failed *bool
}

var errFailed = errors.New("failed")

func (s failingScript) FailNow()          { *s.failed = true; panic(errFailed) }
func (s failingScript) Fatal(args ...any) { s.Log(args...); s.FailNow() }
func (s failingScript) Skip(args ...any)  { s.Log(args...); panic(errFailed) }
func (s failingScript) Log(args ...any)   { s.T.Log(args...) }
func (s failingScript) Verbose() bool     { return false }
func (s failingScript) Parallel()         {}
func (s failingScript) Run(_ string, f func(testscript.T)) {
	defer func() {
		if r := recover(); r != nil && r != any(errFailed) {
			panic(r)
		}
	}()
	f(s)
}

// TestFailedScriptLeavesNothing checks that a fabric that a script runs in the background ends with the script, and
// with it the programs on its nodes.
func TestFailedScriptLeavesNothing(t *testing.T) {
	testenv.NeedRoot(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "left.txtar")
	script := "exec pausenet up --name txtar-left --detach --slowdown 500\n" +
		"exec pausenet exec --fabric txtar-left h1 -- sh -c 'sleep 1000 >/dev/null 2>&1 &'\nexec false\n"
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	failed := false
	testscript.RunT(failingScript{t, &failed}, testscript.Params{
		Files: []string{file}, Cmds: scriptCommands, Setup: setupScript, RequireExplicitExec: true, RequireUniqueNames: true,
	})
	defer forgetFabric("txtar-left")
	if !failed {
		t.Error("the script has not failed")
	}
	if left := startedBy(func(value string) bool { return strings.HasSuffix(value, " script-left") }); len(left) > 0 {
		t.Errorf("the script left %v", left)
	}
	if c, err := live.Dial("txtar-left"); err == nil {
		c.Close()
		t.Error("its fabric is up")
	}
}
