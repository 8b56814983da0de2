package suite

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/experiments/internal/loaded"
)

// What tests run.
var parse, mustLoad = loaded.Parse, loaded.Load

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
