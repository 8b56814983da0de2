package bench

import (
	"testing"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

// BenchmarkHop measures the workloads of pausenet bench on the wasm plane: the processor time of a packet-hop, without
// the set-up of the run.
func BenchmarkHop(b *testing.B) {
	for _, w := range append(append([]benchmark(nil), benchmarks...), scaling[:len(scaling)-len(large)]...) {
		b.Run(w.name, func(b *testing.B) {
			var sum cost
			for b.Loop() {
				c, err := w.run(b.Context(), plane.Wasm, 1)
				if err != nil {
					b.Fatal(err)
				}
				sum.cpu += c.cpu
				sum.hops += c.hops
			}
			b.ReportMetric(float64(sum.cpu.Nanoseconds())/float64(sum.hops), "cpu-ns/hop")
		})
	}
}

// BenchmarkRun measures whole runs with features that the workloads of BenchmarkHop lack: other controllers, telemetry,
// bursts, credits, files.
func BenchmarkRun(b *testing.B) {
	for _, w := range []struct{ scenario, controller string }{
		{"dcon-burst", "dcon"}, {"dcon-burst", "hpcc"}, {"dcon-burst", "swift"}, {"tcd-single", "dcqcn+tcd"},
	} {
		b.Run(w.scenario+"/"+w.controller, func(b *testing.B) {
			s, err := scenario.Load(w.scenario, nil)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := runner.Run(b.Context(), s, runner.Options{
					Controller: w.controller, Seed: s.Seed, Directory: b.TempDir(),
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
