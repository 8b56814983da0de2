package command

import (
	"io"
	"runtime"
	"strings"
	"testing"
)

// A process that serves must not grow with each request: an optimizer sends it many thousands.
func TestServeKeepsNothing(t *testing.T) {
	heap := func() uint64 {
		if err := serve(strings.NewReader(strings.Repeat("{\"command\":[\"version\"]}\n", 50)), io.Discard); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	// The commands' trees alone are 48 KB a request.
	if after := heap(); after > before+50*16<<10 {
		t.Errorf("the heap grew from %d to %d bytes over 50 requests", before, after)
	}
}

// TestServeRefusesTypos checks that a line with an unknown key, or without a command, runs nothing.
func TestServeRefusesTypos(t *testing.T) {
	for line, want := range map[string]string{
		`{}`:                   "command is missing",
		"null":                 "command is missing",
		`{"cmd": ["version"]}`: `unknown field "cmd"`,
		`{"command": ["version"], "dir": "/tmp"}`: `unknown field "dir"`,
		`{"command": ["version"]} {}`:             "after top-level value",
	} {
		var out strings.Builder
		if err := serve(strings.NewReader(line+"\n"), &out); err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%s: %v, output %q", line, err, out.String())
		}
	}
}
