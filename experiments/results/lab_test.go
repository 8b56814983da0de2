package results

import (
	"github.com/pausenet/pausenet/experiments/internal/loaded"
)

// What tests run.
var parse = loaded.Parse
