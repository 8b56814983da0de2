//go:build linux

package kernel

import (
	"os"
	"strings"
	"testing"
)

func TestParseMark(t *testing.T) {
	prefix, err := ownMark()
	if err != nil {
		t.Fatal(err)
	}
	by, node, ok := parseMark(prefix + "leaf0")
	if !ok || node != "leaf0" || by.PID != os.Getpid() {
		t.Fatalf("%q is read as %+v, %q, %v", prefix+"leaf0", by, node, ok)
	}
	for _, alias := range []string{
		"", "pausenet", "uplink of rack 3", "pausenet 1 2 3", "pausenet 1 2 3 ", "pausenet 1 2 3 a b", "pausenet -1 2 3 a",
		"pausenet 0 2 3 a", "pausenet 1 x 3 a", "Pausenet 1 2 3 a", " pausenet 1 2 3 a", strings.Repeat("pausenet ", 9),
	} {
		if by, node, ok := parseMark(alias); ok {
			t.Errorf("the alias %q is taken for the mark of %+v for %q", alias, by, node)
		}
	}
}

// A pid that was used again is another process.
func TestProcessRuns(t *testing.T) {
	own, err := ThisProcess()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		process Process
		want    bool
	}{
		{"this process", own, true},
		{"an earlier process with this pid", Process{own.PID, own.Start - 1}, false},
		{"no process", Process{1 << 30, own.Start}, false},
	} {
		if got := c.process.Runs(); got != c.want {
			t.Errorf("%s: it runs: %v", c.name, got)
		}
		if got := c.process.Wait(0); got == c.want {
			t.Errorf("%s: it has ended: %v", c.name, got)
		}
	}
}
