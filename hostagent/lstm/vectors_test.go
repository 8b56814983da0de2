package lstm

import (
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
)

// TestVectors derives the expected values of this package's tests again. They are computed from the papers, simulators
// and standards that testdata/vectors.py names; the tests say "vectors" where they use them.
func TestVectors(t *testing.T) { testenv.Derived(t, "testdata/vectors.py", "testdata/vectors.txt") }
