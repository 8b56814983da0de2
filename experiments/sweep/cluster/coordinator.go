package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/sweep"
)

// Coordinator gives a sweep's points to workers and receives their results.
type Coordinator struct {
	Runner  *sweep.Runner // its Make makes canaries, audits and disputed points on this machine
	ID      string
	Key     *Identity     // signs its answers
	Private string        // folder returned by PrivateFolder
	Audit   float64       // fraction of points that this machine makes again, 0 to 1
	Lease   time.Duration // time for which a point belongs to a silent worker; 0: 30 s
	Hold    time.Duration // minimum time for which a point belongs to one worker; 0: 10 min
	// Say receives a line for each event, from several goroutines.
	Say func(line string)

	conn    *nats.Conn
	n       names
	audits  sync.WaitGroup
	making  chan struct{} // holds an element for each point that this machine is making
	started time.Time
	failure chan error   // an error of this machine, such as a full disk, that ends the sweep
	serving sync.RWMutex // read-locked by each answer
	closed  bool         // no more requests are answered; guarded by serving

	mu      sync.Mutex
	points  []*point
	workers map[string]*workerState
	leases  map[int][]*lease // by point
	taking  int              // number of results being received
	took    []time.Duration  // times from giving out a point to its result, in order
	sets    [2]*canarySet    // the newest first; nil: not yet made
	strange int              // lines printed by sayStrange
	state   *os.File         // see remember
	jobs    *jobs            // nil: the points are the runner's
}

// say prints a line, after making texts of workers safe for a terminal.
func (c *Coordinator) say(line string) { c.Say(sweep.Printable(line)) }

// fail ends the sweep with an error.
func (c *Coordinator) fail(err error) {
	select {
	case c.failure <- err:
	default: // it is already ending
	}
}

// point holds the state of a point. The JSON fields survive a restart of the coordinator.
type point struct {
	By       string        `json:"by,omitempty"`   // the worker's ID, or own
	Sums     string        `json:"sums,omitempty"` // SHA-256 of its SHA256SUMS
	Wall     time.Duration `json:"wall_ns,omitempty"`
	Audited  bool          `json:"audited,omitempty"`
	Failures int           `json:"failures,omitempty"`
	Error    string        `json:"error,omitempty"` // the last error
	name     string        // for people; constant, as job is
	job      *sweep.Job
	made     bool
	kept     bool          // existed before the sweep was served
	auditing int           // number of times that this machine is making it
	given    time.Time     // time at which a worker first received it
	ended    chan struct{} // see end
}

// pointsOf returns the points of a runner, none of them made.
func pointsOf(r *sweep.Runner) []*point {
	all := make([]*point, len(r.Points))
	for k := range all {
		all[k] = &point{name: r.Points[k].Name(), job: r.Job(k)}
	}
	return all
}

// replace replaces the point's result. It keeps the time at which a worker first received the point, and does not write
// the constant fields, which others read without a lock.
func (p *point) replace(by point) {
	p.By, p.Sums, p.Wall, p.Audited = by.By, by.Sums, by.Wall, by.Audited
	p.Failures, p.Error, p.made, p.kept = by.Failures, by.Error, by.made, by.kept
}

// point returns the k-th point.
func (c *Coordinator) point(k int) *point {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.points[k]
}

// own identifies the coordinator among workers.
const own = "coordinator"

// mostFailures limits the failures of a point, on all workers together. Then no worker gets it again.
const mostFailures = 3

// ownJobs limits the points (canaries, audits and disputes) that the coordinator makes at once.
const ownJobs = 2

const (
	statusEvery = time.Second            // interval for writing the status
	lookEvery   = 100 * time.Millisecond // interval for checking whether the sweep is complete
	tellEvery   = 10 * time.Second       // interval for printing the progress
)

// Run makes the missing points, and returns all outcomes when they are made or ctx is cancelled. After a cancellation,
// a later coordinator of the same folder continues.
func (c *Coordinator) Run(ctx context.Context, conn *nats.Conn) ([]sweep.Outcome, error) {
	if err := c.begin(ctx, conn); err != nil {
		return nil, err
	}
	return c.finish(ctx)
}

// begin prepares the coordinator, and reads the state of an earlier one.
func (c *Coordinator) begin(ctx context.Context, conn *nats.Conn) error {
	c.conn, c.n, c.started, c.failure = conn, names(c.ID), time.Now(), make(chan error, 1)
	c.making = make(chan struct{}, ownJobs)
	c.workers, c.leases = map[string]*workerState{}, map[int][]*lease{}
	return c.load(ctx)
}

// finish makes the missing points.
func (c *Coordinator) finish(ctx context.Context) ([]sweep.Outcome, error) {
	defer c.state.Close()
	err := c.checkTasks()
	if err == nil {
		err = c.serve(ctx)
	}
	c.audits.Wait()
	finished := err == nil && ctx.Err() == nil
	c.writeStatus(finished)
	if finished {
		for _, name := range []string{ownFolder, incomingFolder, stateFile} {
			err = errors.Join(err, os.RemoveAll(filepath.Join(c.Private, name)))
		}
	}
	return c.outcomes(), err
}

// Folders in the private folder.
const (
	ownFolder      = "own"      // for points made on this machine
	incomingFolder = "incoming" // for results from workers
)

