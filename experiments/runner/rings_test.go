package runner

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
)

// ringScenarios lists scenarios with rings and other dependent messages that end, or do not.
var ringScenarios = map[string]string{
	"divided, after other flows": `
topology: {rate: 100Gbps, delay: 1us, leafspine: {spines: 2, leaves: 4, hosts_per_leaf: 4}}
switch: {ecn: {kmin: 5KB, kmax: 50KB}}
workloads:
  - {tag: bg, poisson: {load: 30%, of: hosts, flows: 100, size: 20KB}}
  - tag: j
    job:
      iterations: 2
      steps:
        - compute: {time: 20us, jitter: 10us, slow: h3, factor: 1.5}
        - collective: {kind: allreduce, algorithm: ring, size: 100003B, chunks: 3}
        - collective: {kind: allgather, algorithm: ring, size: 30003B, ranks: [h0, h1, h9, h15], overlap: true}
        - collective: {kind: reducescatter, algorithm: ring, size: 30003B}
  - {tag: k, collective: {kind: allreduce, algorithm: ring, size: 200KB, placement: random, start: 30us}}
duration: 300us
sample: {interval: 7us}
drain: true
`,
	"star, cut off": `
topology: {rate: 100Gbps, delay: 1us, star: {hosts: 5}}
workloads: [{tag: a, collective: {kind: allreduce, algorithm: ring, size: 1MB}}]
duration: 50us
sample: {interval: 10us, flows: none}
`,
	"late ranks": `
topology: {rate: 100Gbps, delay: 1us, leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 2}}
workloads:
  - tag: a
    job:
      steps:
        - compute: {time: 1us, slow: h2, factor: 90}
        - collective: {kind: allgather, algorithm: ring, size: 40KB, chunks: 2}
duration: 60us
sample: {interval: 10us, flows: none}
`,
	"one uplink, which limits it": `
topology: {rate: 100Gbps, delay: 1us, leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 4}}
workloads: [{tag: a, collective: {kind: allreduce, algorithm: ring, size: 2MB, placement: across-racks}}]
duration: 1ms
drain: true
`,
	"go-back-N": `
topology: {rate: 100Gbps, delay: 1us, leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 2}}
host: {retransmit_timeout: 50us}
workloads: [{tag: a, collective: {kind: allreduce, algorithm: ring, size: 1MB}}]
faults: [{at: 20us, for: 30us, link: "h0:leaf0", loss: 10%}]
duration: 1ms
drain: true
`,
	"other collectives, after other flows": `
topology: {rate: 100Gbps, delay: 1us, leafspine: {spines: 2, leaves: 4, hosts_per_leaf: 4}}
switch: {ecn: {kmin: 5KB, kmax: 50KB}}
workloads:
  - {tag: bg, poisson: {load: 30%, of: hosts, flows: 100, size: 20KB}}
  - tag: j
    job:
      iterations: 2
      steps:
        - compute: {time: 20us, jitter: 10us, slow: h3, factor: 1.5}
        - collective: {kind: allreduce, algorithm: halving-doubling, size: 100003B, chunks: 2}
        - collective: {kind: allgather, algorithm: ring, size: 30003B, ranks: [h0, h1, h9, h15], overlap: true}
        - barrier: true
        - collective: {kind: alltoall, algorithm: ring, size: 30003B}
  - {tag: r, collective: {kind: allreduce, algorithm: ring, size: 50KB}}
  - {tag: k, collective: {kind: allreduce, algorithm: tree, size: 200KB, placement: random, start: 30us}}
duration: 300us
sample: {interval: 7us}
drain: true
`,
	"a schedule of GOAL": `
topology: {rate: 100Gbps, delay: 1us, leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 2}}
switch: {ecn: {kmin: 5KB, kmax: 50KB}}
workloads: [{tag: g, goal: {file: testdata/dissemination.goal}}]
duration: 100us
sample: {interval: 3us}
drain: true
`,
	"all-to-all, two planes, cut off": `
topology: {rate: 100Gbps, delay: 1us, planes: {planes: 2, spines: 2, leaves: 2, hosts_per_leaf: 4}}
workloads: [{tag: a, collective: {kind: alltoall, size: 400KB}}]
duration: 20us
sample: {interval: 5us}
`,
	"all-to-all, drops": `
topology: {rate: 100Gbps, delay: 1us, leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4}}
host: {recovery: selective, retransmit_timeout: 50us, entropy: random}
workloads: [{tag: a, collective: {kind: alltoall, algorithm: hierarchical, size: 300KB}}]
faults: [{at: 5us, for: 30us, link: "h0:leaf0", loss: 20%}]
duration: 100us
drain: true
`,
	"drops, two planes": `
topology: {rate: 100Gbps, delay: 1us, planes: {planes: 2, spines: 2, leaves: 2, hosts_per_leaf: 4}}
host: {recovery: selective, retransmit_timeout: 50us}
workloads: [{tag: a, collective: {kind: allreduce, algorithm: ring, size: 1MB}}]
faults: [{at: 20us, for: 30us, link: "h0:leaf0", loss: 20%}]
duration: 100us
drain: true
`,
}

