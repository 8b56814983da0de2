package cluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/internal/files"
)

// take installs a result, compares it with the one that is there, or ignores it. key is the public key that signed it. An error is a *fetchError,
// or this machine's, such as a full disk.
func (c *Coordinator) take(ctx context.Context, r *result, key string) error {
	if r.Point < 0 || r.Point >= len(c.points) {
		return nil // of nobody who keeps to the protocol
	}
	c.mu.Lock()
	w := c.workers[r.Worker]
	if w == nil || w.Key != key { // another speaks in its name
		c.mu.Unlock()
		return nil
	}
	if w.Out != "" || r.Hash != c.Runner.Points[r.Point].Hash {
		again := !c.points[r.Point].made
		c.mu.Unlock()
		return c.again(ctx, r.Point, again)
	}
	if r.Object == "" {
		again := c.failed(w, r)
		c.mu.Unlock()
		return c.again(ctx, r.Point, again)
	}
	c.mu.Unlock()
	directory, sums, err := c.receive(ctx, r)
	if directory != "" {
		defer os.RemoveAll(directory)
	}
	var wrong *badResult
	switch {
	case errors.Is(err, errLost):
		c.mu.Lock()
		again := !c.points[r.Point].made
		c.mu.Unlock()
		return c.again(ctx, r.Point, again)
	case errors.As(err, &wrong):
		c.shutOut(ctx, w.ID, fmt.Sprintf("its %s %v", c.Runner.Points[r.Point].Name(), wrong.err))
		c.mu.Lock()
		again := !c.points[r.Point].made
		c.mu.Unlock()
		return c.again(ctx, r.Point, again)
	case err != nil:
		return err
	}
	return c.settle(ctx, r, w, directory, sums)
}

// again puts a point that is not made into the queue once more.
func (c *Coordinator) again(ctx context.Context, k int, again bool) error {
	if !again {
		return nil
	}
	return c.publish(ctx, k)
}

// failed takes note of a point that a worker could not make, and says whether another is to try. The caller has locked mu.
func (c *Coordinator) failed(w *Worker, r *result) bool {
	p := &c.points[r.Point]
	if p.made {
		return false
	}
	p.Failures++
	p.Error = fmt.Sprintf("%s (worker %s)", printable(r.Error), w.ID)
	w.Failed++
	c.remember(r.Point)
	c.rememberWorker(w)
	c.say(fmt.Sprintf("failed  %s: %s", c.Runner.Points[r.Point].Name(), p.Error))
	return p.Failures < mostFailures
}

// errLost says that a result's folder is not there any more: the coordinator has taken it, and was killed before it could say so.
var errLost = errors.New("the result is not there any more")

// badResult is a mistake in what a worker has sent.
type badResult struct{ err error }

func (e *badResult) Error() string { return e.err.Error() }

// fetchError is a failure to fetch a result from the server.
type fetchError struct {
	of  *result
	err error
}

func (e *fetchError) Error() string {
	return fmt.Sprintf("fetch the result of point %d by worker %s: %v", e.of.Point, e.of.Worker, e.err)
}

func (e *fetchError) Unwrap() error { return e.err }

// asideFile, in the private folder, lists results that could not be fetched: a line of JSON each.
const asideFile = "set-aside.jsonl"

