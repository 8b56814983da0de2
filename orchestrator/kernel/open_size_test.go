//go:build linux

package kernel

import (
	"errors"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/topologies/spec"
)

// TestTooLarge: a fabric that is too large for the kernel is refused before anything of it is built, and the message
// says what to do.
func TestTooLarge(t *testing.T) {
	plan, err := spec.Parse("t.yaml", []byte("leafspine: {spines: 8, leaves: 241, hosts_per_leaf: 17}"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenPlane(plane.Kernel, plan, FabricOptions{})
	var tooLarge *TooLargeError
	if !errors.As(err, &tooLarge) || !strings.Contains(err.Error(), "4097 hosts and 249 switches") ||
		!strings.Contains(err.Error(), "--plane wasm") {
		t.Errorf("%v", err)
	}
}
