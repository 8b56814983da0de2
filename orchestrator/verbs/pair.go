//go:build linux

package verbs

import (
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/engine"
)

func (c *connection) pairControl(_ *engine.Engine, _ uint64, _ *request) reply {
	return failed(unix.EOPNOTSUPP)
}
func (c *connection) destroyPair(any) unix.Errno { return unix.EINVAL }
func (c *connection) freePairs()                 {}
