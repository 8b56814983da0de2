//go:build natsserver

package command

import "github.com/pausenet/pausenet/experiments/sweep/cluster/embedded"

func init() { startServer = embedded.Start }
