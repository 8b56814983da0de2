package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/internal/files"
)

// take receives a result: it installs the point, or compares it with the existing one.
func (c *Coordinator) take(ctx context.Context, key string, r *result) any {
	c.mu.Lock()
	w := c.known(r.Worker, key)
	if w == nil || w.Out != "" {
		defer c.mu.Unlock()
		return &word{Unknown: w == nil, Unwanted: w != nil}
	}
	l := c.leaseOf(r.Point, w)
	if l == nil || r.Hash != c.points[r.Point].job.Hash {
		defer c.mu.Unlock()
		return &word{Unwanted: true}
	}
	if r.Sum == "" {
		defer c.mu.Unlock()
		c.failed(ctx, l, r)
		return &word{}
	}
	l.taking = true
	c.taking++
	c.mu.Unlock()
	answer := c.takeArchive(ctx, l, r)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taking--
	if l.taking = false; answer.Again == "" {
		c.drop(l)
	} else {
		c.sayStrange(fmt.Sprintf("%s by worker %s: %s; it must send it again", c.points[l.point].name, w.ID,
			answer.Again))
	}
	return answer
}

// takeArchive receives a result whose archive has arrived.
func (c *Coordinator) takeArchive(ctx context.Context, l *lease, r *result) *word {
	if err := l.check(r); err != nil {
		return &word{Again: err.Error()}
	}
	directory, sums, err := c.receive(l, r)
	defer os.RemoveAll(directory)
	var wrong *badResult
	switch {
	case errors.As(err, &wrong):
		c.shutOut(l.worker.ID, fmt.Sprintf("its %s %v", c.point(l.point).name, wrong.err))
	case err != nil:
		c.fail(err)
	default:
		if err := c.settle(ctx, l, r, directory, sums); err != nil {
			c.fail(err)
		}
	}
	return &word{}
}

// failed records that a worker could not make a point. After mostFailures the coordinator makes the point itself,
// because workers may lie. The caller has locked mu.
func (c *Coordinator) failed(ctx context.Context, l *lease, r *result) {
	c.drop(l)
	p, w := c.points[l.point], l.worker
	if p.made || p.Failures >= mostFailures {
		return
	}
	p.Failures++
	p.Error = fmt.Sprintf("%s (worker %s)", sweep.Printable(r.Error), w.ID)
	w.Failed++
	c.remember(l.point)
	c.rememberWorker(w)
	c.say(fmt.Sprintf("failed  %s: %s", p.name, p.Error))
	if p.Failures == mostFailures {
		c.makeHere(ctx, l.point, nil)
	}
}

// badResult marks an error in a worker's result.
type badResult struct{ err error }

func (e *badResult) Error() string { return e.err.Error() }

// receive unpacks the archive of a point's folder and checks that it is this point's, complete, and matches its sums.
func (c *Coordinator) receive(l *lease, r *result) (directory, sums string, err error) {
	directory = l.path + ".unpacked"
	archive, err := os.Open(l.path)
	if err != nil {
		return directory, "", err
	}
	defer archive.Close()
	if err := unpack(archive, r.Size, directory); err != nil {
		var full *fs.PathError
		if errors.As(err, &full) {
			return directory, "", fmt.Errorf("cannot write a result: %w", err)
		}
		return directory, "", &badResult{err}
	}
	err = rundir.CheckOnly(directory)
	if err == nil {
		sums, err = sumsOf(directory)
	}
	if err != nil {
		return directory, "", &badResult{fmt.Errorf("is damaged: %w", err)}
	}
	job := *c.point(l.point).job
	job.Directory = directory
	if _, err := job.Result(); err != nil {
		return directory, "", &badResult{fmt.Errorf("is not the point's: %w", err)}
	}
	return directory, sums, nil
}

