//go:build linux

package live

import (
	"os/exec"

	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// Run runs a command on a node until it ends. It dies with this process.
func (f *Fabric) Run(node string, cmd *exec.Cmd) error {
	n, err := f.Node(node)
	if err != nil {
		return err
	}
	place, err := f.nodes.Place(n.ID)
	if err != nil {
		return err
	}
	return kernel.RunIn(place, cmd, nil)
}
