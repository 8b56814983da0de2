package cluster

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/internal/lazy"
)

// canaryScenario names the scenario of canaries, a run of about 20 ms of processor time.
const canaryScenario = "incast"

// mostCanaries limits the congestion controls among a worker's canaries.
const mostCanaries = 4

// idPattern matches valid IDs of workers.
var idPattern = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_-]{0,80}$`)

// listen answers workers.
func (c *Coordinator) listen(ctx context.Context) ([]*nats.Subscription, error) {
	var all []*nats.Subscription
	for what, answer := range map[string]answerer{
		askJoin: decoded(c.join), askProof: decoded(c.prove), askSign: decoded(c.hear),
		askNext: decoded(c.next), askPiece: c.piece, askResult: decoded(c.take),
	} {
		s, err := c.conn.Subscribe(c.n.request(what, "*"), func(m *nats.Msg) { c.respond(ctx, m, answer) })
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, c.conn.Flush()
}

// answerer returns the answer to a request that a key has signed.
type answerer func(ctx context.Context, key string, body []byte) any

// decoded returns an answerer of requests in JSON.
func decoded[Q any](answer func(ctx context.Context, key string, q *Q) any) answerer {
	return func(ctx context.Context, key string, body []byte) any {
		q := new(Q)
		if json.Unmarshal(body, q) != nil {
			return &word{Unknown: true}
		}
		return answer(ctx, key, q)
	}
}

// respond answers a request only into the inbox of the key that signed it, because the coordinator may publish where a
// worker may not.
func (c *Coordinator) respond(ctx context.Context, m *nats.Msg, answer answerer) {
	c.serving.RLock()
	defer c.serving.RUnlock()
	key := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	body, err := unseal(key, m.Subject, m.Data)
	if c.closed || err != nil || len(body) < nonceSize || !strings.HasPrefix(m.Reply, inboxOf(key)+".") {
		return
	}
	data, _ := json.Marshal(answer(ctx, key, body[nonceSize:])) // only texts and numbers, so it cannot fail
	if data, err = c.Key.seal(string(m.Data[:ed25519.SignatureSize]), data); err == nil {
		_ = m.Respond(data) // a worker without an answer asks again
	}
}

// mostWorkers limits the concurrent workers of a sweep.
const mostWorkers = 1024

// admit returns the reason why a worker cannot join; empty: it can. The caller has locked mu.
func (c *Coordinator) admit(id, key string) string {
	switch w := c.workers[id]; {
	case !idPattern().MatchString(id) || id == own:
		return "use only letters, digits, _ and - in the worker's name"
	case w != nil && w.Key != key:
		return "another worker has this name"
	case w != nil && w.Out != "":
		return "it is excluded: " + w.Out
	case w == nil && len(c.workers) >= mostWorkers && !c.evict():
		return fmt.Sprintf("the sweep already has %d workers, its maximum", mostWorkers)
	}
	return ""
}

// evict forgets a silent worker that has made nothing, if there is one. The caller has locked mu.
func (c *Coordinator) evict() bool {
	for id, w := range c.workers {
		if w.Points == 0 && time.Since(w.Seen) > away {
			c.release(w)
			delete(c.workers, id)
			return true
		}
	}
	return false
}

// mostStrange limits the lines about workers that violate the protocol, because anyone with the join string can send
// any number of requests.
const mostStrange = 100

// sayStrange prints such a line. The caller has locked mu.
func (c *Coordinator) sayStrange(line string) {
	if c.strange++; c.strange <= mostStrange {
		c.say(line)
	}
}

// join gives a worker canaries to make.
func (c *Coordinator) join(ctx context.Context, key string, h *hello) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	why := c.admit(h.Worker, key)
	if why == "" {
		if why = c.unlike(h); why != "" {
			c.sayStrange(fmt.Sprintf("worker %s is refused: %s", h.Worker, why))
		}
	}
	if why != "" {
		return &welcome{Refused: why}
	}
	set, err := c.canarySet(ctx)
	if err != nil {
		return &welcome{Refused: "no canary can be made: " + err.Error()}
	}
	return &welcome{Set: set.name, Canaries: set.jobs}
}

// unlike returns the reason why a worker cannot make the sweep's points; empty: it can.
func (c *Coordinator) unlike(h *hello) string {
	switch {
	case h.Version != c.Runner.Version:
		return fmt.Sprintf("it runs pausenet %.100q, but the coordinator runs %q", h.Version, c.Runner.Version)
	case h.Build != c.Runner.Build:
		return fmt.Sprintf("it is another build of pausenet %s (%.16q, not %q): copy the coordinator's program", h.Version,
			h.Build, c.Runner.Build)
	}
	return ""
}

// canaryLife sets how long new workers get the same canaries. The previous set remains valid for as long again.
const canaryLife = 5 * time.Minute

// canarySet holds a set of canaries and their sums. All workers that join within canaryLife share it, so that many
// workers cost the coordinator no more than one.
type canarySet struct {
	name    string
	jobs    []*sweep.Job
	started time.Time
	ready   chan struct{} // closed when sums are available
	sums    []string      // nil: they could not be made
}

// canarySet returns the canaries for a worker that joins now. The caller has locked mu.
func (c *Coordinator) canarySet(ctx context.Context) (*canarySet, error) {
	if set := c.sets[0]; set != nil && time.Since(set.started) < canaryLife {
		return set, nil
	}
	jobs, err := c.canaries()
	if err != nil {
		return nil, err
	}
	set := &canarySet{name: rand.Text(), jobs: jobs, started: time.Now(), ready: make(chan struct{})}
	c.sets = [2]*canarySet{set, c.sets[0]}
	c.audits.Go(func() { // while the worker makes them, too
		defer close(set.ready)
		sums := make([]string, len(jobs))
		for i, job := range jobs {
			directory, sum, err := c.make(ctx, fmt.Sprintf("canary-%s-%d", set.name, i), job)
			if err != nil {
				c.say(fmt.Sprintf("cannot make the canaries: %v", err))
				c.mu.Lock()
				set.started = time.Time{} // the next worker gets others
				c.mu.Unlock()
				return
			}
			_ = os.RemoveAll(directory) // all is removed at the end
			sums[i] = sum
		}
		set.sums = sums
	})
	return set, nil
}

// canaries returns short runs under the sweep's congestion controls, with a new seed. The caller has locked mu.
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
	for _, p := range c.points {
		if name := p.job.Controller; !slices.Contains(controllers, name) {
			controllers = append(controllers, name)
		}
	}
	var jobs []*sweep.Job
	for _, name := range controllers {
		hash, err := scenario.ConfigurationHash(s, name, s.Seed)
		if err != nil || len(jobs) == mostCanaries {
			continue // a variant, or from a file
		}
		common := sweep.Common{Plane: c.Runner.Plane, Version: c.Runner.Version, Build: c.Runner.Build}
		common.Command, common.Processors = "pausenet worker", 1
		jobs = append(jobs, &sweep.Job{
			Common: common, Scenario: canaryScenario, Sets: []string{set}, Controller: name, Hash: hash,
		})
	}
	if len(jobs) == 0 {
		return nil, errors.New("the sweep has no built-in congestion control")
	}
	return jobs, nil
}

// canaryTimeout limits how long the coordinator waits for its own canaries before it asks a worker to retry.
const canaryTimeout = 20 * time.Second

// prove admits a worker whose canaries match.
func (c *Coordinator) prove(ctx context.Context, key string, p *proof) any {
	sums := c.proven(ctx, p.Set)
	c.mu.Lock()
	defer c.mu.Unlock()
	why := c.admit(p.Worker, key)
	switch {
	case why != "":
		return &word{Out: why}
	case sums == nil:
		return &word{Unknown: true}
	}
	w := c.workers[p.Worker]
	if w == nil {
		w = &workerState{ID: p.Worker, Key: key, Joined: time.Now()}
		c.workers[p.Worker] = w
	}
	w.Seen = time.Now()
	if !slices.Equal(sums, p.Sums) {
		w.Out = "its canaries differ from the coordinator's files: it computes other results"
		c.sayStrange(fmt.Sprintf("worker %s is excluded: %s", w.ID, w.Out))
	} else {
		c.say("worker " + w.ID + " has joined")
	}
	c.rememberWorker(w)
	return &word{Out: w.Out}
}

// proven returns the coordinator's sums of a set of canaries; nil: there is no such set, or it takes too long.
func (c *Coordinator) proven(ctx context.Context, name string) []string {
	c.mu.Lock()
	i := slices.IndexFunc(c.sets[:], func(s *canarySet) bool { return s != nil && s.name == name })
	if i < 0 {
		c.mu.Unlock()
		return nil
	}
	set := c.sets[i]
	c.mu.Unlock()
	select {
	case <-set.ready:
		return set.sums
	case <-ctx.Done():
	case <-time.After(canaryTimeout):
	}
	return nil
}

// known returns the worker that signs with a key, if it has joined. The caller has locked mu.
func (c *Coordinator) known(id, key string) *workerState {
	if w := c.workers[id]; w != nil && w.Key == key {
		return w
	}
	return nil
}

// mostRunning limits the points that a worker may make at once.
const mostRunning = 256

// hear processes a worker's sign of life.
func (c *Coordinator) hear(_ context.Context, key string, s *sign) any {
	over := c.over()
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.known(s.Worker, key)
	if w == nil {
		return &word{Unknown: true, Over: over}
	}
	w.Seen, w.informed, w.running = time.Now(), over, nil
	if w.Out != "" {
		return &word{Out: w.Out, Over: over}
	}
	if s.Leaving {
		c.release(w)
		return &word{Over: over}
	}
	for _, k := range s.Running[:min(len(s.Running), mostRunning)] {
		if l := c.leaseOf(k, w); l != nil {
			l.heard = w.Seen
			w.running = append(w.running, c.points[k].name)
		}
	}
	return &word{Over: over}
}

// dismiss waits until the active workers know that the sweep is complete.
func (c *Coordinator) dismiss(ctx context.Context) {
	_ = c.conn.Publish(c.n.subject(newsOf), nil) // otherwise they ask in a moment
	for deadline := time.Now().Add(2 * signEvery); time.Now().Before(deadline) &&
		ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		waits := false
		c.mu.Lock()
		for _, w := range c.workers {
			waits = waits || w.Out == "" && !w.informed && time.Since(w.Seen) < 3*signEvery
		}
		c.mu.Unlock()
		if !waits {
			return
		}
	}
}

// auditSeed returns the coordinator's secret for choosing audits.
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
