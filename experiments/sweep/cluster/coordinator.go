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

	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/experiments/sweep"
)

// Coordinator deals a sweep's points out, and takes what workers make of them.
type Coordinator struct {
	Runner  *sweep.Runner // its Make makes canaries, audits and points that are in dispute, on this machine
	ID      string
	Key     *Identity     // signs its answers
	Private string        // the folder of PrivateFolder
	Audit   float64       // the share of points that are made here once more, 0 to 1
	Lease   time.Duration // how long a point is a silent worker's; 0: 30 s
	Hold    time.Duration // how long a point is one worker's alone, at least; 0: 10 min
	// Say is told what happens, a line each, from several goroutines.
	Say func(line string)

	conn    *nats.Conn
	n       names
	audits  sync.WaitGroup
	making  chan struct{} // points that this machine makes at once
	begun   time.Time
	failure chan error   // this machine's, such as a full disk, that ends the sweep
	serving sync.RWMutex // read-locked by each answer
	closed  bool         // no more requests are answered; under serving

	mu      sync.Mutex
	points  []point
	workers map[string]*Worker
	leases  map[int][]*lease // by point
	taking  int              // results that are being taken
	took    []time.Duration  // from giving a point out to its result, in order
	sets    [2]*canarySet    // the newest first; nil: there is none yet
	strange int              // lines by sayStrange
	state   *os.File         // see remember
}

// say prints a line, with texts of workers made safe for a terminal.
func (c *Coordinator) say(line string) { c.Say(sweep.Printable(line)) }

// fail ends the sweep with an error.
func (c *Coordinator) fail(err error) {
	select {
	case c.failure <- err:
	default: // it ends already
	}
}

// point is how far one is. What is in JSON outlives the coordinator.
type point struct {
	By       string        `json:"by,omitempty"`   // the worker's ID, or own
	Sums     string        `json:"sums,omitempty"` // SHA-256 of its SHA256SUMS
	Wall     time.Duration `json:"wall_ns,omitempty"`
	Audited  bool          `json:"audited,omitempty"`
	Failures int           `json:"failures,omitempty"`
	Error    string        `json:"error,omitempty"` // the last one
	made     bool
	kept     bool      // it was there before the sweep was served
	auditing int       // how often it is being made here
	given    time.Time // when a worker first got it
}

// own is the coordinator among workers' IDs.
const own = "coordinator"

// mostFailures is how often a point may fail, on any workers, until no worker gets it any more.
const mostFailures = 3

// ownJobs is how many points the coordinator makes at once: canaries, audits and disputes.
const ownJobs = 2

const (
	statusEvery = time.Second            // the status is written
	lookEvery   = 100 * time.Millisecond // the coordinator looks whether all is over
	tellEvery   = 10 * time.Second       // it says how far all is
)

// Run makes the points that are not there yet, and returns what all came to, when they are made or ctx is cancelled.
// What was begun goes on with the next coordinator of the folder.
func (c *Coordinator) Run(ctx context.Context, conn *nats.Conn) ([]sweep.Outcome, error) {
	c.conn, c.n, c.begun, c.failure = conn, names(c.ID), time.Now(), make(chan error, 1)
	c.making = make(chan struct{}, ownJobs)
	c.workers, c.leases = map[string]*Worker{}, map[int][]*lease{}
	if err := c.load(ctx); err != nil {
		return nil, err
	}
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

// Folders in the private one.
const (
	ownFolder      = "own"      // what this machine makes
	incomingFolder = "incoming" // what workers send
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
		_ = s.Unsubscribe() // the connection ends too
	}
	c.serving.Lock() // which waits for the answers in progress
	defer c.serving.Unlock()
	c.closed = true
	return err
}

// watch waits until all points are made, and writes how far they are.
func (c *Coordinator) watch(ctx context.Context) error {
	var written time.Time
	told, line := time.Now(), ""
	for !c.over() {
		if now := time.Now(); now.Sub(written) > statusEvery {
			written = now
			c.forget(now)
			c.writeStatus(false)
		}
		if time.Since(told) > tellEvery {
			told = time.Now()
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

// checkTasks finds out, before any worker asks, whether all points that are to be made can be sent.
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

// task returns a point as it is sent to workers.
func (c *Coordinator) task(k int) ([]byte, error) {
	job, err := c.Runner.Job(k).Portable()
	if err != nil {
		return nil, err
	}
	job.Processors = 0 // the worker knows what it has
	data, err := (&task{Point: k, Name: c.Runner.Points[k].Name(), Job: job}).pack()
	if err != nil {
		return nil, err
	}
	if size, most := int64(base64.StdEncoding.EncodedLen(len(data)))+1024, c.conn.MaxPayload(); size > most {
		return nil, fmt.Errorf("%s: what it is read from comes to %d bytes, compressed, and the server takes %d: use --shard",
			c.Runner.Points[k].Name(), size, most)
	}
	return data, nil
}

// over says that no point is waited for, nor an audit.
func (c *Coordinator) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taking > 0 {
		return false
	}
	for k := range c.points {
		p := &c.points[k]
		if !p.made && p.Failures < mostFailures || p.auditing > 0 {
			return false
		}
	}
	return true
}

// outcomes are what the points came to.
func (c *Coordinator) outcomes() []sweep.Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]sweep.Outcome, len(c.points))
	for k := range c.points {
		p := &c.points[k]
		o, err := c.Runner.Job(k).Result()
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

// make makes a job on this machine, in a folder of its own, and returns its sums. The folder is there until the next is
// made under the name.
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

// sumsOf returns the SHA-256 of a run's SHA256SUMS, if all files are as these say.
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

// chosen says whether a point is to be audited. It is chance to whoever does not know the sweep's secrets, and the same
// after a restart.
func (c *Coordinator) chosen(k int) bool {
	sum := sha256.Sum256(fmt.Appendf(nil, "audit %s %s %d", c.ID, c.auditSeed(), k))
	return float64(binary.BigEndian.Uint64(sum[:8])) < c.Audit*math.MaxUint64
}
