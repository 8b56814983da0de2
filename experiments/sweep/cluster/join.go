package cluster

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/sweep"
)

// canaryScenario is what canaries are of: a run of some 20 ms of processor time.
const canaryScenario = "incast"

// mostCanaries is how many congestion controls a worker's canaries are under, at most.
const mostCanaries = 4

// idPattern is what a worker may be called.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,80}$`)

// listen answers workers.
func (c *Coordinator) listen(ctx context.Context) ([]*nats.Subscription, error) {
	var all []*nats.Subscription
	for what, answer := range map[string]func(context.Context, string, []byte) any{"join": c.join, "proof": c.prove, "sign": c.hear} {
		s, err := c.conn.Subscribe(c.n.subject(what), func(m *nats.Msg) {
			data, _ := json.Marshal(answer(ctx, m.Subject, m.Data)) // of texts and numbers
			_ = m.Respond(data)                                     // who has not heard asks again
		})
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, c.conn.Flush()
}

// join gives a worker canaries to make. Their seed is new: nobody has made them before.
func (c *Coordinator) join(ctx context.Context, subject string, data []byte) any {
	var h hello
	key, err := unseal(subject, data, &h)
	if err != nil || !idPattern.MatchString(h.Worker) || h.Worker == own {
		return &welcome{Refused: "a worker's name is letters, digits, _ and -"}
	}
	if why := c.unlike(&h); why != "" {
		c.say(fmt.Sprintf("worker %s is refused: %s", h.Worker, why))
		return &welcome{Refused: why}
	}
	c.mu.Lock()
	w, other := c.workers[h.Worker], c.joining[h.Worker]
	c.mu.Unlock()
	switch {
	case w != nil && w.Key != key || other != nil && other.key != key:
		return &welcome{Refused: "another worker has this name"}
	case w != nil && w.Out != "":
		return &welcome{Refused: "it is shut out: " + w.Out}
	}
	canaries, err := c.canaries()
	if err != nil {
		return &welcome{Refused: "there is no canary for it: " + err.Error()}
	}
	asking := &candidate{key: key}
	c.mu.Lock()
	c.joining[h.Worker] = asking
	c.mu.Unlock()
	c.audits.Add(1)
	go func() { // while the worker makes them too
		defer c.audits.Done()
		sums := make([]string, len(canaries))
		for i, job := range canaries {
			directory, sum, err := c.make(ctx, fmt.Sprintf("canary-%s-%d", h.Worker, i), job)
			if err != nil {
				c.say(fmt.Sprintf("the canaries of worker %s cannot be made: %v", h.Worker, err))
				return
			}
			_ = os.RemoveAll(directory) // all goes in the end
			sums[i] = sum
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		asking.sums = sums
	}()
	return &welcome{Canaries: canaries}
}

// unlike says what keeps a worker from making the sweep's points; empty: nothing does.
func (c *Coordinator) unlike(h *hello) string {
	switch {
	case h.Version != c.Runner.Version:
		return fmt.Sprintf("it is pausenet %.100q, and the coordinator is %q", h.Version, c.Runner.Version)
	case h.Build != c.Runner.Build:
		return fmt.Sprintf("it is another build of pausenet %s (%.16q, not %q): copy the coordinator's program", h.Version, h.Build, c.Runner.Build)
	}
	return ""
}

// canaries are short runs under the sweep's congestion controls, with a seed that is new.
func (c *Coordinator) canaries() ([]*sweep.Job, error) {
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	set := fmt.Sprintf("seed=%d", binary.BigEndian.Uint32(random[:]))
	s, err := scenario.Load(canaryScenario, []string{set})
	if err != nil {
		return nil, err
	}
	controllers := []string{"dcqcn"}
	for i := range c.Runner.Points {
		if name := c.Runner.Points[i].Controller; !slices.Contains(controllers, name) {
			controllers = append(controllers, name)
		}
	}
	var jobs []*sweep.Job
	for _, name := range controllers {
		hash, err := scenario.ConfigurationHash(s, name, s.Seed)
		if err != nil || len(jobs) == mostCanaries {
			continue // a variant, or from a file
		}
		jobs = append(jobs, &sweep.Job{
			Scenario: canaryScenario, Sets: []string{set}, Controller: name, Plane: c.Runner.Plane, Version: c.Runner.Version, Build: c.Runner.Build,
			Command: "pausenet worker", Hash: hash, Processors: 1,
		})
	}
	if len(jobs) == 0 {
		return nil, errors.New("no congestion control that comes with pausenet")
	}
	return jobs, nil
}

// canaryTimeout is how long the coordinator takes for its own canaries until a worker is told to ask again.
const canaryTimeout = 20 * time.Second

// prove lets a worker in whose canaries came to the same.
func (c *Coordinator) prove(ctx context.Context, subject string, data []byte) any {
	var p proof
	key, err := unseal(subject, data, &p)
	if err != nil {
		return &word{Unknown: true}
	}
	var sums []string
	for deadline := time.Now().Add(canaryTimeout); ; {
		c.mu.Lock()
		asking := c.joining[p.Worker]
		asked := asking != nil && asking.key == key
		if asked && asking.sums != nil {
			sums = asking.sums
			break
		}
		c.mu.Unlock()
		if !asked || time.Now().After(deadline) || ctx.Err() != nil {
			return &word{Unknown: true}
		}
		time.Sleep(20 * time.Millisecond)
	}
	defer c.mu.Unlock()
	delete(c.joining, p.Worker)
	w := c.workers[p.Worker]
	if w == nil {
		w = &Worker{ID: p.Worker, Key: key, Joined: time.Now()}
		c.workers[p.Worker] = w
	}
	if !slices.Equal(sums, p.Sums) {
		w.Out = "its canaries came to other files than the coordinator's: it computes something else"
		c.say(fmt.Sprintf("worker %s is shut out: %s", w.ID, w.Out))
	}
	w.Seen = time.Now()
	c.rememberWorker(w)
	if w.Out == "" {
		c.say("worker " + w.ID + " has joined")
	}
	return &word{Out: w.Out}
}

// mostRunning is how many points of a worker the status names.
const mostRunning = 256

// hear takes a worker's sign of life.
func (c *Coordinator) hear(_ context.Context, subject string, data []byte) any {
	var s sign
	key, err := unseal(subject, data, &s)
	if err != nil {
		return &word{Unknown: true}
	}
	over := c.over()
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workers[s.Worker]
	if w == nil || w.Key != key {
		return &word{Unknown: true, Over: over}
	}
	running := s.Running[:min(len(s.Running), mostRunning)]
	for i, name := range running {
		running[i] = printable(name)
	}
	w.Seen, w.running, w.told = time.Now(), running, over
	return &word{Out: w.Out, Over: over}
}

// dismiss waits until the workers that are there have heard that all is over.
func (c *Coordinator) dismiss(ctx context.Context) {
	_ = c.conn.Publish(c.n.subject(newsOf), nil) // else they ask in a moment
	for deadline := time.Now().Add(2 * signEvery); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		waits := false
		c.mu.Lock()
		for _, w := range c.workers {
			waits = waits || w.Out == "" && !w.told && time.Since(w.Seen) < 3*signEvery
		}
		c.mu.Unlock()
		if !waits {
			return
		}
	}
}

// auditSeed is a secret of the coordinator's by which audits are chosen.
func (c *Coordinator) auditSeed() string {
	path := filepath.Join(c.Private, "audit")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		seed := make([]byte, 16)
		_, _ = rand.Read(seed) // it never fails
		data = []byte(hex.EncodeToString(seed))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			c.say(err.Error())
		}
	}
	return string(data)
}
