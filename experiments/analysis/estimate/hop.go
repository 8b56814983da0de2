package estimate

import (
	"context"
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/machine"
)

// sample describes a run of 136 000 hops.
const sample = `name: sample
topology: {rate: 100Gbps, delay: 1us, fattree: {k: 4}}
workloads: [{tag: all, permutation: {size: 1MB}}]
controllers: [dcqcn]
sample: {interval: 100us, flows: none}
duration: 1ms
drain: true
`

// Hop measures how long a hop takes on this machine, by a run in a fabric of 16 hosts: processor time in seconds. It
// takes some 50 ms.
func Hop(ctx context.Context) (float64, error) {
	s, err := scenario.Reading{}.Parse("sample.yaml", []byte(sample))
	if err != nil {
		return 0, err
	}
	begin := machine.ProcessorTime()
	summary, err := runner.Watch(ctx, s, runner.Options{Controller: "dcqcn", Seed: 1, Processors: 1}, runner.Watching{})
	took := machine.ProcessorTime() - begin
	if err != nil {
		return 0, fmt.Errorf("cannot measure a hop's time: %w", err)
	}
	if summary.Speed.Hops == 0 {
		return 0, errors.New("cannot measure a hop's time: the run had none")
	}
	return float64(took) / 1e9 / float64(summary.Speed.Hops), nil
}
