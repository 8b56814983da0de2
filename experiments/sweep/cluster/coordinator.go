package cluster

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/experiments/sweep"
)

// Coordinator deals a sweep's points out, and takes what workers make of them.
type Coordinator struct {
	Runner  *sweep.Runner // its Make makes canaries, audits and points that are in dispute, on this machine
	ID      string
	Private string        // the folder of PrivateFolder
	Audit   float64       // the share of points that are made here once more, 0 to 1
	Look    time.Duration // how often it searches for points that nobody makes; 0: LookEvery
	// Say is told what happens, a line each, from several goroutines.
	Say func(line string)

	conn    *nats.Conn
	js      jetstream.JetStream
	n       names
	queue   jetstream.Stream
	taken   jetstream.Stream
	objects jetstream.ObjectStore
	kv      jetstream.KeyValue
	audits  sync.WaitGroup
	making  chan struct{} // points that this machine makes at once
	begun   time.Time

	mu      sync.Mutex
	points  []point
	workers map[string]*Worker
	joining map[string]*candidate // by the worker's ID
}

// say prints a line, with texts of workers made safe for a terminal.
func (c *Coordinator) say(line string) { c.Say(printable(line)) }

// candidate is a worker that has asked to join.
type candidate struct {
	key  string   // its public nkey
	sums []string // of the canaries that it is to prove; nil: they are not made yet
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
	kept     bool // it was there before the sweep was served
	auditing bool
}

// own is the coordinator among workers' IDs.
const own = "coordinator"

// mostFailures is how often a point may fail, on any workers, until it is taken to be the point's fault.
const mostFailures = 3

// ownJobs is how many points the coordinator makes at once: canaries, audits and disputes.
const ownJobs = 2

// WorkerSubjects are the subjects that a worker publishes and subscribes to: with others it has nothing to do.
func WorkerSubjects(id string) (publish, subscribe []string) {
	n := names(id)
	objects := "OBJ_" + n.bucket()
	return []string{
		n.subject("join"), n.subject("proof"), n.subject("sign"), n.subject("result.*"),
		"$JS.API.CONSUMER.INFO." + n.work() + "." + consumer, "$JS.API.CONSUMER.MSG.NEXT." + n.work() + "." + consumer,
		"$JS.ACK." + n.work() + "." + consumer + ".>",
		"$JS.API.STREAM.INFO." + objects, "$JS.API.DIRECT.GET." + objects + ".>", "$JS.API.STREAM.MSG.GET." + objects,
		"$JS.API.STREAM.PURGE." + objects, // what it could send in part
		"$O." + n.bucket() + ".>",
	}, []string{workerInbox + ".>", n.subject(newsOf)}
}

// Run makes the points that are not there yet, and returns what all came to, when they are made or ctx is cancelled. What was begun goes on with
// the next coordinator of the folder.
func (c *Coordinator) Run(ctx context.Context, conn *nats.Conn) ([]sweep.Outcome, error) {
	if err := c.setUp(ctx, conn); err != nil {
		return nil, err
	}
	if err := c.load(ctx); err != nil {
		return nil, err
	}
	subscriptions, err := c.listen(ctx)
	if err != nil {
		return nil, err
	}
	err = c.publishMissing(ctx)
	if err == nil {
		err = c.collect(ctx)
	}
	c.audits.Wait()
	c.writeStatus(ctx.Err() == nil)
	if err == nil && ctx.Err() == nil {
		c.dismiss(ctx)
	}
	for _, s := range subscriptions {
		_ = s.Unsubscribe() // the connection ends too
	}
	if err == nil && ctx.Err() == nil {
		err = c.clear(context.WithoutCancel(ctx))
	}
	return c.outcomes(), err
}

// setUp makes the streams and buckets, or finds them.
func (c *Coordinator) setUp(ctx context.Context, conn *nats.Conn) (err error) {
	c.conn, c.n, c.begun = conn, names(c.ID), time.Now()
	c.making = make(chan struct{}, ownJobs)
	c.workers, c.joining = map[string]*Worker{}, map[string]*candidate{}
	if c.js, err = jetstream.New(conn); err != nil {
		return err
	}
	if c.queue, err = c.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: c.n.work(), Subjects: []string{c.n.subject("work.*")}, Retention: jetstream.WorkQueuePolicy,
	}); err != nil {
		return fmt.Errorf("make the work queue: %w", err)
	}
	if _, err = c.queue.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: lease, MaxDeliver: -1, MaxAckPending: -1,
	}); err != nil {
		return fmt.Errorf("make the work queue: %w", err)
	}
	if c.taken, err = c.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: c.n.results(), Subjects: []string{c.n.subject("result.*")}, Retention: jetstream.WorkQueuePolicy,
	}); err != nil {
		return fmt.Errorf("make the results' stream: %w", err)
	}
	if c.objects, err = c.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: c.n.bucket()}); err != nil {
		return fmt.Errorf("make the results' store: %w", err)
	}
	if c.kv, err = c.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: c.n.state()}); err != nil {
		return fmt.Errorf("make the state's store: %w", err)
	}
	return nil
}