// TestRings checks that a run that keeps no flow for each message has the results of one that does, with any number of
// processors.
func TestRings(t *testing.T) {
	for name, text := range ringScenarios {
		t.Run(name, func(t *testing.T) {
			s := parse(t, text)
			single, err := s.WithRings(math.MaxInt)
			if err != nil {
				t.Fatal(err)
			}
			rings, err := s.WithRings(1)
			if err != nil {
				t.Fatal(err)
			}
			if rings.Entries() == len(rings.Flows) || single.Entries() != len(single.Flows) {
				t.Fatalf("%d of %d flows have entries with rings, %d of %d without", rings.Entries(), len(rings.Flows),
					single.Entries(), len(single.Flows))
			}
			want := run(t, single, "dcqcn", Options{Plane: wasmplane.Open, Anywhere: true, Processors: 1})
			files, err := os.ReadDir(want.dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, processors := range []int{1, 2, 3, 8} {
				got := run(t, rings, "dcqcn", Options{Plane: wasmplane.Open, Anywhere: true, Processors: processors})
				for _, file := range files {
					compareFiles(t, filepath.Join(got.dir, file.Name()), filepath.Join(want.dir, file.Name()))
				}
			}
		})
	}
}

// compareFiles reports the first difference between two files.
func compareFiles(t *testing.T, got, want string) {
	t.Helper()
	a, err := os.ReadFile(got)
	if err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(want)
	if err != nil {
		t.Error(err)
	}
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			t.Errorf("%s: got %q, want %q", filepath.Base(got), a[max(0, i-100):min(len(a), i+100)],
				b[max(0, i-100):min(len(b), i+100)])
			return
		}
	}
}

// TestRingSlots checks that rings of 64 ranks and 24192 messages have slots for few of them at a time.
func TestRingSlots(t *testing.T) {
	s, err := parse(t, `
topology: {rate: 100Gbps, delay: 1us, leafspine: {spines: 2, leaves: 4, hosts_per_leaf: 16}}
workloads: [{tag: a, job: {iterations: 3, steps: [{collective: {kind: allreduce, algorithm: ring, size: 200KB}}]}}]
duration: 10ms
drain: true
sample: {interval: 10us}
`).WithRings(1)
	if err != nil {
		t.Fatal(err)
	}
	messages, slots := 0, 0
	sum, err := Watch(t.Context(), s, Options{Controller: "dcqcn", Seed: 1, Processors: 2}, Watching{
		Ended: func(e *engine.Engine) { messages, slots = e.AddedFlows(), e.MessageSlots() },
	})
	if err != nil || sum.Flows.Completed != 24192 || messages != 24192 {
		t.Fatalf("%d of %d messages: %v", sum.Flows.Completed, messages, err)
	}
	if slots == 0 || slots > 1024 {
		t.Errorf("%d slots for %d messages, want at most 1024", slots, messages)
	}
}
