package command

import "github.com/pausenet/pausenet/experiments/sweep/cluster/embedded"

// Scripts run the test binary, which always includes the server.
func init() { startServer = embedded.Start }