// settle installs a result, or compares it with the existing one.
func (c *Coordinator) settle(ctx context.Context, l *lease, r *result, directory, sums string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, w := c.points[l.point], l.worker
	switch {
	case w.Out != "": // in the meantime
		return nil
	case p.made:
		if w.Twice++; p.Sums != sums {
			c.makeHere(ctx, l.point, map[string]string{p.By: p.Sums, w.ID: sums})
		}
		return nil
	}
	took := time.Since(l.began)
	p.replace(point{By: w.ID, Sums: sums, Wall: max(r.Wall, 0)})
	c.remember(l.point) // first, so that an existing folder always has its maker, even if the coordinator is killed
	if err := c.install(l.point, directory); err != nil {
		return err
	}
	p.made = true
	p.end()
	w.Points++
	w.Wall += p.Wall
	w.Seen = time.Now()
	i, _ := slices.BinarySearch(c.took, took)
	c.took = slices.Insert(c.took, i, took)
	c.rememberWorker(w)
	c.maybeAudit(ctx, l.point)
	return nil
}

// install moves a point's folder into the sweep's. The caller has locked mu.
func (c *Coordinator) install(k int, from string) error {
	below, err := filepath.Rel(c.Runner.Within, c.points[k].job.Directory)
	if err == nil {
		err = sweep.CopyRun(from, c.Runner.Within, below)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", c.points[k].name, err)
	}
	return nil
}

// maybeAudit makes a point again on this machine, if it is chosen. The caller has locked mu.
func (c *Coordinator) maybeAudit(ctx context.Context, k int) {
	if p := c.points[k]; p.made && !p.kept && !p.Audited && p.auditing == 0 && p.By != own && c.chosen(k) {
		c.makeHere(ctx, k, map[string]string{p.By: p.Sums})
	}
}

// makeHere starts to make a point on this machine, and compares it with the workers' results. The caller has locked
// mu.
func (c *Coordinator) makeHere(ctx context.Context, k int, came map[string]string) {
	c.points[k].auditing++
	c.audits.Go(func() {
		err := c.dispute(ctx, k, came)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.points[k].auditing--
		c.points[k].end()
		if err != nil && ctx.Err() == nil {
			c.say(fmt.Sprintf("cannot make %s on this machine: %v", c.points[k].name, err))
		}
	})
}

// dispute makes a point on this machine, and excludes workers with another result.
func (c *Coordinator) dispute(ctx context.Context, k int, came map[string]string) error {
	p := c.point(k)
	directory, sums, err := c.make(ctx, fmt.Sprintf("point-%d", k), p.job)
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	for id, theirs := range came {
		if theirs != sums && id != own {
			c.shutOut(id, fmt.Sprintf("its result of %s differs from the coordinator's", p.name))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !p.made || p.Sums != sums {
		p.replace(point{By: own, Sums: sums, Audited: true})
		c.remember(k)
		if err := c.install(k, directory); err != nil {
			return err
		}
		p.made = true
		return nil
	}
	p.Audited = true
	c.remember(k)
	return nil
}

// shutOut excludes a worker, and schedules all its points again.
func (c *Coordinator) shutOut(id, why string) {
	c.mu.Lock()
	w := c.workers[id]
	if w == nil || w.Out != "" {
		c.mu.Unlock()
		return
	}
	w.Out = sweep.Printable(why)
	c.release(w)
	again := 0
	for k, p := range c.points {
		if p.made && p.By == id {
			if again++; c.jobs != nil {
				continue
			}
			if err := c.discard(k); err != nil {
				c.say(err.Error())
			}
			p.replace(point{})
			c.remember(k)
		}
	}
	if c.jobs != nil && again > 0 {
		c.lie(id)
	}
	c.rememberWorker(w)
	c.mu.Unlock()
	_ = c.conn.Publish(c.n.subject(newsOf), nil) // otherwise it asks in a moment
	c.say(fmt.Sprintf("worker %s is excluded: %s; its %d points run again", id, why, again))
}

// discard drops a point's results. The caller has locked mu.
func (c *Coordinator) discard(k int) error {
	folder, err := files.OpenFolder(c.Runner.Within, c.points[k].job.Directory)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Remove(append([]string{rundir.ManifestFile}, rundir.Files...)...)
}
