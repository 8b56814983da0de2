//go:build linux

package live

import (
	"os/exec"

	"github.com/pausenet/pausenet/orchestrator"
)

// Run runs a command on a node until it ends. It dies with this process.
func (f *Fabric) Run(node string, cmd *exec.Cmd) error {
	n, err := f.Node(node)
	if err != nil {
		return err
	}
	return orchestrator.RunIn(orchestrator.Place{
		Network: f.plane.Fabric().Namespace(n.ID), PIDs: f.programs.File(), Hosts: orchestrator.Hosts(f.Plan),
	}, cmd, nil)
}
