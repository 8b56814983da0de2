package cluster

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

// Hand makes points for a coordinator.
type Hand struct {
	Name       string // for people; an ID is made of it
	ID         string // the sweep's
	Jobs       int    // points at the same time
	Processors int    // of each point
	Directory  string // of the points that are being made; belongs to the worker
	// Version and Build are the program's.
	Version, Build string
	// Timeout is for how long it waits for a coordinator that is away.
	Timeout time.Duration
	Make    func(ctx context.Context, job *sweep.Job, progress engine.Progress) error
	// Say is told what happens, a line each, from several goroutines.
	Say func(line string)

	conn    *nats.Conn
	n       names
	self    string
	key     *identity
	queue   jetstream.Consumer
	objects jetstream.ObjectStore
	js      jetstream.JetStream
	hops    atomic.Int64
	made    atomic.Int64

	mu      sync.Mutex
	running map[int]string // points by name
}

// signEvery is how often a worker says that it is there.
const signEvery = 2 * time.Second

// Reasons for which a worker ends.
var (
	// ErrOut says that the coordinator takes no more of this worker.
	ErrOut = errors.New("the coordinator has shut this worker out")
	// ErrRefused says that the worker was not let in.
	ErrRefused = errors.New("the coordinator does not take this worker")
	// ErrAway says that no coordinator has answered for as long as the worker waits.
	ErrAway = errors.New("the coordinator is away")
	errOver = errors.New("there are no more points")
)

