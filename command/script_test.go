//go:build linux

package command

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/internal/testenv"
)

// timeoutVariable shortens live.SetTimeouts' times for a script that waits for both to expire.
const timeoutVariable = "TEST_OF_TIMEOUTS"

// TestMain makes pausenet a command of the scripts: this binary, run under that name.
func TestMain(m *testing.M) {
	testscript.Main(leakTest{m}, map[string]func(){"pausenet": func() {
		if os.Getenv(timeoutVariable) != "" {
			live.SetTimeouts(12*time.Second, 20*time.Second)
		}
		Main()
	}})
}

// leakTest fails if goroutines outlive the tests. Processes do not outlive them.
type leakTest struct{ m *testing.M }

func (l leakTest) Run() int {
	// Most tests wait for programs that they start.
	_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
	testenv.DefaultSignals()
	endLeftovers()
	own := identity(os.Getpid())
	_ = os.Setenv(testVariable, own)
	// The user's own configuration and history are none of the tests' business.
	folder, err := os.MkdirTemp("", "pausenet-test")
	if err != nil {
		println(err.Error())
		return 1
	}
	defer os.RemoveAll(folder)
	_ = os.Setenv("XDG_CONFIG_HOME", folder)
	_ = os.Setenv("XDG_STATE_HOME", folder)
	code := l.m.Run()
	endStarted(func(value string) bool { return strings.HasPrefix(value, own) })
	if err := goleak.Find(); err != nil && code == 0 {
		println(err.Error())
		return 1
	}
	return code
}

// TestScripts runs testdata/*.txtar: pausenet as its user sees it, with its possible failures. Besides testscript's own
// commands, the scripts use those of scriptCommands.
func TestScripts(t *testing.T) {
	testenv.NeedRoot(t)
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata", Cmds: scriptCommands, Setup: setupScript, RequireExplicitExec: true, RequireUniqueNames: true,
	})
}
