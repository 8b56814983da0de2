package command

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
)

// TestMemoryWarning checks that a run that fits into memory gets no warning, and that too many at a time get one.
func TestMemoryWarning(t *testing.T) {
	s, err := scenario.Reading{}.Load("incast")
	if err != nil {
		t.Fatal(err)
	}
	if texts := memoryWarning(s, 1); texts != nil {
		t.Errorf("one incast: %q", texts)
	}
	texts := memoryWarning(s, 1<<24)
	if len(texts) != 1 || !strings.HasPrefix(texts[0], "16777216 runs at a time (--jobs) need about 7") ||
		!strings.Contains(texts[0], " available: ") {
		t.Errorf("16777216 incasts: %q", texts)
	}
	// Other processes take and free memory at the same time.
	if n := runsInMemory(s); n < 1 || memoryWarning(s, max(1, n/8)) != nil || memoryWarning(s, 8*n) == nil {
		t.Errorf("%d incasts fit into memory", n)
	}
}
