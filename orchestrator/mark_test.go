//go:build linux

package orchestrator

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
	if !ok || node != "leaf0" || by.pid != os.Getpid() {
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

// A pid that was used again is not the owner.
func TestOwnerAlive(t *testing.T) {
	start, _, err := processStart(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		by   owner
		want bool
	}{
		{"this process", owner{pid: os.Getpid(), start: start}, true},
		{"an earlier process with this pid", owner{pid: os.Getpid(), start: start - 1}, false},
		{"no process", owner{pid: 1 << 30, start: start}, false},
	} {
		if got := c.by.alive(); got != c.want {
			t.Errorf("%s: alive is %v", c.name, got)
		}
	}
}
