package command

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
)

// TestEnvProcessors checks that env uses no more processors than there are: the Go runtime stalls with 100 000.
func TestEnvProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var out bytes.Buffer
	f := envFlags{interval: "10us", count: 1, processors: 4 * runtime.NumCPU()}
	if err := f.run("incast", strings.NewReader(""), &out); err != nil {
		t.Fatal(err)
	}
	if n := runtime.GOMAXPROCS(0); n > runtime.NumCPU() {
		t.Errorf("%d processors, and there are %d", n, runtime.NumCPU())
	}
}
