//go:build linux

package command

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/internal/testenv"
)

// TestMain makes pausenet a command of the scripts: this binary, run under that name.
func TestMain(m *testing.M) {
	testscript.Main(leakTest{m}, map[string]func(){"pausenet": Main})
}

// leakTest fails if goroutines outlive the tests. Processes do not outlive them.
type leakTest struct{ m *testing.M }

func (l leakTest) Run() int {
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
	testscript.Run(t, testscript.Params{
		Dir: "testdata", Cmds: scriptCommands, Setup: setupScript, RequireExplicitExec: true, RequireUniqueNames: true,
	})
}
