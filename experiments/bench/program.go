package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/pausenet/pausenet/internal/machine"
)

// start lists short commands, which measure how long the program takes to start, and to read a scenario.
var start = []string{"--version", "list", "show dcon-burst"}

// measureStart measures them.
func measureStart(ctx context.Context, r *Result, o Options) error {
	for _, line := range start {
		p, err := o.process(ctx, "pausenet "+line, 2*o.Rounds+1, strings.Fields(line)...)
		if err != nil {
			return err
		}
		r.Start = append(r.Start, p)
	}
	return nil
}

// sized lists the fabrics of whole runs.
var sized = []struct {
	hosts              int
	leafSpine, fatTree string
}{{1024, leafSpine1024, fatTree1024}, {4096, leafSpine4096, fatTree4096}, {16384, leafSpine16384, fatTree16384}}

// measureRuns measures whole runs, with their files and report: a permutation, 100 KB a host, and incasts of 20 senders
// of 50 KB each, one begins each microsecond, until each host has sent once on average.
func measureRuns(ctx context.Context, r *Result, o Options) error {
	folder, err := os.MkdirTemp("", "pausenet-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for _, s := range sized {
		loads := []struct{ name, workload string }{
			{"permutation", "permutation: {size: 100KB}"},
			{"incast", fmt.Sprintf("incast: {degree: 20, size: 50KB, interval: 1us, events: %d}", s.hosts/20)},
		}
		for _, fabric := range []struct{ name, topology string }{{"leaf-spine", s.leafSpine}, {"fat-tree", s.fatTree}} {
			for _, load := range loads {
				file := filepath.Join(folder, "bench.yaml")
				text := fmt.Sprintf("name: bench\ntopology: %s\nworkloads: [{tag: all, %s}]\nduration: 10ms\ndrain: "+
					"true\nsample: {flows: none}\n",
					topologyOf(fabric.topology), load.workload)
				if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
					return err
				}
				p, err := o.process(ctx, fabric.name+", "+load.name, min(o.Rounds, longRounds),
					"run", file, "--out", filepath.Join(folder, "results"), "--force")
				if err != nil {
					return err
				}
				p.Hosts = s.hosts
				r.Runs = append(r.Runs, p)
			}
		}
	}
	return nil
}

// process runs the program several times.
func (o Options) process(ctx context.Context, name string, rounds int, arguments ...string) (Process, error) {
	p := Process{Name: name}
	var cpu, wall, peak []float64
	for range rounds {
		c := exec.CommandContext(ctx, o.Program, arguments...)
		began := time.Now()
		output, err := c.CombinedOutput()
		if ctx.Err() != nil {
			return p, ctx.Err()
		}
		if err != nil {
			return p, fmt.Errorf("%s: %w\n%s", c, err, output)
		}
		wall = append(wall, time.Since(began).Seconds())
		cpu = append(cpu, (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds())
		peak = append(peak, float64(machine.PeakResidentOf(c.ProcessState)))
	}
	p.Seconds, p.WallSeconds, p.Peak = median(cpu), median(wall), median(peak)
	return p, nil
}
