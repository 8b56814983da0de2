package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// lease represents a point that a worker makes, with the received part of the result. Another worker may have a lease
// of the same point if this one is slow or was silent.
type lease struct {
	worker *workerState
	point  int
	began  time.Time
	heard  time.Time // last message of the worker
	taking bool      // its result is being received

	mu   sync.Mutex // of the archive
	path string     // of the archive, which may not exist yet
	have int64      // its size in bytes; -1: no more is accepted
}

const (
	leaseTime = 30 * time.Second // time for which a point belongs to a silent worker
	leaseKept = 10               // after this many lease times, the worker's leases are dropped

	holdTime  = 10 * time.Minute // minimum time for which a point belongs to one worker
	holdTimes = 10               // and as a multiple of the median time of points
)

// live reports whether a lease's worker may still be making the point.
func (c *Coordinator) live(l *lease, now time.Time) bool {
	return l.taking || now.Sub(l.heard) < cmp.Or(c.Lease, leaseTime)
}

// overdue reports whether a point was given out so long ago that other workers may get it, too. So a slow worker cannot
// block a point.
func (c *Coordinator) overdue(k int, now time.Time) bool {
	hold := cmp.Or(c.Hold, holdTime)
	if n := len(c.took); n > 0 {
		hold = max(hold, holdTimes*c.took[n/2])
	}
	return now.Sub(c.points[k].given) > hold
}

// next gives a worker a point, or says that there are no more.
func (c *Coordinator) next(_ context.Context, key string, q *want) any {
	over := c.over()
	c.mu.Lock()
	w := c.known(q.Worker, key)
	if w == nil || w.Out != "" {
		defer c.mu.Unlock()
		return &word{Unknown: w == nil}
	}
	k := c.choose(w, time.Now())
	w.informed = over && k < 0
	if k >= 0 {
		l := c.leaseOf(k, w)
		l.began = time.Now()
		l.heard = l.began
	}
	c.mu.Unlock()
	if k < 0 {
		return &word{Over: over}
	}
	task, err := c.task(k)
	if err != nil {
		c.fail(err)
	}
	return &word{Task: task}
}

// choose returns a point that no worker is making, or otherwise an overdue point with the fewest leases; -1: there is
// none. The caller has locked mu.
func (c *Coordinator) choose(w *workerState, now time.Time) int {
	late, fewest := -1, 0
	for k, p := range c.points {
		if p.made || p.Failures >= mostFailures {
			continue
		}
		makers, mine := 0, false
		for _, l := range c.leases[k] {
			if c.live(l, now) {
				makers++
				mine = mine || l.worker == w
			}
		}
		switch {
		case makers == 0:
			return k
		case !mine && c.overdue(k, now) && (late < 0 || makers < fewest):
			late, fewest = k, makers
		}
	}
	return late
}

// leaseOf returns a worker's lease of a point, or a new one, because an earlier coordinator may have given it the
// point. nil: there is no such point, or it is complete. The caller has locked mu.
func (c *Coordinator) leaseOf(k int, w *workerState) *lease {
	if k < 0 || k >= len(c.points) {
		return nil
	}
	for _, l := range c.leases[k] {
		if l.worker == w {
			return l
		}
	}
	p := c.points[k]
	if p.made || p.Failures >= mostFailures {
		return nil
	}
	now := time.Now()
	if p.given.IsZero() {
		p.given = now
	}
	l := &lease{worker: w, point: k, began: now, heard: now, path: filepath.Join(c.Private, incomingFolder, rand.Text())}
	c.leases[k] = append(c.leases[k], l)
	return l
}

// drop ends a lease and removes its partial result. The caller has locked mu.
func (c *Coordinator) drop(l *lease) {
	c.leases[l.point] = slices.DeleteFunc(c.leases[l.point], func(other *lease) bool { return other == l })
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = os.Remove(l.path) // all is removed at the end
	l.have = -1
}

// release drops a worker's leases. The caller has locked mu.
func (c *Coordinator) release(w *workerState) {
	c.dropAll(func(l *lease) bool { return l.worker == w })
}

// forget drops the leases of workers that have been silent for long.
func (c *Coordinator) forget(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropAll(func(l *lease) bool { return now.Sub(l.heard) > leaseKept*cmp.Or(c.Lease, leaseTime) })
}

func (c *Coordinator) dropAll(which func(*lease) bool) {
	for _, all := range c.leases {
		for _, l := range slices.Clone(all) {
			if !l.taking && which(l) {
				c.drop(l)
			}
		}
	}
}

// piece receives a piece of a result's archive, and returns how much of the archive has arrived.
func (c *Coordinator) piece(_ context.Context, key string, body []byte) any {
	if len(body) < pieceHeader {
		return &word{Unknown: true}
	}
	k, at := binary.BigEndian.Uint64(body), int64(binary.BigEndian.Uint64(body[8:]))
	c.mu.Lock()
	var w *workerState
	for _, one := range c.workers {
		if one.Key == key {
			w = one
		}
	}
	if w == nil || w.Out != "" {
		defer c.mu.Unlock()
		return &word{Unknown: w == nil, Unwanted: w != nil}
	}
	l := c.leaseOf(int(k), w)
	c.mu.Unlock()
	if l == nil {
		return &word{Unwanted: true}
	}
	have, err := l.add(at, body[pieceHeader:])
	if err != nil {
		c.fail(fmt.Errorf("cannot write a result: %w", err))
	}
	return &word{Have: have, Unwanted: have < 0}
}

// add appends a piece to the archive, if it is the next one, and returns the archive's size; -1: the lease is over.
func (l *lease) add(at int64, data []byte) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.have < 0 || at != l.have || int64(len(data)) > largestPoint-l.have {
		return l.have, nil
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return l.have, err
	}
	n, err := f.Write(data)
	l.have += int64(n)
	if err == nil {
		err = f.Close()
	}
	return l.have, err
}

// check compares the archive with its worker's signed sum. If they differ, the worker must send it again.
func (l *lease) check(r *result) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := sha256.New()
	f, err := os.Open(l.path)
	if err == nil {
		_, err = io.Copy(sum, f)
		_ = f.Close() // it was only read
	}
	if err != nil || l.have != r.Size || hex.EncodeToString(sum.Sum(nil)) != r.Sum {
		l.have = 0
		_ = os.Remove(l.path) // the archive is invalid
		return fmt.Errorf("the archive of %d bytes has not arrived whole", r.Size)
	}
	l.have = -1 // no more is accepted
	return nil
}
