// Package bench measures this machine with pausenet: the cost of a packet-hop on both planes and on fabrics of any
// size, the cost of whole runs, and the time in which the program starts and fabrics come up. docs/performance.md shows
// its results.
package bench

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/machine"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

// Options selects the measurements.
type Options struct {
	// Rounds sets how often each workload is measured, 1 or more. Long workloads are measured at most three times.
	Rounds int
	// Processors limits the processors of a run of the wasm plane: it is measured with 1, 2, 4 and so on, and with this
	// number. Other measurements use 1, and whole runs use pausenet's default.
	Processors int
	// Program holds the path of pausenet for whole runs. Each run is a process of its own, so that its memory can be
	// measured.
	Program string
}

// longRounds limits the rounds of workloads that take seconds.
const longRounds = 3

// Run measures, and prints results as it proceeds. Figures are medians of the rounds. On a shared machine, trust
// processor time, and ratios, which are computed within a round. If ctx is cancelled, or something fails, Run returns
// the results so far.
func Run(ctx context.Context, w io.Writer, o Options) (*Result, error) {
	r := &Result{Machine: Machine{
		System: machine.Release(), Go: runtime.Version(), Processors: runtime.NumCPU(), Load: machine.Load(),
		Rounds: o.Rounds,
	}}
	fmt.Fprintf(w, "%s, %s, %d processors, load %.1f\n", r.Machine.System, r.Machine.Go, r.Machine.Processors,
		r.Machine.Load)
	for _, part := range []struct {
		table   string
		measure func(context.Context, *Result, Options) error
	}{
		// What runs in processes of its own comes first: a process begins with the memory of that which starts it, and
		// that counts.
		{TableStart, measureStart},
		{TableRuns, measureRuns},
		{TableHops, measureHops},
		{TableSizes, measureSizes},
		{TableProcessors, measureProcessors},
		{TableBringUp, measureBringUp},
	} {
		if err := part.measure(ctx, r, o); err != nil {
			return r, err
		}
		if text := r.Table(part.table); text != "" {
			fmt.Fprintf(w, "\n%s:\n%s", titles[part.table], text)
		}
	}
	return r, nil
}

func median(values []float64) float64 { return measure.QuantilesOf(values).P50 }

// measureHops measures both planes on the small workloads.
func measureHops(ctx context.Context, r *Result, o Options) error {
	for i := range benchmarks {
		h, err := benchmarks[i].measure(ctx, o.Rounds)
		if err != nil {
			return err
		}
		if h.Kernel, err = benchmarks[i].measureKernel(ctx, o.Rounds); err != nil {
			return err
		}
		r.Hops = append(r.Hops, h)
	}
	return nil
}

// measureSizes measures the wasm plane on fabrics of growing size.
func measureSizes(ctx context.Context, r *Result, o Options) error {
	for i := range scaling {
		h, err := scaling[i].measure(ctx, min(o.Rounds, longRounds))
		if err != nil {
			return err
		}
		r.Sizes = append(r.Sizes, h)
	}
	return nil
}

// measureProcessors measures runs with several processors, in turns: an incast, which is one partition, and fabrics of
// growing size.
func measureProcessors(ctx context.Context, r *Result, o Options) error {
	var counts []int
	for n := 1; n < o.Processors; n *= 2 {
		counts = append(counts, n)
	}
	counts = append(counts, o.Processors)
	for _, b := range []benchmark{benchmarks[0], scaling[1], scaling[2], large[0]} {
		hops := make([]Hop, len(counts))
		all := make([][]cost, len(counts))
		for range min(o.Rounds, longRounds) {
			for i, n := range counts {
				c, err := b.run(ctx, plane.Wasm, n)
				if err != nil {
					return err
				}
				all[i] = append(all[i], c)
			}
		}
		for i, n := range counts {
			hops[i] = b.costOf(all[i])
			hops[i].Processors = n
		}
		r.Processors = append(r.Processors, hops...)
	}
	return nil
}

// measure measures a workload on the wasm plane, on one processor.
func (b *benchmark) measure(ctx context.Context, rounds int) (Hop, error) {
	var costs []cost
	for range rounds {
		c, err := b.run(ctx, plane.Wasm, 1)
		if err != nil {
			return Hop{}, err
		}
		costs = append(costs, c)
	}
	return b.costOf(costs), nil
}

// costOf returns the medians of several runs.
func (b *benchmark) costOf(costs []cost) Hop {
	h := Hop{Workload: b.name, Processors: 1}
	var setUp, cpu, wall, allocated []float64
	for _, c := range costs {
		h.Hops = c.hops
		setUp = append(setUp, c.setUp.Seconds())
		cpu = append(cpu, float64(c.cpu.Nanoseconds())/float64(c.hops))
		wall = append(wall, float64(c.wall.Nanoseconds())/float64(c.hops))
		allocated = append(allocated, float64(c.mallocs)/float64(c.hops))
	}
	h.SetUpSeconds, h.Nanoseconds, h.WallNanoseconds, h.Allocations =
		median(setUp), median(cpu), median(wall), median(allocated)
	return h
}
