package runner

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
)

var (
	projected = flag.String("projection.scenario", "", "scenario of BenchmarkProjection, a built-in's name or a file")
	quick     = flag.Bool("projection.quick", false, "in its quick form")
	under     = flag.String("projection.cc", "dcqcn", "its congestion control")
)

// stopwatch replaces the pool of workers by one goroutine, which drives one partition after the other. From the time of
// each it computes how long several workers would have taken: each takes its own share and then partitions that nobody
// has started, and all wait for the last.
type stopwatch struct {
	workers int
	clocks  []time.Duration // of each worker's, in the present call
	next    []int           // of each share

	calls, partitions int
	work, critical    time.Duration
}

func (s *stopwatch) Size() int { return s.workers }

func (s *stopwatch) Useful(events, most int) int {
	if events-most < 32 {
		return 1
	}
	return min(s.workers, events/32)
}

func (s *stopwatch) PhaseDone(int64) {}

// Do drives all partitions once.
func (s *stopwatch) Do(workers int, shares [][]int32, drive func(worker int, partition int32)) {
	clear(s.clocks)
	clear(s.next)
	for {
		w := 0
		for i := range workers {
			if s.clocks[i] < s.clocks[w] {
				w = i
			}
		}
		from := -1
		for k := range shares {
			if at := (w + k) % len(shares); s.next[at] < len(shares[at]) {
				from = at
				break
			}
		}
		if from < 0 {
			break
		}
		partition := shares[from][s.next[from]]
		s.next[from]++
		started := time.Now()
		drive(w, partition)
		took := time.Since(started)
		s.clocks[w] += took
		s.work += took
		s.partitions++
	}
	s.critical += slices.Max(s.clocks[:workers])
	s.calls++
}

// BenchmarkProjection estimates the time of a run with more processors than the machine has: see docs/performance.md.
func BenchmarkProjection(b *testing.B) {
	if *projected == "" {
		b.Skip("no -projection.scenario")
	}
	s, err := scenario.Reading{Quick: *quick}.Load(*projected)
	if err != nil {
		b.Fatal(err)
	}
	for _, workers := range []int{2, 8, 16, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			for b.Loop() {
				dir := filepath.Join(b.TempDir(), "run")
				r, err := newRunner(s, Options{
					Controller: *under, Plane: wasmplane.Open, Seed: s.Seed, Directory: dir,
					Processors: workers,
				})
				if err != nil {
					b.Fatal(err)
				}
				if err := r.openPlane(); err != nil {
					b.Fatal(err)
				}
				watch := &stopwatch{workers: r.workers(), clocks: make([]time.Duration, workers), next: make([]int, workers)}
				r.workerPool = watch
				if r.folder, err = files.OpenFolder(dir, dir); err != nil {
					b.Fatal(err)
				}
				result, err := r.run(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				_, _ = r.folder.Close(), r.plane.Close()
				wall := time.Duration(result.Summary.Speed.WallSeconds * float64(time.Second))
				// What the end of a phase costs where each worker has a processor: 2 us.
				took := wall - watch.work + watch.critical + time.Duration(watch.calls)*2*time.Microsecond
				b.ReportMetric(float64(watch.work)/float64(wall), "shared-out")
				b.ReportMetric(float64(watch.work.Microseconds())/float64(watch.calls), "us/phase")
				b.ReportMetric(float64(watch.partitions)/float64(watch.calls), "partitions/phase")
				b.ReportMetric(float64(wall)/float64(took), "speedup")
			}
		})
	}
}
