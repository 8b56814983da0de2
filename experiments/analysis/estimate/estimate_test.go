package estimate

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
)

// TestHops compares the estimate with runs. In deadlock most frames stand still, and in tcd-multi flows share a link
// between switches: there the estimate is an upper bound only.
func TestHops(t *testing.T) {
	for name, most := range map[string]float64{
		"incast": 1.02, "line-rate": 1, "load-balancing": 1.02, "rails": 1, "qp-scaling": 1.02, "irn-fattree": 1.02,
		"allreduce-16": 1, "trim-incast": 1.02, "spray-failure": 1.02, "tcd-multi": 1.5, "deadlock": 4,
	} {
		s, err := scenario.Reading{}.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Of(s, s.Controllers[0])
		if err != nil {
			t.Fatal(err)
		}
		got, err := runner.Watch(t.Context(), s, runner.Options{Controller: s.Controllers[0], Seed: s.Seed},
			runner.Watching{})
		if err != nil {
			t.Fatal(err)
		}
		if ratio := float64(r.Hops) / float64(got.Speed.Hops); ratio < 0.94 || ratio > most {
			t.Errorf("%s: estimated %d hops, the run had %d: %.3f times, want up to %.2f", name, r.Hops, got.Speed.Hops,
				ratio, most)
		}
	}
}

// TestMemory compares the estimate with the peaks that were measured in whole runs.
func TestMemory(t *testing.T) {
	document, err := os.ReadFile("../../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	topologies := map[string]string{
		"1024 leaf-spine": "leafspine: {spines: 16, leaves: 32, hosts_per_leaf: 32}",
		"1024 fat-tree":   "fattree: {k: 16}",
		"4096 leaf-spine": "leafspine: {spines: 32, leaves: 128, hosts_per_leaf: 32}",
		"4096 fat-tree":   "fattree: {pods: 16, edges: 16, aggregations: 16, cores: 256, hosts_per_edge: 16}",
	}
	row := regexp.MustCompile(`(?m)^\| (\d+) \| (leaf-spine|fat-tree), permutation \|.*\| (\d+) MB \|`)
	found := 0
	for _, m := range row.FindAllStringSubmatch(string(document), -1) {
		topology, small := topologies[m[1]+" "+m[2]]
		if !small {
			continue
		}
		found++
		s, err := scenario.Reading{}.Parse("x.yaml", []byte(strings.Replace(sample, "fattree: {k: 4}", topology, 1)))
		if err != nil {
			t.Fatal(err)
		}
		measured, _ := strconv.ParseFloat(m[3], 64)
		if ratio := float64(Memory(s)) / measured / 1e6; ratio < 0.75 || ratio > 1.25 {
			t.Errorf("%s hosts, %s: estimated %d bytes, measured %s MB", m[1], m[2], Memory(s), m[3])
		}
	}
	if found != len(topologies) {
		t.Errorf("found %d of %d rows of docs/performance.md", found, len(topologies))
	}
}

// TestMessages compares the estimate with a run of a ring of 512 ranks, whose peak was 102 MB, and with one that sends a
// flow for each message, whose peak was 560 MB.
func TestMessages(t *testing.T) {
	s, err := scenario.Reading{}.Parse("x.yaml", []byte(`name: ring
topology: {rate: 100Gbps, delay: 1us, fattree: {pods: 8, edges: 8, aggregations: 8, cores: 64, hosts_per_edge: 8}}
workloads: [{tag: all, collective: {kind: allreduce, algorithm: ring, size: 1MB}}]
duration: 100ms
drain: true
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := Memory(s); got < 80e6 || got > 125e6 {
		t.Errorf("estimated %d bytes", got)
	}
	if s, err = s.WithRings(math.MaxInt); err != nil {
		t.Fatal(err)
	}
	if got := Memory(s); got < 450e6 || got > 700e6 {
		t.Errorf("with a flow for each message, estimated %d bytes", got)
	}
}

// TestRows compares the estimated rows of ports.csv with those of a run.
func TestRows(t *testing.T) {
	s, err := scenario.Reading{}.Load("dcon-burst")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := runner.Run(t.Context(), s, runner.Options{Controller: "dcqcn", Seed: s.Seed, Directory: dir}); err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(dir + "/ports.csv")
	if err != nil {
		t.Fatal(err)
	}
	if got := int64(strings.Count(string(table), "\n") - 1); got != rows(s) {
		t.Errorf("estimated %d rows, got %d", rows(s), got)
	}
}

// TestTime: time grows with hops, ports, flows and rows; a hop takes longer in a larger fabric.
func TestTime(t *testing.T) {
	base := Run{Hops: 1e6, ports: 100, flows: 100, rows: 1000}
	base.SetTime(200e-9)
	for name, change := range map[string]func(*Run){
		"hops": func(r *Run) { r.Hops *= 2 }, "ports": func(r *Run) { r.ports *= 2 },
		"flows": func(r *Run) { r.flows *= 2 }, "rows": func(r *Run) { r.rows *= 2 },
	} {
		r := base
		change(&r)
		r.SetTime(200e-9)
		if r.Seconds <= base.Seconds {
			t.Errorf("twice as many %s: %v s, before %v s", name, r.Seconds, base.Seconds)
		}
	}
	large := Run{Hops: 1e9, ports: 1e5}
	large.SetTime(200e-9)
	if want := 1e9*200e-9*(1+3*slower) + 1e5*portSeconds + startSeconds; large.Seconds < want*0.999 || large.Seconds > want*1.001 {
		t.Errorf("%v s, want %v s", large.Seconds, want)
	}
}

func TestHop(t *testing.T) {
	hop, err := Hop(t.Context())
	if err != nil || hop <= 0 {
		t.Errorf("%v s, %v", hop, err)
	}
}
