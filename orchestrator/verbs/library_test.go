//go:build linux

package verbs

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// TestWithLibrary: a folder comes before a program's other library folders, once.
func TestWithLibrary(t *testing.T) {
	for _, k := range []struct{ before, after string }{
		{"", "A=1 LD_LIBRARY_PATH=/v"},
		{" LD_LIBRARY_PATH=", "A=1 LD_LIBRARY_PATH=/v"},
		{" LD_LIBRARY_PATH=/x:/y", "A=1 LD_LIBRARY_PATH=/v:/x:/y"},
		{" LD_LIBRARY_PATH=/v", "A=1 LD_LIBRARY_PATH=/v"},
		{" LD_LIBRARY_PATH=/v:/x", "A=1 LD_LIBRARY_PATH=/v:/x"},
	} {
		if got := WithLibrary(strings.Fields("A=1"+k.before), "/v"); !slices.Equal(got, strings.Fields(k.after)) {
			t.Errorf("%q: %q", k.before, got)
		}
	}
}

// TestPrecede: a folder comes before those of an image and the topology, and is not added if neither names one.
func TestPrecede(t *testing.T) {
	environment := []string{"LD_LIBRARY_PATH=/image", "A=LD_LIBRARY_PATH=/x", "LD_LIBRARY_PATH=/own:/v"}
	if precede(environment, "/v"); !slices.Equal(environment,
		[]string{"LD_LIBRARY_PATH=/v:/image", "A=LD_LIBRARY_PATH=/x", "LD_LIBRARY_PATH=/v:/own"}) {
		t.Errorf("%q", environment)
	}
	none := []string{"A=1"}
	if precede(none, "/v"); !slices.Equal(none, []string{"A=1"}) {
		t.Errorf("%q", none)
	}
}

// TestAbsent: a program that needs the library gets a note that it is missing beside this test; other programs do not.
func TestAbsent(t *testing.T) {
	if Library() != "" {
		t.Fatalf("there is a library: %s", Library())
	}
	for name, noted := range map[string]bool{"ibv_devices": true, "sh": false} {
		cmd := exec.Command(name)
		if cmd.Err != nil {
			t.Logf("%s: %v", name, cmd.Err)
			continue
		}
		var notes bytes.Buffer
		Prepare(cmd, &kernel.Location{}, &notes)
		if got := strings.Contains(notes.String(), "make verbs"); got != noted {
			t.Errorf("%s: %q", name, notes.String())
		}
	}
}