// load reads what an earlier coordinator of the sweep has left.
func (c *Coordinator) load(ctx context.Context) error {
	c.points = make([]point, len(c.Runner.Points))
	keys, err := c.kv.ListKeys(ctx)
	if err != nil {
		return fmt.Errorf("read the state: %w", err)
	}
	for key := range keys.Keys() {
		entry, err := c.kv.Get(ctx, key)
		if err != nil {
			return fmt.Errorf("read the state: %w", err)
		}
		var k int
		if n, _ := fmt.Sscanf(key, "point.%d", &k); n == 1 && k >= 0 && k < len(c.points) {
			err = json.Unmarshal(entry.Value(), &c.points[k])
		} else {
			w := new(Worker)
			if err = json.Unmarshal(entry.Value(), w); err == nil {
				c.workers[w.ID] = w
			}
		}
		if err != nil {
			return fmt.Errorf("read the state: %s: %w", key, err)
		}
	}
	for k := range c.points {
		p, job := &c.points[k], c.Runner.Job(k)
		if _, err := job.Result(); err != nil {
			p.By, p.Sums, p.Audited = "", "", false
			continue
		}
		p.made, p.kept = true, p.By == ""
		if p.kept {
			if p.Sums, err = sumsOf(job.Directory); err != nil {
				return err
			}
		}
		c.maybeAudit(ctx, k)
	}
	return nil
}

// remember keeps a point's state for a coordinator after this one. The caller has locked mu.
func (c *Coordinator) remember(k int) {
	data, _ := json.Marshal(&c.points[k]) // of texts and numbers
	c.keep("point."+strconv.Itoa(k), data)
}

func (c *Coordinator) rememberWorker(w *Worker) {
	data, _ := json.Marshal(w) // of texts and numbers
	c.keep("worker."+w.ID, data)
}

func (c *Coordinator) keep(key string, data []byte) {
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	if _, err := c.kv.Put(ctx, key, data); err != nil {
		c.say("cannot keep the state: " + err.Error())
	}
}

// publishMissing puts into the queue what is not made, nor in the queue, nor among the results.
func (c *Coordinator) publishMissing(ctx context.Context) error {
	known := map[string]bool{}
	for _, of := range []struct { // in this order: a worker publishes a result, and then acknowledges the point
		stream jetstream.Stream
		filter string
	}{{c.queue, "work.*"}, {c.taken, "result.*"}} {
		info, err := of.stream.Info(ctx, jetstream.WithSubjectFilter(c.n.subject(of.filter)))
		if err != nil {
			return fmt.Errorf("read the queue: %w", err)
		}
		for subject := range info.State.Subjects {
			known[subject[len(c.n.subject("")):]] = true
		}
	}
	c.mu.Lock()
	var missing []int
	for k := range c.points {
		if c.points[k].made || c.points[k].Failures >= mostFailures || known[fmt.Sprintf("work.%d", k)] || known[fmt.Sprintf("result.%d", k)] {
			continue
		}
		missing = append(missing, k)
	}
	c.mu.Unlock()
	for _, k := range missing {
		if err := c.publish(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// publish puts a point into the queue.
func (c *Coordinator) publish(ctx context.Context, k int) error {
	job, err := c.Runner.Job(k).Portable()
	if err != nil {
		return err
	}
	job.Processors = 0 // the worker knows what it has
	var message bytes.Buffer
	w := gzip.NewWriter(&message)
	if err := errors.Join(json.NewEncoder(w).Encode(&task{Point: k, Name: c.Runner.Points[k].Name(), Job: job}), w.Close()); err != nil {
		return err
	}
	if most := c.conn.MaxPayload(); int64(message.Len()) > most {
		return fmt.Errorf("%s: what it is read from comes to %d bytes, compressed, and the server takes %d: use --shard", c.Runner.Points[k].Name(), message.Len(), most)
	}
	if _, err := c.js.Publish(ctx, c.n.point(k), message.Bytes(), jetstream.WithRetryAttempts(10)); err != nil {
		return fmt.Errorf("put %s into the queue: %w", c.Runner.Points[k].Name(), err)
	}
	return nil
}

// collect takes results until all points are made.
func (c *Coordinator) collect(ctx context.Context) error {
	// What an earlier coordinator was told, and did not acknowledge, is to come at once.
	if err := c.taken.DeleteConsumer(ctx, consumer); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("read the results: %w", err)
	}
	from, err := c.taken.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: 10 * time.Minute, MaxDeliver: -1, MaxAckPending: -1,
	})
	if err != nil {
		return fmt.Errorf("read the results: %w", err)
	}
	told, looked, line := time.Now(), time.Now(), ""
	for ctx.Err() == nil && !c.over() {
		batch, err := from.Fetch(1, jetstream.FetchMaxWait(time.Second))
		if err != nil {
			c.pause(ctx, err)
			continue
		}
		for message := range batch.Messages() {
			if err := c.takeMessage(ctx, message); err != nil {
				return err
			}
		}
		if time.Since(looked) > c.lookEvery() {
			looked = time.Now()
			if err := c.publishMissing(ctx); err != nil {
				c.pause(ctx, err)
			}
		}
		c.writeStatus(false)
		if time.Since(told) > tellEvery {
			told = time.Now()
			if now := c.Status().Line(); now != line {
				line = now
				c.say(line)
			}
		}
	}
	return nil
}