// serve answers workers until all points are made.
func (c *Coordinator) serve(ctx context.Context) error {
	subscriptions, err := c.listen(ctx)
	if err == nil {
		err = c.watch(ctx)
	}
	if err == nil && ctx.Err() == nil {
		c.dismiss(ctx)
	}
	for _, s := range subscriptions {
		_ = s.Unsubscribe() // the connection ends, too
	}
	c.serving.Lock() // waits for answers in progress
	defer c.serving.Unlock()
	c.closed = true
	return err
}

// watch waits until all points are made, and writes the status.
func (c *Coordinator) watch(ctx context.Context) error {
	var written time.Time
	reported, line := time.Now(), ""
	for !c.over() {
		if now := time.Now(); now.Sub(written) > statusEvery {
			written = now
			c.forget(now)
			c.writeStatus(false)
		}
		if time.Since(reported) > tellEvery {
			reported = time.Now()
			if now := c.Status().Line(); now != line {
				line = now
				c.say(line)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-c.failure:
			return err
		case <-time.After(lookEvery):
		}
	}
	return nil
}

// checkTasks checks, before any worker asks, that all missing points can be sent.
func (c *Coordinator) checkTasks() error {
	var missing []int
	c.mu.Lock()
	for k := range c.points {
		if !c.points[k].made && c.points[k].Failures < mostFailures {
			missing = append(missing, k)
		}
	}
	c.mu.Unlock()
	for _, k := range missing {
		if _, err := c.task(k); err != nil {
			return err
		}
	}
	return nil
}

// answerRest bounds the bytes of an answer besides its task.
const answerRest = 1024

// task returns a point in the form that is sent to workers.
func (c *Coordinator) task(k int) ([]byte, error) {
	p := c.point(k)
	job, err := p.job.Portable()
	if err != nil {
		return nil, err
	}
	job.Processors = 0 // the worker sets it
	data, err := (&task{Point: k, Name: p.name, Job: job}).pack()
	if err != nil {
		return nil, err
	}
	if size, most := int64(base64.StdEncoding.EncodedLen(len(data)))+answerRest, c.conn.MaxPayload(); size > most {
		return nil, fmt.Errorf("%s: its files take %d bytes, compressed, but the server accepts only %d: use --shard",
			p.name, size, most)
	}
	return data, nil
}

// over reports whether no point or audit is pending.
func (c *Coordinator) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taking > 0 || c.jobs != nil && c.jobs.open {
		return false
	}
	for k := range c.points {
		p := c.points[k]
		if !p.made && p.Failures < mostFailures || p.auditing > 0 {
			return false
		}
	}
	return true
}

// outcomes returns the outcomes of the points.
func (c *Coordinator) outcomes() []sweep.Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]sweep.Outcome, len(c.points))
	for k, p := range c.points {
		o, err := p.job.Result()
		switch {
		case err == nil && p.made:
			o.State, o.Wall, o.MadeBy = sweep.Done, p.Wall, p.By
			if p.kept {
				o.State = sweep.Kept
			}
		case p.Failures >= mostFailures:
			o = sweep.Outcome{State: sweep.Failed, Err: errors.New(p.Error)}
		default:
			o = sweep.Outcome{State: sweep.Waiting}
		}
		all[k] = o
	}
	return all
}

// make makes a job on this machine in its own folder, and returns its sums. The folder exists until the next job with
// the same name.
func (c *Coordinator) make(ctx context.Context, name string, job *sweep.Job) (directory, sums string, err error) {
	c.making <- struct{}{}
	defer func() { <-c.making }()
	mine := *job
	mine.Directory = filepath.Join(c.Private, ownFolder, name)
	mine.Within = mine.Directory
	if err := os.RemoveAll(mine.Directory); err != nil {
		return "", "", err
	}
	made := c.Runner.Make(ctx, &mine, nil)
	if _, err := mine.Result(); err != nil {
		return "", "", errors.Join(made, err)
	}
	sums, err = sumsOf(mine.Directory)
	return mine.Directory, sums, err
}

// sumsOf returns the SHA-256 of a run's SHA256SUMS, if all files match these.
func sumsOf(directory string) (string, error) {
	if err := rundir.CheckSums(directory); err != nil {
		return "", err
	}
	f, err := os.Open(filepath.Join(directory, rundir.SumsFile))
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// chosen reports whether to audit a point. The choice cannot be predicted without the sweep's secrets, and is the same
// after a restart.
func (c *Coordinator) chosen(k int) bool {
	sum := sha256.Sum256(fmt.Appendf(nil, "audit %s %s %d", c.ID, c.auditSeed(), k))
	return float64(binary.BigEndian.Uint64(sum[:8])) < c.Audit*math.MaxUint64
}

// Open starts a coordinator whose runner has no points: they come by Make. Call end after the last one.
func (c *Coordinator) Open(ctx context.Context, conn *nats.Conn) (end func() error, err error) {
	c.jobs = &jobs{open: true, stopped: make(chan struct{}), lied: make(chan struct{})}
	if err := errors.Join(os.RemoveAll(c.scratch()), c.begin(ctx, conn)); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.jobs.stopped)
		_, err = c.finish(ctx)
		err = errors.Join(err, os.RemoveAll(c.scratch()))
	}()
	return func() error {
		c.mu.Lock()
		c.jobs.open = false
		c.mu.Unlock()
		<-c.jobs.stopped
		return err
	}, nil
}
