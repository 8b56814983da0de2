package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/pausenet/pausenet/experiments/sweep"
)

// jobs holds the state of a coordinator whose points come one by one. Locked by the coordinator's mu.
type jobs struct {
	open    bool          // Make accepts jobs
	stopped chan struct{} // closed when the coordinator has ended
	lied    chan struct{} // closed when liars gets its first item
	liars   []string      // excluded workers whose results Make has returned
}

// LiarError reports that excluded workers have made results that Make has returned. By has the IDs of these workers.
type LiarError struct{ By []string }

func (e *LiarError) Error() string {
	return fmt.Sprintf("excluded workers have made results: %q", e.By)
}

// Without returns the workers whose results must not be used.
func (e *LiarError) Without() []string { return e.By }

// errEnded reports that no worker can get a job any more.
var errEnded = errors.New("the coordinator has ended")

// Make gives a job to the workers. It returns the folder of the results, which then belongs to the caller, and the ID
// of the worker that made them. A LiarError means that earlier results are false: call Settle, and begin again without
// these.
func (c *Coordinator) Make(ctx context.Context, name string, job *sweep.Job) (directory, by string, err error) {
	own, ended := *job, make(chan struct{})
	own.Common = c.Runner.Common
	c.mu.Lock()
	k, lied := len(c.points), c.jobs.lied
	own.Directory = filepath.Join(c.scratch(), fmt.Sprintf("job-%d", k))
	p := &point{name: name, job: &own, ended: ended}
	c.points = append(c.points, p)
	c.mu.Unlock()
	_ = c.conn.Publish(c.n.subject(newsOf), nil) // otherwise workers ask in a moment
	select {
	case <-ctx.Done():
		err = ctx.Err()
	case <-c.jobs.stopped:
		err = errEnded
	case <-lied:
	case <-ended:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.jobs.liars) > 0 {
		err = &LiarError{c.jobs.liars}
	}
	switch {
	case err != nil: // nobody needs it any more
		p.ended, p.Failures = nil, mostFailures
		return "", "", err
	case !p.made:
		return "", "", errors.New(p.Error)
	}
	return own.Directory, p.By, nil
}

// scratch returns the folder of jobs' results.
func (c *Coordinator) scratch() string { return filepath.Join(c.Runner.Within, "scratch") }

// Settle waits for audits. A LiarError means that results which Make has returned are false: begin again without these.
func (c *Coordinator) Settle(ctx context.Context) error {
	for c.audited() > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookEvery):
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.jobs.liars) == 0 {
		return nil
	}
	err := &LiarError{c.jobs.liars}
	c.jobs.liars, c.jobs.lied = nil, make(chan struct{})
	return err
}

// audited returns the number of points that are being received, or made on this machine.
func (c *Coordinator) audited() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.taking
	for _, p := range c.points {
		n += p.auditing
	}
	return n
}

// lie ends all calls of Make, since an excluded worker has made results. The caller has locked mu.
func (c *Coordinator) lie(id string) {
	if c.jobs.liars = append(c.jobs.liars, id); len(c.jobs.liars) == 1 {
		close(c.jobs.lied)
	}
}

// end tells Make that a point has ended. The caller has locked mu.
func (p *point) end() {
	if p.ended != nil && (p.made || p.Failures >= mostFailures && p.auditing == 0) {
		close(p.ended)
		p.ended = nil
	}
}