// takeMessage takes a result that a worker has published. If the result cannot be fetched from the server, it is tried again, mostDeliveries
// times in all, and then set aside.
func (c *Coordinator) takeMessage(ctx context.Context, message jetstream.Msg) error {
	var r result
	if key, err := unseal(message.Subject(), message.Data(), &r); err == nil {
		err := c.take(ctx, &r, key)
		var fetching *fetchError
		if errors.As(err, &fetching) && ctx.Err() == nil {
			meta, failed := message.Metadata()
			if failed == nil && meta.NumDelivered < mostDeliveries {
				c.say(fmt.Sprintf("%v: it is fetched again", err))
				return message.NakWithDelay(retryAfter)
			}
			err = c.setAside(ctx, &r, err)
		}
		if err != nil {
			return err
		}
	}
	if err := message.DoubleAck(ctx); err != nil {
		c.pause(ctx, err) // the result is delivered once more, and is as it was
	} else if r.Object != "" {
		_ = c.objects.Delete(ctx, r.Object) // the whole store is deleted at the end
	}
	return nil
}

const (
	mostDeliveries = 3           // of a result that cannot be fetched
	retryAfter     = time.Second // then it is fetched again
)

// LookEvery is how often the coordinator looks for points that are neither made nor queued, as after a worker acknowledged one without a result.
const LookEvery = 30 * time.Second

func (c *Coordinator) lookEvery() time.Duration { return cmp.Or(c.Look, LookEvery) }

// tellEvery is how often the coordinator says how far all is.
const tellEvery = 10 * time.Second

// pause waits a little after an error of the server's, which may be away for a moment.
func (c *Coordinator) pause(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, nats.ErrTimeout) {
		c.say("the server: " + err.Error())
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
}

// over says that no point is waited for, nor an audit.
func (c *Coordinator) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.points {
		p := &c.points[k]
		if !p.made && p.Failures < mostFailures || p.auditing {
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

// clear removes what the sweep has on the server.
func (c *Coordinator) clear(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	return errors.Join(
		c.js.DeleteStream(ctx, c.n.work()), c.js.DeleteStream(ctx, c.n.results()),
		c.js.DeleteObjectStore(ctx, c.n.bucket()), c.js.DeleteKeyValue(ctx, c.n.state()),
		os.RemoveAll(filepath.Join(c.Private, "own")), os.RemoveAll(filepath.Join(c.Private, "incoming")),
	)
}

// make makes a job on this machine, in a folder of its own, and returns its sums. The folder is there until the next is made under the name.
func (c *Coordinator) make(ctx context.Context, name string, job *sweep.Job) (directory, sums string, err error) {
	c.making <- struct{}{}
	defer func() { <-c.making }()
	mine := *job
	mine.Directory = filepath.Join(c.Private, "own", name)
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

// chosen says whether a point is to be audited. It is chance to whoever does not know the sweep's secrets, and the same after a restart.
func (c *Coordinator) chosen(k int) bool {
	sum := sha256.Sum256(fmt.Appendf(nil, "audit %s %s %d", c.ID, c.auditSeed(), k))
	return float64(binary.BigEndian.Uint64(sum[:8])) < c.Audit*math.MaxUint64
}
