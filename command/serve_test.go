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
