package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
)

// barePasses is how many bare passes are timed before and after each run.
const barePasses = 100_000

// benchKernel measures the kernel plane, in turn with bare passes.
func benchKernel(ctx context.Context, w io.Writer, rounds int) error {
	if os.Geteuid() != 0 {
		fmt.Fprintln(w, "\nkernel plane: not measured, it needs root")
		return nil
	}
	fmt.Fprintln(w, "\nkernel plane: a hop's whole cost against a bare pass through the kernel, in turn")
	for i := range benchmarks {
		if err := benchmarks[i].runKernel(ctx, w, rounds); err != nil {
			return err
		}
	}
	return benchBringUp(w)
}

func (b *benchmark) runKernel(ctx context.Context, w io.Writer, rounds int) error {
	plan, err := topologies.Parse(b.name, []byte(b.topology))
	if err != nil {
		return err
	}
	frames, err := bareFrames(plan)
	if err != nil {
		return err
	}
	bare, err := kernel.NewBarePass(plan, frames)
	if err != nil {
		return err
	}
	defer bare.Close()
	var ratios, hop, base []float64
	for range rounds {
		before, err := bare.Measure(barePasses)
		if err != nil {
			return err
		}
		c, err := b.run(ctx, engine.PlaneKernel)
		if err != nil {
			return err
		}
		after, err := bare.Measure(barePasses)
		if err != nil {
			return err
		}
		pass := float64((before + after).Nanoseconds()) / (2 * barePasses)
		perHop := float64(c.wall.Nanoseconds()) / float64(c.hops)
		hop, base, ratios = append(hop, perHop), append(base, pass), append(ratios, perHop/pass)
	}
	h, ratio := measure.QuantilesOf(hop), measure.QuantilesOf(ratios)
	fmt.Fprintf(w, "  %-40s %6.0f packet-hops a second (%.0f ns), bare pass %.0f ns, ratio %.2f (%.2f to %.2f)\n",
		b.name, 1e9/h.P50, h.P50, measure.QuantilesOf(base).P50, ratio.P50, ratios[0], ratio.Max)
	return nil
}

// bareFrames are a full data packet and an ACK. They are addressed to nobody, so that the kernel's own stack drops them
// at once, as it does with the fabric's.
func bareFrames(plan *topologies.Plan) (frames [2][]byte, err error) {
	from, to := plan.Nodes[plan.Hosts[0]].Addr.As4(), plan.Nodes[plan.Hosts[1]].Addr.As4()
	h, err := wire.NewFlowHeader(wire.FlowParams{
		SrcMAC: wire.MAC{2, 0xee, 1}, DstMAC: wire.MAC{2, 0xee, 2}, Src: from, Dst: to, SrcPort: wire.MinEntropyPort, DestQP: 1,
		TOS: wire.DataTOS(3, wire.ECT0), MTU: plan.MTU,
	})
	if err != nil {
		return frames, err
	}
	frames[0], frames[1] = make([]byte, measure.FullFrame(plan)), make([]byte, measure.ACKFrame)
	wire.PutData(frames[0], h, wire.OpWriteMiddle, 0, plan.MTU, true, true)
	wire.PutAck(frames[1], h, wire.SyndromeAck, 0, 0)
	return frames, nil
}

func benchBringUp(w io.Writer) error {
	fmt.Fprintln(w, "\nkernel plane, bring-up: namespaces, veth pairs, addresses, programs attached (medians of 3)")
	for _, spec := range []string{
		"{name: h18, leafspine: {spines: 2, leaves: 3, hosts_per_leaf: 6}}",
		"{name: h240, leafspine: {spines: 8, leaves: 10, hosts_per_leaf: 24}}",
		"{name: h1024, leafspine: {spines: 16, leaves: 32, hosts_per_leaf: 32}}",
	} {
		plan, err := topologies.Parse("bench", []byte(spec))
		if err != nil {
			return err
		}
		var up, down []float64
		for range 3 {
			start := time.Now()
			plane, err := kernel.OpenPlane(engine.PlaneKernel, plan, kernel.FabricOptions{})
			if err != nil {
				return err
			}
			up = append(up, time.Since(start).Seconds())
			start = time.Now()
			if err := plane.Close(); err != nil {
				return err
			}
			down = append(down, time.Since(start).Seconds())
		}
		fmt.Fprintf(w, "  %4d hosts, %3d switches, %4d ports: up in %.2f s, down in %.2f s\n",
			len(plan.Hosts), len(plan.Switch), len(plan.Ports), measure.QuantilesOf(up).P50, measure.QuantilesOf(down).P50)
	}
	return nil
}
