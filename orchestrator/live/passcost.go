//go:build linux

package live

import (
	"fmt"
	"time"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// PassCost measures what carrying a full data frame through a switch's pipelines takes on this machine, over some thousand
// passes. It is for a plane whose engine has not started; the pipelines' registers are as they were afterwards.
func PassCost(c engine.Config) (time.Duration, error) {
	const passes, batch = 4000, 500
	plan, state := c.Plan, c.Plane.State()
	source, destination := &plan.Nodes[plan.Hosts[0]], &plan.Nodes[plan.Hosts[len(plan.Hosts)-1]]
	pair := plan.PairOf(source.ID, destination.ID, 0)
	out, last := &plan.Ports[source.Ports[pair.From]], destination.Ports[pair.To]
	in := &plan.Ports[out.Peer]
	header, err := wire.NewFlowHeader(wire.FlowParams{
		SrcMAC: out.MAC, DstMAC: plan.Ports[out.Peer].MAC, Src: plan.Address(out.ID).As4(), Dst: plan.Address(last).As4(),
		SrcPort: wire.MinEntropyPort, DestQP: 1, MTU: plan.MTU, TOS: c.Hosts.DataTOS(),
	})
	if err != nil {
		return 0, err
	}
	n := wire.DataLen(wire.OpWriteMiddle, plan.MTU)
	index := plan.Nodes[in.Node].Index
	port, sw := state.Ports[in.ID], state.Switches[index]
	state.Switches[index].Cnm = 0 // flows are not to be counted
	x := state.Pass
	defer func() {
		state.Ports[in.ID], state.Switches[index] = port, sw
		*x = ebpf.Pass{Done: x.Done, Marked: x.Marked}
	}()
	best := time.Duration(1 << 62)
	f := frame.NewPool(n).Get(n)
	for range passes / batch {
		start := time.Now()
		for range batch {
			wire.PutData(f.Data(), header, wire.OpWriteMiddle, 0, plan.MTU, false, false)
			x.Now, x.InPort, x.OutPort, x.Trigger = 0, uint32(in.ID), uint32(out.ID), ebpf.TriggerNone
			if err := c.Plane.Process(int(in.ID), f); err != nil {
				return 0, err
			}
			if x.Verdict != ebpf.VerdictForward {
				return 0, fmt.Errorf("a frame into %s did not come out: verdict %d", plan.Ports[in.ID].Name, x.Verdict)
			}
		}
		best = min(best, time.Since(start)/batch)
	}
	return best, nil
}
