package planefuzz_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pausenet/pausenet/internal/testenv"
)

var (
	fuzzCases    = flag.Int("planefuzz.cases", 0, "cases of TestFuzz; 0: none, or as many as -planefuzz.duration allows")
	fuzzDuration = flag.Duration("planefuzz.duration", 0, "how long TestFuzz runs; 0: until all cases have run")
	fuzzSeed     = flag.Uint64("planefuzz.seed", 1, "seed of TestFuzz's cases")
	fuzzWorkers  = flag.Int("planefuzz.workers", 2, "cases that TestFuzz runs at once")
	fuzzOut      = flag.String("planefuzz.out", "", "folder for failing cases; empty: a temporary one")
	fuzzFailures = flag.Int("planefuzz.failures", 10, "failures after which TestFuzz gives up")
)

// perFabric sets how many cases share a topology, and so a fabric in the kernel.
const perFabric = 10

// shrinking limits the time for shrinking a failure.
const shrinking = time.Minute

// fuzzer holds TestFuzz's state, shared by its workers.
type fuzzer struct {
	t     *testing.T
	out   string
	start time.Time

	sync.Mutex
	next     int // group of cases with one fabric
	done     int
	skipped  int
	failures int
	hops     int64
	kernel   time.Duration
	wasm     time.Duration
	opened   int
	opening  time.Duration
	covered  coverage
}

// TestFuzz runs many cases; case n is a function of -planefuzz.seed and n alone.
func TestFuzz(t *testing.T) {
	if *fuzzCases == 0 && *fuzzDuration == 0 {
		t.Skip("no -planefuzz.cases and no -planefuzz.duration")
	}
	testenv.NeedRoot(t)
	f := &fuzzer{t: t, out: *fuzzOut, start: time.Now(), covered: coverage{}}
	if f.out == "" {
		f.out = filepath.Join(os.TempDir(), "pausenet-planefuzz")
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var ticking, working sync.WaitGroup
	ticking.Go(func() { f.showProgress(stop) })
	for range *fuzzWorkers {
		working.Go(f.work)
	}
	working.Wait()
	close(stop)
	ticking.Wait()
	f.summarise()
}

func (f *fuzzer) showProgress(stop chan struct{}) {
	ticker := time.NewTicker(5 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			f.Lock()
			fmt.Printf("%v: %d cases, %d failures, %d hops\n", time.Since(f.start).Round(time.Second), f.done, f.failures,
				f.hops)
			f.Unlock()
		}
	}
}

// work runs groups of cases until there are no more.
func (f *fuzzer) work() {
	// Two fabrics of a topology: with burst detection and without.
	pool := &pool{limit: 2}
	defer func() {
		closePool(f.t, pool)
		f.Lock()
		defer f.Unlock()
		f.opened += pool.opened
		f.opening += pool.opening
	}()
	for {
		group, more := f.take()
		if !more {
			return
		}
		fabric := drawFabric(fromSeed(*fuzzSeed, uint64(group)<<32))
		for i := range perFabric {
			n := group*perFabric + i
			if f.over(n) {
				return
			}
			c := drawCase(fromSeed(*fuzzSeed, uint64(group)<<32+uint64(i)+1), fabric)
			if failed := f.one(n, c, pool); failed {
				break // the others of the group fail for the same reason, likely
			}
		}
	}
}

func (f *fuzzer) take() (group int, more bool) {
	f.Lock()
	defer f.Unlock()
	group = f.next
	f.next++
	return group, !f.overLocked(group * perFabric)
}

// over reports whether to stop before case n.
func (f *fuzzer) over(n int) bool {
	f.Lock()
	defer f.Unlock()
	return f.overLocked(n)
}

func (f *fuzzer) overLocked(n int) bool {
	return *fuzzCases > 0 && n >= *fuzzCases || *fuzzDuration > 0 && time.Since(f.start) > *fuzzDuration ||
		f.failures >= *fuzzFailures
}

func (f *fuzzer) one(n int, c *testCase, pool *pool) (failed bool) {
	c = c.clone()
	r, err := compareCase(c, pool)
	if errors.Is(err, errEmpty) {
		f.Lock()
		defer f.Unlock()
		f.done++
		f.skipped++
		return false
	}
	if err != nil {
		f.t.Errorf("case %d: %v", n, err)
		f.Lock()
		f.failures++
		f.Unlock()
		return true
	}
	f.Lock()
	f.done++
	f.hops += r.hops
	f.kernel += r.kernel
	f.wasm += r.wasm
	f.covered.add(append(r.features, "shape "+c.Fabric.Shape))
	if !r.failed() {
		f.Unlock()
		return false
	}
	f.failures++
	f.Unlock()
	f.failed(n, c, r, pool)
	return true
}

// failed makes a failure smaller and writes it down, as it was and as it has become.
func (f *fuzzer) failed(n int, c *testCase, r *result, pool *pool) {
	write := func(name string, c *testCase, r *result) string {
		path := filepath.Join(f.out, name)
		if err := os.WriteFile(path, []byte(report(c, r)), 0o644); err != nil {
			f.t.Error(err)
		}
		return path
	}
	write(fmt.Sprintf("seed%d-case%d-original.yaml", *fuzzSeed, n), c, r)
	last := r
	small := minimise(c, shrinking, func(c *testCase) bool {
		r, err := compareFitted(c, pool)
		if err == nil && r.failed() {
			last = r
			return true
		}
		return false
	})
	path := write(fmt.Sprintf("seed%d-case%d.yaml", *fuzzSeed, n), small, last)
	problems := append(last.differences, last.broken...)
	f.t.Errorf("case %d, %s:\n  %s", n, path, strings.Join(problems[:min(len(problems), 10)], "\n  "))
}

func (f *fuzzer) summarise() {
	took := time.Since(f.start)
	ran := max(f.done-f.skipped, 1)
	fmt.Printf("%d cases from seed %d in %v (%d left out: no flow starts), %d failures\n",
		f.done, *fuzzSeed, took.Round(time.Second), f.skipped, f.failures)
	fmt.Printf("%d frame-hops, %d a case; %v in the kernel and %v on the wasm plane a case; %d fabrics brought up, %v each\n",
		f.hops, f.hops/int64(ran), (f.kernel / time.Duration(ran)).Round(time.Microsecond),
		(f.wasm / time.Duration(ran)).Round(time.Microsecond),
		f.opened, (f.opening / time.Duration(max(f.opened, 1))).Round(time.Microsecond))
	f.covered.write(os.Stdout, ran)
}
