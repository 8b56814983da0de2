//go:build linux

package wallclock

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// PassCost measures the engine's processor time per frame and link on this machine: the engine's and the plane's
// work, over about a thousand frames of as many hosts as the slow-down is chosen for. Call it before the engine
// starts; it restores the pipelines' registers.
func PassCost(c engine.Config) (time.Duration, error) {
	runtime.LockOSThread() // to measure its processor time: on a busy machine the wall-clock time would be longer
	defer runtime.UnlockOSThread()
	carry := kernelCost
	if _, ok := c.Plane.(*kernel.ProcessPlane); ok {
		carry = edgeCost
	}
	plane, err := carry(c)
	if err != nil {
		return 0, err
	}
	hop, err := hopCost(c)
	return plane + hop, err
}

// threadTime returns the processor time that the thread has used.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err) // every Linux has it
	}
	return time.Duration(t.Nano())
}

// sender describes a host that sends in the measurements, with its state.
type sender struct {
	from, to topologies.NodeID
	ports    paths.Ports
}

// senders returns the hosts that send at the load for which the slow-down is chosen, each to a host that is distant by
// number.
func senders(plan *topologies.Plan) (all []sender) {
	hosts := plan.Hosts
	for i := 0; i < len(hosts); i += int(1 / liveSenders) {
		from, to := hosts[i], hosts[(i+len(hosts)/2)%len(hosts)]
		all = append(all, sender{from, to, paths.Ports{Pair: plan.PairOf(from, to, 0), Source: wire.MinEntropyPort}})
	}
	return all
}

// kernelCost returns the time of a pass through the kernel, into the senders' switches, with data packets and ACKs in
// turn.
func kernelCost(c engine.Config) (time.Duration, error) {
	const passes, batch = 4000, 500
	plan, state := c.Plan, c.Plane.State()
	var headers []*wire.FlowHeader
	var from []*topologies.Port
	for _, s := range senders(plan) {
		out, last := &plan.Ports[plan.Nodes[s.from].Ports[s.ports.Pair.From]], plan.Nodes[s.to].Ports[s.ports.Pair.To]
		h, err := wire.NewFlowHeader(wire.FlowParams{
			Version: plan.IP,
			SrcMAC:  out.MAC, DstMAC: plan.Ports[out.Peer].MAC, Src: plan.Address(out.ID).As4(), Dst: plan.Address(last).As4(),
			SrcPort: wire.MinEntropyPort, DestQP: 1, MTU: plan.MTU, TOS: c.Hosts.DataTOS(),
		})
		if err != nil {
			return 0, err
		}
		headers, from = append(headers, h), append(from, out)
	}
	x, switches := state.Pass, slices.Clone(state.Switches)
	ports, extras := slices.Clone(state.Ports), slices.Clone(state.Extras)
	for i := range state.Switches {
		state.Switches[i].Cnm = 0 // flows are not to be counted
	}
	defer func() {
		copy(state.Ports, ports)
		copy(state.Extras, extras)
		copy(state.Switches, switches)
		*x = ebpf.Pass{Done: x.Done, Marked: x.Marked}
	}()
	best := time.Duration(1 << 62)
	n := plan.IP.DataLen(wire.OpWriteMiddle, plan.MTU)
	pool := frame.NewPool(n)
	data, ack := pool.Get(n), pool.Get(wire.AckLen+plan.IP.Extra())
	for range passes / batch {
		start := threadTime()
		for i := range batch {
			f, out := data, from[i/2%len(from)]
			if i%2 == 0 {
				wire.PutData(f.Data(), headers[i/2%len(from)], wire.OpWriteMiddle, 0, plan.MTU, false, false)
			} else {
				f = ack
				wire.PutAck(f.Data(), headers[i/2%len(from)], wire.SyndromeAck, 0, 0)
			}
			x.Now, x.InPort, x.OutPort, x.Trigger = 0, uint32(out.Peer), uint32(out.ID), ebpf.TriggerNone
			if err := c.Plane.Process(int(out.Peer), f); err != nil {
				return 0, err
			}
			if x.Verdict != ebpf.VerdictForward {
				return 0, fmt.Errorf("a frame into %s was not forwarded: verdict %d", plan.Ports[out.Peer].Name, x.Verdict)
			}
		}
		best = min(best, (threadTime()-start)/batch)
	}
	return best, nil
}

// hopCost returns the engine's time for a hop, with the pipelines in this process, driven like a live fabric's.
func hopCost(c engine.Config) (time.Duration, error) {
	const packets, batches = 2000, 4
	plan := c.Plan
	c.Observer = nil
	best := time.Duration(1 << 62)
	for range batches {
		plane, err := wasmplane.Open(plan, c.Features)
		if err != nil {
			return 0, err
		}
		c.Plane = plane
		e, err := engine.New(c)
		if err != nil {
			return 0, errors.Join(err, plane.Close())
		}
		all := senders(plan)
		for _, s := range all {
			line := float64(plan.Ports[plan.Nodes[s.from].Ports[s.ports.Pair.From]].Rate)
			e.AddFlow(engine.FlowConfig{
				Source: s.from, Destination: s.to, Size: int64((packets/len(all) + 1) * plan.MTU), Ports: s.ports,
				Controller: "none", NewController: func(int) (cc.Controller, error) { return cc.Constant(line), nil },
			})
		}
		e.Start()
		start := threadTime()
		for steps := 1; e.OpenFlows() > 0 && err == nil && e.Now() < vtime.Second; steps++ {
			err = e.Step(e.Next())
			if steps%(1+mostFollowing) == 0 {
				_ = time.Now()
			}
		}
		took := threadTime() - start
		if err = errors.Join(err, plane.Close()); err != nil {
			return 0, err
		}
		best = min(best, took/time.Duration(max(1, e.Hops)))
	}
	return best, nil
}

// edgeCost returns the time of sending a frame into a host, divided by the links of its path. The time of sending from
// a host belongs to its programs until the engine receives the frame.
func edgeCost(c engine.Config) (time.Duration, error) {
	const frames, batch = 2000, 500
	plan, p := c.Plan, c.Plane.(*kernel.ProcessPlane)
	all := senders(plan)
	best := time.Duration(1 << 62)
	blank := make([]byte, plan.InterfaceMTU+wire.EthernetLen) // of no protocol
	for range frames / batch {
		start := threadTime()
		for i := range batch {
			to := all[i%len(all)]
			if err := p.Inject(int(plan.Nodes[to.to].Ports[to.ports.Pair.To]), blank); err != nil {
				return 0, err
			}
		}
		best = min(best, (threadTime()-start)/batch)
	}
	links := len(paths.Forward(plan, all[0].from, all[0].to, all[0].ports))
	return best / time.Duration(links), nil
}
