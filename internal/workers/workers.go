// Package workers provides a pool of goroutines for a few items of parallel work many thousand times a second. That is
// too often to start a goroutine each time, or to let it sleep in between.
package workers

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/pausenet/pausenet/internal/blame"
)

// Pool manages workers that wait for work: worker 0, which is the goroutine that calls Do, and others. Only one
// goroutine may use it.
type Pool struct {
	size     int
	spins    int
	sleepers []sleeper // by worker; 0 is the caller of Do
	ended    sync.WaitGroup

	// The current call of Do. These fields change only while no worker runs.
	pace   pace
	shares [][]int32
	work   func(worker int, item int32)
	taken  []count // items of each share that a worker has taken

	_     [8]int64
	call  atomic.Uint64 // number of the call, and in the lower bits its number of workers
	_     [7]int64
	left  atomic.Int64 // other workers that have not finished the call
	_     [7]int64
	mutex sync.Mutex
	worst int32 // the smallest item whose work panicked
	panic *blame.Carried
}

// count keeps a counter in its own cache line.
type count struct {
	atomic.Int64
	_ [7]int64
}

// sleeper lets a goroutine wait: it spins first, and then sleeps.
type sleeper struct {
	asleep atomic.Bool
	wake   chan struct{}
	_      [6]int64
}

// spins sets how often a worker checks for work before it sleeps. That takes some tens of microseconds, as long as
// waking it. closing marks the call that ends all workers.
const (
	spins   = 1 << 14
	closing = 1<<workerBits - 1

	workerBits = 16
)

// Share returns the number of processors for each of several users: the given number, or for 0 an equal share of
// GOMAXPROCS, at least 1.
func Share(processors, users int) int {
	return cmp.Or(processors, max(1, runtime.GOMAXPROCS(0)/max(users, 1)))
}

// New returns a pool of size workers, the caller of Do among them. The caller must close it.
func New(size int) *Pool {
	size = min(max(size, 1), closing-1)
	c := &Pool{size: size, sleepers: make([]sleeper, size), taken: make([]count, size), pace: newPace(Used)}
	if size <= runtime.GOMAXPROCS(0) { // otherwise a spinning worker may block another
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

// Size returns the number of workers.
func (c *Pool) Size() int { return c.size }

// Do lets the first workers call work with each item of the shares, and returns when all calls have returned. A worker
// starts with its own share, in order, and continues with items of other shares that no worker has taken. If work
// panics for some items, Do finishes all others and then panics for the smallest, with a *blame.Carried.
func (c *Pool) Do(workers int, shares [][]int32, work func(worker int, item int32)) {
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

// begin starts a call for the first workers.
func (c *Pool) begin(workers uint64) {
	c.call.Store((c.call.Load()>>workerBits+1)<<workerBits | workers)
	for i := 1; i < min(int(workers), c.size); i++ {
		c.sleepers[i].rouse()
	}
}

// Close ends the workers.
func (c *Pool) Close() {
	c.begin(closing)
	c.ended.Wait()
}

// serve runs a worker until Close.
func (c *Pool) serve(worker int) {
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

// wants reports whether the present call is for a worker.
func (c *Pool) wants(worker int) bool { return worker < int(c.call.Load()&closing) }

// takePart does a worker's part of a call.
func (c *Pool) takePart(worker int) {
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

func (c *Pool) do(worker int, item int32) {
	defer func() {
		if value := recover(); value != nil {
			c.panicked(item, blame.Carry(value))
		}
	}()
	c.work(worker, item)
}

func (c *Pool) panicked(item int32, p *blame.Carried) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.panic == nil || item < c.worst {
		c.worst, c.panic = item, p
	}
}

// wait returns when ready returns true. Code that changes the result of ready must call rouse.
func (s *sleeper) wait(spins int, ready func() bool) {
	for range spins {
		if ready() {
			return
		}
	}
	for !ready() {
		s.asleep.Store(true)
		if ready() && s.asleep.CompareAndSwap(true, false) {
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