// setAside records a result that cannot be fetched, and has the point made again.
func (c *Coordinator) setAside(ctx context.Context, r *result, why error) error {
	r.Error = why.Error()
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(c.Private, asideFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	c.mu.Lock()
	again := false
	if w := c.workers[r.Worker]; w != nil {
		again = c.failed(w, r)
	}
	c.mu.Unlock()
	return c.again(ctx, r.Point, again)
}

// receive fetches a point's folder and checks it: it is of this point, complete, and what its own sums say.
func (c *Coordinator) receive(ctx context.Context, r *result) (directory, sums string, err error) {
	object, err := c.objects.Get(ctx, r.Object)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return "", "", errLost
	}
	if err != nil {
		return "", "", &fetchError{r, err}
	}
	defer object.Close()
	name := make([]byte, 8)
	if _, err := rand.Read(name); err != nil {
		return "", "", err
	}
	directory = filepath.Join(c.Private, "incoming", hex.EncodeToString(name))
	if err := unpack(object, directory); err != nil {
		var full *fs.PathError
		switch {
		case errors.As(err, &full):
			return directory, "", fmt.Errorf("write a result: %w", err)
		case object.Error() != nil:
			return directory, "", &fetchError{r, errors.Join(err, object.Error())}
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
	job := c.Runner.Job(r.Point)
	job.Directory = directory
	if _, err := job.Result(); err != nil {
		return directory, "", &badResult{fmt.Errorf("is not the point's: %w", err)}
	}
	return directory, sums, nil
}

// settle installs a result, or compares it with the one that is there.
func (c *Coordinator) settle(ctx context.Context, r *result, w *Worker, directory, sums string) error {
	c.mu.Lock()
	p := &c.points[r.Point]
	if w.Out != "" { // meanwhile
		again := !p.made
		c.mu.Unlock()
		return c.again(ctx, r.Point, again)
	}
	if p.made {
		equal := p.Sums == sums
		first := p.By
		w.Twice++
		c.mu.Unlock()
		if equal {
			return nil
		}
		return c.dispute(ctx, r.Point, map[string]string{first: p.Sums, w.ID: sums})
	}
	*p = point{By: w.ID, Sums: sums, Wall: r.Wall}
	c.remember(r.Point) // first, so that a folder that is there has its maker, whenever the coordinator is killed
	if err := c.install(r.Point, directory); err != nil {
		c.mu.Unlock()
		return err
	}
	p.made = true
	w.Points++
	w.Wall += r.Wall
	w.Seen = time.Now()
	c.rememberWorker(w)
	c.mu.Unlock()
	c.maybeAudit(ctx, r.Point)
	return nil
}

// install puts a point's folder into the sweep's. The caller has locked mu.
func (c *Coordinator) install(k int, from string) error {
	job := c.Runner.Job(k)
	if err := sweep.CopyRun(from, c.Runner.Directory, filepath.Join(c.Runner.Points[k].Folder, job.Controller)); err != nil {
		return fmt.Errorf("write %s: %w", c.Runner.Points[k].Name(), err)
	}
	return nil
}

// maybeAudit makes a point here once more, if it is chosen.
func (c *Coordinator) maybeAudit(ctx context.Context, k int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.points[k]
	if !p.made || p.kept || p.Audited || p.auditing || p.By == own || !c.chosen(k) {
		return
	}
	p.auditing = true
	by, sums := p.By, p.Sums
	c.audits.Add(1)
	go func() {
		defer c.audits.Done()
		err := c.dispute(ctx, k, map[string]string{by: sums})
		c.mu.Lock()
		defer c.mu.Unlock()
		c.points[k].auditing = false
		if err != nil && ctx.Err() == nil {
			c.say(fmt.Sprintf("%s could not be audited: %v", c.Runner.Points[k].Name(), err))
		}
	}()
}

// dispute makes a point here, and shuts out who has come to something else.
func (c *Coordinator) dispute(ctx context.Context, k int, came map[string]string) error {
	name := c.Runner.Points[k].Name()
	directory, sums, err := c.make(ctx, fmt.Sprintf("point-%d", k), c.Runner.Job(k))
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	for id, theirs := range came {
		if theirs != sums && id != own {
			c.shutOut(ctx, id, fmt.Sprintf("%s comes to other files here than with it", name))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.points[k]
	if !p.made || p.Sums != sums {
		*p = point{By: own, Sums: sums, Audited: true, auditing: p.auditing}
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

// shutOut takes no more of a worker, and has all that it has made be made again.
func (c *Coordinator) shutOut(ctx context.Context, id, why string) {
	c.mu.Lock()
	w := c.workers[id]
	if w == nil || w.Out != "" {
		c.mu.Unlock()
		return
	}
	w.Out = printable(why)
	var again []int
	for k := range c.points {
		if p := &c.points[k]; p.made && p.By == id {
			if err := c.discard(k); err != nil {
				c.say(err.Error())
			}
			*p = point{auditing: p.auditing}
			c.remember(k)
			again = append(again, k)
		}
	}
	c.rememberWorker(w)
	c.mu.Unlock()
	_ = c.conn.Publish(c.n.subject(newsOf), nil) // else it asks in a moment
	c.say(fmt.Sprintf("worker %s is shut out: %s; its points, %d, are made again", id, why, len(again)))
	for _, k := range again {
		if err := c.publish(ctx, k); err != nil {
			c.say(err.Error())
		}
	}
}

// discard takes a point's results for none. The caller has locked mu.
func (c *Coordinator) discard(k int) error {
	folder, err := files.OpenFolder(c.Runner.Directory, c.Runner.Job(k).Directory)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Remove(append([]string{rundir.ManifestFile}, rundir.Files...)...)
}