// Run makes points until there are none, and says how many it has made.
func (h *Hand) Run(ctx context.Context, conn *nats.Conn) (made int, err error) {
	h.conn, h.n, h.running = conn, names(h.ID), map[int]string{}
	random := make([]byte, 3)
	if _, err := rand.Read(random); err != nil {
		return 0, err
	}
	h.self = h.Name + "-" + hex.EncodeToString(random)
	if h.key, err = newIdentity(); err != nil {
		return 0, err
	}
	if h.js, err = jetstream.New(conn); err != nil {
		return 0, err
	}
	if err := h.join(ctx); err != nil {
		return 0, over(err)
	}
	if err := h.open(ctx); err != nil {
		return 0, over(err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	all.Go(func() { stop(h.stayIn(ctx)) })
	for slot := range h.Jobs {
		all.Go(func() { h.work(ctx, slot) })
	}
	all.Wait()
	return int(h.made.Load()), over(context.Cause(ctx))
}

// over is nil of the end that is to be.
func over(err error) error {
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

// ask sends a request until it is answered, for as long as the worker's timeout.
func (h *Hand) ask(ctx context.Context, what string, question, answer any) error {
	data, err := h.key.seal(h.n.subject(what), question)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(h.Timeout); ; {
		one, stop := context.WithTimeout(ctx, canaryTimeout+10*time.Second)
		m, err := h.conn.RequestWithContext(one, h.n.subject(what), data)
		stop()
		if err == nil {
			return json.Unmarshal(m.Data, answer)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrConnectionClosed) || time.Now().After(deadline) {
			return fmt.Errorf("%w: %w", ErrAway, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// join proves to the coordinator that this worker computes what it does.
func (h *Hand) join(ctx context.Context) error {
	for {
		var in welcome
		err := h.ask(ctx, "join", &hello{Worker: h.self, Version: h.Version, Build: h.Build, System: runtime.GOOS + "/" + runtime.GOARCH, Jobs: h.Jobs}, &in)
		if err != nil {
			return err
		}
		if in.Refused != "" {
			return fmt.Errorf("%w: %s", ErrRefused, in.Refused)
		}
		p := proof{Worker: h.self}
		for i, job := range in.Canaries {
			sums, err := h.canary(ctx, i, job)
			if err != nil {
				return fmt.Errorf("make the canary: %w", err)
			}
			p.Sums = append(p.Sums, sums)
		}
		var w word
		if err := h.ask(ctx, "proof", &p, &w); err != nil {
			return err
		}
		switch {
		case w.Out != "":
			return fmt.Errorf("%w: %s", ErrOut, w.Out)
		case w.Over:
			return errOver
		case !w.Unknown:
			h.Say("joined as " + h.self)
			return nil
		}
	}
}

func (h *Hand) canary(ctx context.Context, i int, job *sweep.Job) (sums string, err error) {
	job.Directory = filepath.Join(h.Directory, fmt.Sprintf("canary-%d", i))
	job.Within = job.Directory
	defer os.RemoveAll(job.Directory)
	made := h.Make(ctx, job, nil)
	if sums, err = sumsOf(job.Directory); err != nil {
		return "", errors.Join(made, err)
	}
	return sums, nil
}

// open opens the queue and the results' store.
func (h *Hand) open(ctx context.Context) error {
	var err error
	for deadline := time.Now().Add(h.Timeout); ; time.Sleep(200 * time.Millisecond) {
		if h.queue, err = h.js.Consumer(ctx, h.n.work(), consumer); err == nil {
			if h.objects, err = h.js.ObjectStore(ctx, h.n.bucket()); err == nil {
				return nil
			}
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return fmt.Errorf("open the queue: %w", err)
		}
	}
}

// stayIn says every few seconds that the worker is there, and returns why it is to end.
func (h *Hand) stayIn(ctx context.Context) error {
	news := make(chan *nats.Msg, 1) // of several at once one is enough
	subscription, err := h.conn.ChanSubscribe(h.n.subject(newsOf), news)
	if err != nil {
		return err
	}
	defer func() { _ = subscription.Unsubscribe() }() // the connection ends too
	for {
		s := sign{Worker: h.self, Hops: h.hops.Load(), Running: []string{}}
		h.mu.Lock()
		for _, name := range h.running {
			s.Running = append(s.Running, name)
		}
		h.mu.Unlock()
		var w word
		if err := h.ask(ctx, "sign", &s, &w); err != nil {
			return err
		}
		switch {
		case w.Out != "":
			return fmt.Errorf("%w: %s", ErrOut, w.Out)
		case w.Over:
			return errOver
		case w.Unknown: // the state of the sweep is another one's
			if err := h.join(ctx); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-news:
		case <-time.After(signEvery):
		}
	}
}

// work makes points, one after the other.
func (h *Hand) work(ctx context.Context, slot int) {
	for ctx.Err() == nil {
		batch, err := h.queue.Fetch(1, jetstream.FetchMaxWait(2*time.Second))
		if err == nil {
			for message := range batch.Messages() {
				h.point(ctx, slot, message)
			}
			err = batch.Error()
		}
		if err != nil && !errors.Is(err, nats.ErrTimeout) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

// point makes one point, sends what it came to, and only then says that it is done.
func (h *Hand) point(ctx context.Context, slot int, message jetstream.Msg) {
	var t task
	r, err := gzip.NewReader(bytes.NewReader(message.Data()))
	if err == nil {
		err = json.NewDecoder(r).Decode(&t)
	}
	if err != nil || t.Job == nil {
		h.Say(fmt.Sprintf("a point cannot be read: %v", err))
		return
	}
	h.mu.Lock()
	h.running[slot] = t.Name
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.running, slot)
		h.mu.Unlock()
	}()
	beating, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for {
			select {
			case <-beating.Done():
				return
			case <-time.After(lease / 5):
				_ = message.InProgress() // if it is lost the next one does
			}
		}
	}()
	out := result{Worker: h.self, Point: t.Point, Hash: t.Job.Hash}
	t.Job.Directory = filepath.Join(h.Directory, fmt.Sprintf("point-%d", slot))
	t.Job.Within, t.Job.Processors = t.Job.Directory, h.Processors
	defer os.RemoveAll(t.Job.Directory)
	if err := os.RemoveAll(t.Job.Directory); err != nil {
		h.Say(err.Error())
		return
	}
	before := h.hops.Load()
	start := time.Now()
	made := h.Make(ctx, t.Job, func(_ vtime.Time, n *engine.Totals) { h.hops.Store(before + n.Hops) })
	out.Wall = time.Since(start)
	if ctx.Err() != nil {
		_ = message.Nak() // another has it at once, or after its lease
		return
	}
	if _, err := t.Job.Result(); err != nil {
		if made == nil {
			made = err
		}
		out.Error = made.Error()
		h.Say(fmt.Sprintf("failed  %s: %v", t.Name, made))
	}
	if err := h.send(ctx, &t, &out); err != nil {
		h.Say(fmt.Sprintf("%s could not be sent: %v", t.Name, err))
		_ = message.Nak()
		return
	}
	if err := message.DoubleAck(ctx); err != nil {
		h.Say(fmt.Sprintf("%s could not be acknowledged, and may be made twice: %v", t.Name, err))
	}
	if out.Error == "" {
		h.made.Add(1)
		h.Say(fmt.Sprintf("made  %s  %.1fs", t.Name, out.Wall.Seconds()))
	}
}

// sendTimeout is how long it may take to send a point's results.
const sendTimeout = 10 * time.Minute

// messageSize is the size of the pieces that results are sent in, in bytes: an object store's.
const messageSize = 128 << 10

// send puts a point's folder into the results' store, and says so.
func (h *Hand) send(ctx context.Context, t *task, out *result) error {
	ctx, stop := context.WithTimeout(ctx, sendTimeout)
	defer stop()
	if out.Error == "" {
		random := make([]byte, 12)
		if _, err := rand.Read(random); err != nil {
			return err
		}
		out.Object = fmt.Sprintf("%d-%s", t.Point, hex.EncodeToString(random))
		from, to := io.Pipe()
		go func() { // in pieces of a message each: every write would be one
			buffer := bufio.NewWriterSize(to, messageSize)
			to.CloseWithError(errors.Join(pack(buffer, t.Job.Directory), buffer.Flush()))
		}()
		_, err := h.objects.Put(ctx, jetstream.ObjectMeta{Name: out.Object}, from)
		from.CloseWithError(err)
		if err != nil {
			return err
		}
	}
	data, err := h.key.seal(h.n.result(t.Point), out)
	if err != nil {
		return err
	}
	_, err = h.js.Publish(ctx, h.n.result(t.Point), data, jetstream.WithRetryAttempts(10))
	return err
}
