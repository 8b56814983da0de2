package workers_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/internal/blame"
	"github.com/pausenet/pausenet/internal/workers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEachItemOnce: whatever the shares and however many workers are asked for, each item is worked on once, by a
// worker that was asked for, and by one at a time as long as there is one.
func TestEachItemOnce(t *testing.T) {
	for _, count := range []int{1, 2, 3, 8, 40} {
		c := workers.New(count)
		if c.Size() != count {
			t.Errorf("%d workers, want %d", c.Size(), count)
		}
		for round := range 300 {
			asked := 1 + round%count
			shares := make([][]int32, count)
			items := round % 50
			for i := range items {
				at := i * i * (round + 1) % count
				if round%7 == 0 {
					at = 0
				}
				shares[at] = append(shares[at], int32(i))
			}
			done := make([]atomic.Int32, items)
			plain := make([]int, items) // the race detector looks at it
			c.Do(asked, shares, func(worker int, item int32) {
				if worker >= asked {
					t.Errorf("worker %d of %d", worker, asked)
				}
				done[item].Add(1)
				plain[item]++
			})
			for i := range done {
				if done[i].Load() != 1 || plain[i] != 1 {
					t.Fatalf("%d workers, round %d: item %d was done %d times", count, round, i, done[i].Load())
				}
			}
		}
		c.Close()
	}
}

// TestPanic: the panic for the least item comes out, with its own stack, when the others have been done.
func TestPanic(t *testing.T) {
	c := workers.New(4)
	defer c.Close()
	for range 50 {
		var done atomic.Int32
		carried := func() (carried *blame.Carried) {
			defer func() { carried, _ = recover().(*blame.Carried) }()
			c.Do(4, [][]int32{{0, 5}, {1, 6, 9}, {2, 7}, {3, 8}}, func(_ int, item int32) {
				if item >= 6 {
					culprit(item)
				}
				done.Add(1)
			})
			return nil
		}()
		if carried == nil || carried.Value != "item 6" || !strings.Contains(string(carried.Stack), "culprit") ||
			done.Load() != 5 {
			t.Fatalf("%+v; %d items done", carried, done.Load())
		}
		if text := carried.Error(); !strings.HasPrefix(text, "item 6\n\ngoroutine ") {
			t.Errorf("printed as %q", text)
		}
	}
	ran := false
	c.Do(4, [][]int32{{1}}, func(int, int32) { ran = true })
	if !ran {
		t.Error("nothing is done after a panic")
	}
}

func culprit(item int32) { panic(fmt.Sprint("item ", item)) }

func TestShare(t *testing.T) {
	if all := workers.Share(0, 1); all < 1 || workers.Share(0, 0) != all || workers.Share(0, all) != 1 ||
		workers.Share(0, 10*all) != 1 || workers.Share(3, all) != 3 {
		t.Errorf("of %d processors: %d, %d, %d, and %d of 3", all, workers.Share(0, 0), workers.Share(0, all),
			workers.Share(0, 10*all), workers.Share(3, all))
	}
}

// BenchmarkDo measures the cost of two workers that do nothing.
func BenchmarkDo(b *testing.B) {
	c := workers.New(2)
	defer c.Close()
	shares := [][]int32{{0}, {1}}
	for b.Loop() {
		c.Do(2, shares, func(int, int32) {})
	}
}
