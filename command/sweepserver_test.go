package command

import "github.com/pausenet/pausenet/experiments/sweep/cluster/embedded"

// Scripts run the program of the tests, which has the server whatever it was built with.
func init() { startServer = embedded.Start }
