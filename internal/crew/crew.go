// Package crew has goroutines work on a few things at once, again and again, many thousand times a second: too often to
// start a goroutine each time, or to have one sleep in between.
package crew

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/pausenet/pausenet/internal/blame"
)

// Crew is workers that wait for work: the goroutine that calls Do, which is worker 0, and others. One goroutine uses
// it.
type Crew struct {
	size     int
	spins    int
	sleepers []sleeper // by worker; 0 is whoever calls Do
	ended    sync.WaitGroup

	// What is to be done. It changes while no worker is at work.
	pace   pace
	shares [][]int32
	work   func(worker int, item int32)
	taken  []count // items of each share that somebody has begun

	_     [8]int64
	call  atomic.Uint64 // its number, and in the lower bits how many workers it is for
	_     [7]int64
	left  atomic.Int64 // workers that have not done
	_     [7]int64
	mutex sync.Mutex
	worst int32 // the least item whose work has panicked
	panic *blame.Carried
}

// count is in a cache line of its own.
type count struct {
	atomic.Int64
	_ [7]int64
}

// sleeper is a goroutine that waits, and sleeps if it has to wait for long.
type sleeper struct {
	asleep atomic.Bool
	wake   chan struct{}
	_      [6]int64
}

// spins is how often a worker looks before it falls asleep: for some tens of microseconds, which is what it takes to
// wake it. closing is the call that ends it.
const (
	spins   = 1 << 14
	closing = 1<<workerBits - 1

	workerBits = 16
)

// Share is how many of the processors that goroutines can run on there are for each of several users.
func Share(users int) int { return max(1, runtime.GOMAXPROCS(0)/max(users, 1)) }

// New is a crew of so many workers, the caller of Do among them. It must be closed.
func New(size int) *Crew {
	size = min(max(size, 1), closing-1)
	c := &Crew{size: size, sleepers: make([]sleeper, size), taken: make([]count, size), pace: newPace(used)}
	if size <= runtime.GOMAXPROCS(0) { // else whoever is waited for may need the processor
		c.spins = spins
	}
	for i := range c.sleepers {
		c.sleepers[i].wake = make(chan struct{}, 1)
	}
	for worker := 1; worker < size; worker++ {
		c.ended.Go(func() { c.serve(worker) })
	}
	return c
}

// Size is how many workers there are.
func (c *Crew) Size() int { return c.size }

// Do has the first workers, so many of them, call work with each item of the shares, and returns when all has been
// done. A worker begins with its own share, in order, and goes on with what nobody has begun of others': so which
// worker gets an item is only likely. If work panics for some items, the rest is done all the same, and then Do panics
// for the least: with a *blame.Carried.
func (c *Crew) Do(workers int, shares [][]int32, work func(worker int, item int32)) {
	workers = min(workers, c.size)
	c.shares, c.work = shares, work
	for i := range shares {
		c.taken[i].Store(0)
	}
	c.left.Store(int64(workers - 1))
	c.begin(uint64(workers))
	c.takePart(0)
	c.sleepers[0].wait(c.spins, func() bool { return c.left.Load() == 0 })
	if p := c.panic; p != nil {
		c.panic = nil
		panic(p)
	}
}

// begin has workers look for work.
func (c *Crew) begin(workers uint64) {
	c.call.Store((c.call.Load()>>workerBits+1)<<workerBits | workers)
	for i := 1; i < min(int(workers), c.size); i++ {
		c.sleepers[i].rouse()
	}
}

// Close ends the workers.
func (c *Crew) Close() {
	c.begin(closing)
	c.ended.Wait()
}

// serve is a worker's life.
func (c *Crew) serve(worker int) {
	seen := uint64(0)
	for {
		c.sleepers[worker].wait(c.spins, func() bool { return c.call.Load() != seen && c.wants(worker) })
		seen = c.call.Load()
		if seen&closing == closing {
			return
		}
		c.takePart(worker)
		if c.left.Add(-1) == 0 {
			c.sleepers[0].rouse()
		}
	}
}

// wants says whether the present call is for a worker.
func (c *Crew) wants(worker int) bool { return worker < int(c.call.Load()&closing) }

// takePart does a worker's part of a call.
func (c *Crew) takePart(worker int) {
	for k := range c.shares {
		at := (worker + k) % len(c.shares)
		share, taken := c.shares[at], &c.taken[at]
		for int(taken.Load()) < len(share) {
			i := int(taken.Add(1)) - 1
			if i >= len(share) {
				break
			}
			c.do(worker, share[i])
		}
	}
}

func (c *Crew) do(worker int, item int32) {
	defer func() {
		if value := recover(); value != nil {
			c.panicked(item, blame.Carry(value))
		}
	}()
	c.work(worker, item)
}

func (c *Crew) panicked(item int32, p *blame.Carried) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.panic == nil || item < c.worst {
		c.worst, c.panic = item, p
	}
}

// wait returns when something is so. Whoever makes it so has to rouse the sleeper.
func (s *sleeper) wait(spins int, so func() bool) {
	for range spins {
		if so() {
			return
		}
	}
	for !so() {
		s.asleep.Store(true)
		if so() && s.asleep.CompareAndSwap(true, false) {
			return
		}
		<-s.wake
	}
}

// rouse wakes the sleeper, if it is asleep.
func (s *sleeper) rouse() {
	if s.asleep.CompareAndSwap(true, false) {
		s.wake <- struct{}{}
	}
}
