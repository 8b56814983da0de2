//go:build linux

package verbs

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestWithLibrary puts a folder before those that a program looks for libraries in, once.
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

// TestAbsent says of a program that needs the library that there is none, beside this test's, and of no other.
func TestAbsent(t *testing.T) {
	if Library() != "" {
		t.Fatalf("there is a library: %s", Library())
	}
	for name, told := range map[string]bool{"ibv_devices": true, "sh": false} {
		cmd := exec.Command(name)
		if cmd.Err != nil {
			t.Logf("%s: %v", name, cmd.Err)
			continue
		}
		var notes bytes.Buffer
		Prepare(cmd, &notes)
		if got := strings.Contains(notes.String(), "make verbs"); got != told {
			t.Errorf("%s: %q", name, notes.String())
		}
	}
}
