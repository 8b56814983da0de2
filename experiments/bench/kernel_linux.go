package bench

import (
	"context"
	"os"
	"time"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/machine"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

// barePasses counts the bare passes measured before and after each run.
const barePasses = 100_000

// measureKernel measures the workload on the kernel plane, in turn with bare passes; nil without root.
func (b *benchmark) measureKernel(ctx context.Context, rounds int) (*Kernel, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	plan, err := spec.Parse(b.name, []byte(b.topology))
	if err != nil {
		return nil, err
	}
	frames, err := bareFrames(plan)
	if err != nil {
		return nil, err
	}
	bare, err := kernel.NewBarePass(plan, frames)
	if err != nil {
		return nil, err
	}
	defer bare.Close()
	var hop, base, ratios []float64
	for range rounds {
		before, err := measureBare(bare)
		if err != nil {
			return nil, err
		}
		c, err := b.run(ctx, plane.Kernel, 1)
		if err != nil {
			return nil, err
		}
		after, err := measureBare(bare)
		if err != nil {
			return nil, err
		}
		pass, perHop := (before+after)/2, float64(c.cpu.Nanoseconds())/float64(c.hops)
		hop, base, ratios = append(hop, perHop), append(base, pass), append(ratios, perHop/pass)
	}
	q := measure.QuantilesOf(ratios)
	return &Kernel{Nanoseconds: median(hop), Bare: median(base), Ratio: q.P50, Least: ratios[0], Most: q.Max}, nil
}

// measureBare returns the processor time of a bare pass, in ns. Wall-clock time would not do: on a busy machine it
// grows more for code that uses the cache more.
func measureBare(bare *kernel.BarePass) (float64, error) {
	began := machine.ProcessorTime()
	err := bare.Send(barePasses)
	return float64(machine.ProcessorTime()-began) / barePasses, err
}

// bareFrames returns a full data packet and an ACK. Their address belongs to nobody, so the kernel's own stack drops
// them at once, as it does with the fabric's frames.
func bareFrames(plan *topologies.Plan) (frames [2][]byte, err error) {
	from, to := plan.Nodes[plan.Hosts[0]].Addr.As4(), plan.Nodes[plan.Hosts[1]].Addr.As4()
	h, err := wire.NewFlowHeader(wire.FlowParams{
		Version: plan.IP,
		SrcMAC:  wire.MAC{2, 0xee, 1}, DstMAC: wire.MAC{2, 0xee, 2}, Src: from, Dst: to, SrcPort: wire.MinEntropyPort,
		DestQP: 1,
		TOS:    wire.DataTOS(3, wire.ECT0), MTU: plan.MTU,
	})
	if err != nil {
		return frames, err
	}
	frames[0], frames[1] = make([]byte, measure.FullFrame(plan)), make([]byte, measure.ACKFrame(plan))
	wire.PutData(frames[0], h, wire.OpWriteMiddle, 0, plan.MTU, true, true)
	wire.PutAck(frames[1], h, wire.SyndromeAck, 0, 0)
	return frames, nil
}

// measureBringUp measures how fabrics come up and go, as root.
func measureBringUp(ctx context.Context, r *Result, o Options) error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, fabric := range []string{
		"leafspine: {spines: 2, leaves: 3, hosts_per_leaf: 6}",
		"leafspine: {spines: 8, leaves: 10, hosts_per_leaf: 24}",
		leafSpine1024,
	} {
		plan, err := spec.Parse("bench", []byte(topologyOf(fabric)))
		if err != nil {
			return err
		}
		var cpu, up, down []float64
		for range min(o.Rounds, longRounds) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			began, used := time.Now(), machine.ProcessorTime()
			opened, err := kernel.OpenPlane(plane.Kernel, plan, kernel.FabricOptions{})
			if err != nil {
				return err
			}
			up = append(up, time.Since(began).Seconds())
			cpu = append(cpu, float64(machine.ProcessorTime()-used)/1e9)
			began = time.Now()
			if err := opened.Close(); err != nil {
				return err
			}
			down = append(down, time.Since(began).Seconds())
		}
		r.BringUp = append(r.BringUp, BringUp{
			Hosts: len(plan.Hosts), Switches: len(plan.Switch), Ports: len(plan.Ports),
			Seconds: median(cpu), WallSeconds: median(up), DownSeconds: median(down),
		})
	}
	return nil
}
