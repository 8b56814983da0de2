package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// stateFile names the file with the state that survives a restart: a JSON line for each change, the last of which
// counts.
const stateFile = "state.jsonl"

// entry represents a line of the state: a point's or a worker's.
type entry struct {
	Point  int          `json:"point"`
	State  *point       `json:"state,omitempty"`
	Worker *workerState `json:"worker,omitempty"`
}

// load reads the state of an earlier coordinator of the sweep, and writes a file with each point and worker once.
func (c *Coordinator) load(ctx context.Context) error {
	c.points = pointsOf(c.Runner)
	if err := os.RemoveAll(filepath.Join(c.Private, incomingFolder)); err != nil { // partial results
		return err
	}
	if err := os.Mkdir(filepath.Join(c.Private, incomingFolder), 0o700); err != nil {
		return err
	}
	unreadable, err := c.readState()
	if err != nil {
		return fmt.Errorf("cannot read the state: %w", err)
	}
	if err := c.openState(); err != nil {
		return fmt.Errorf("cannot write the state: %w", err)
	}
	c.mu.Lock() // audits start
	defer c.mu.Unlock()
	for k, p := range c.points {
		if _, err := p.job.Result(); err != nil {
			p.By, p.Sums, p.Audited = "", "", false
			continue
		}
		if p.By == "" && unreadable > 0 { // it may come from an excluded worker
			if err := c.discard(k); err != nil {
				return err
			}
			continue
		}
		p.made, p.kept = true, p.By == ""
		if p.kept {
			if p.Sums, err = sumsOf(p.job.Directory); err != nil {
				return err
			}
		}
		c.maybeAudit(ctx, k)
	}
	return nil
}

// readState reads the lines of the state, and returns the number of unreadable ones.
func (c *Coordinator) readState() (unreadable int, err error) {
	data, err := os.ReadFile(filepath.Join(c.Private, stateFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	for line := range bytes.Lines(data) {
		var e entry
		switch err := json.Unmarshal(line, &e); {
		case err == nil && e.Worker != nil:
			c.workers[e.Worker.ID] = e.Worker
		case err == nil && e.State != nil && e.Point >= 0 && e.Point < len(c.points):
			c.points[e.Point].replace(*e.State)
		default:
			unreadable++
		}
	}
	if unreadable > 0 {
		c.say(fmt.Sprintf("%s: %d unreadable lines; points without a line run again", stateFile, unreadable))
	}
	return unreadable, nil
}

// openState writes the state anew and opens it for changes.
func (c *Coordinator) openState() error {
	var all bytes.Buffer
	for k, p := range c.points {
		if p.By != "" || p.Failures > 0 {
			all.Write((&entry{Point: k, State: p}).line())
		}
	}
	for _, w := range c.workers {
		all.Write((&entry{Worker: w}).line())
	}
	if err := writePrivate(c.Private, stateFile, all.Bytes()); err != nil {
		return err
	}
	var err error
	c.state, err = os.OpenFile(filepath.Join(c.Private, stateFile), os.O_APPEND|os.O_WRONLY, 0)
	return err
}

func (e *entry) line() []byte {
	data, _ := json.Marshal(e) // only texts and numbers, so it cannot fail
	return append(data, '\n')
}

// remember stores a point's state for a later coordinator. The caller has locked mu.
func (c *Coordinator) remember(k int) {
	if c.jobs == nil { // otherwise the points are those of Make, whose caller stores the results
		c.keep(&entry{Point: k, State: c.points[k]})
	}
}

// rememberWorker stores a worker's state. The caller has locked mu.
func (c *Coordinator) rememberWorker(w *workerState) { c.keep(&entry{Worker: w}) }

func (c *Coordinator) keep(e *entry) {
	if _, err := c.state.Write(e.line()); err != nil {
		c.say("cannot write the state: " + err.Error())
	}
}
