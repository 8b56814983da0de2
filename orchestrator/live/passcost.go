//go:build linux

package live

import (
	"errors"
	"fmt"
	"time"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/vtime"
)

// PassCost measures what carrying a full data frame through a switch's pipelines takes on this machine, over some thousand
// passes. It is for a plane whose engine has not started; the pipelines' registers are as they were afterwards. On a plane in this process, where
// the pipelines are the least of it, it is what an engine takes for a frame on a link, and a share of the frame's way out of its host and into another.
func PassCost(c engine.Config) (time.Duration, error) {
	if p, ok := c.Plane.(*kernel.ProcessPlane); ok {
		return processCost(c, p)
	}
	const passes, batch = 4000, 500
	plan, state := c.Plan, c.Plane.State()
	source, destination := &plan.Nodes[plan.Hosts[0]], &plan.Nodes[plan.Hosts[len(plan.Hosts)-1]]
	pair := plan.PairOf(source.ID, destination.ID, 0)
	out, last := &plan.Ports[source.Ports[pair.From]], destination.Ports[pair.To]
	in := &plan.Ports[out.Peer]
	header, err := wire.NewFlowHeader(wire.FlowParams{
		Version: plan.IP,
		SrcMAC:  out.MAC, DstMAC: plan.Ports[out.Peer].MAC, Src: plan.Address(out.ID).As4(), Dst: plan.Address(last).As4(),
		SrcPort: wire.MinEntropyPort, DestQP: 1, MTU: plan.MTU, TOS: c.Hosts.DataTOS(),
	})
	if err != nil {
		return 0, err
	}
	n := plan.IP.DataLen(wire.OpWriteMiddle, plan.MTU)
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

// payloadPlane is a plane in this process whose frames are whole.
type payloadPlane struct{ *engine.WasmPlane }

// CarriesPayload is true.
func (payloadPlane) CarriesPayload() bool { return true }

// processCost is PassCost of a plane in this process: of the hops of a flow on an engine of its own, and of frames of no protocol into a host.
func processCost(c engine.Config, p *kernel.ProcessPlane) (time.Duration, error) {
	const packets, batch, batches = 1000, 500, 4
	plan := c.Plan
	from, to := plan.Hosts[0], plan.Hosts[len(plan.Hosts)-1]
	pair := plan.PairOf(from, to, 0)
	c.Features.Live, c.Observer = false, nil
	hop, edge := time.Duration(1<<62), time.Duration(1<<62)
	blank := make([]byte, engine.InterfaceMTU(plan)+wire.EthernetLen)
	for range batches {
		plane, err := engine.OpenWasmPlane(plan, c.Features)
		if err != nil {
			return 0, err
		}
		c.Plane = payloadPlane{plane}
		e, err := engine.New(c)
		if err != nil {
			return 0, errors.Join(err, plane.Close())
		}
		line := float64(plan.Ports[plan.Nodes[from].Ports[pair.From]].Rate)
		e.AddFlow(engine.FlowConfig{
			Source: from, Destination: to, Size: packets * int64(plan.MTU), Ports: engine.Ports{Pair: pair, Source: wire.MinEntropyPort},
			Controller: "none", NewController: func(int) (cc.Controller, error) { return cc.Constant(line), nil },
		})
		start := time.Now()
		err = e.Run(vtime.Second, vtime.Second, nil)
		took := time.Since(start)
		if err = errors.Join(err, plane.Close()); err != nil {
			return 0, err
		}
		hop = min(hop, took/time.Duration(max(1, e.Hops)))
		start = time.Now()
		for range batch {
			if err := p.Inject(int(plan.Nodes[to].Ports[pair.To]), blank); err != nil {
				return 0, err
			}
		}
		edge = min(edge, time.Since(start)/batch)
	}
	links := len(engine.Path(plan, from, to, engine.Ports{Pair: pair, Source: wire.MinEntropyPort}))
	return hop + 2*edge/time.Duration(links), nil
}
