//go:build linux

package live

import (
	"os/exec"
	"time"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/orchestrator/verbs"
	"github.com/pausenet/pausenet/topologies"
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
	verbs.Prepare(cmd, cmd.Stderr)
	return kernel.RunIn(place, cmd, nil)
}

// serveVerbs gives programs on hosts RDMA devices.
func (f *Fabric) serveVerbs() error {
	oneWay := shortestRTT(f.Plan) / 2
	s, err := verbs.Serve(verbs.Config{
		Plan: f.Plan, Do: f.Do, Flow: f.pairFlow, Data: f.Made.Scenario.Host.DataPriority, Lossless: f.Made.Scenario.Switch.Lossless(), Namespace: f.plane.Fabric().Namespace,
		OneWay: func() time.Duration { return f.Wall(oneWay) },
	})
	f.verbs = s
	return err
}

// pairFlow is how a program's queue pair on one host sends to another: as a flow of the fabric's congestion control, in a priority.
func (f *Fabric) pairFlow(source, destination topologies.NodeID, pair topologies.Pair, salt uint64, priority uint8) (engine.FlowConfig, error) {
	c, err := f.Made.Flow(&scenario.Flow{Source: source, Destination: destination, Pair: pair}, "", salt)
	if err == nil && priority != f.Made.Scenario.Host.DataPriority {
		c.Hosts = f.Made.hostsIn(priority)
	}
	return c, err
}
