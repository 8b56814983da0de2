package cluster

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/internal/workers"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// Hand is a worker: it makes points for a coordinator.
type Hand struct {
	Name        string    // for people; its ID contains it
	Key         *Identity // its own, with which it connects
	ID          string    // of the sweep
	Coordinator string    // the coordinator's public key: the worker accepts points from no one else
	Jobs        int       // number of concurrent points
	Processors  int       // of each point, as in runner.Options
	Directory   string    // for the points in progress; belongs to the worker
	// Version and Build identify the program.
	Version, Build string
	// Timeout is how long it waits for an absent coordinator.
	Timeout time.Duration
	Make    func(ctx context.Context, job *sweep.Job, progress engine.Progress) error
	// Say is called with a line for each event, from several goroutines.
	Say func(line string)

	conn *nats.Conn
	n    names
	self string
	made atomic.Int64

	mu      sync.Mutex
	running map[string]int // points by folder, until they are sent
}

// signEvery is the interval of a worker's signs of life.
const signEvery = 2 * time.Second

// Reasons for which a worker ends.
var (
	// ErrOut reports that the coordinator has excluded this worker.
	ErrOut = errors.New("the coordinator has excluded this worker")
	// ErrRefused reports that the coordinator did not admit this worker.
	ErrRefused = errors.New("the coordinator does not admit this worker")
	// ErrAway reports that no coordinator answered within the timeout.
	ErrAway = errors.New("the coordinator does not answer")
	errOver = errors.New("there are no more points")
)

// Run makes points until there are none, and returns how many it has made.
func (h *Hand) Run(ctx context.Context, conn *nats.Conn) (made int, err error) {
	h.conn, h.n, h.running = conn, names(h.ID), map[string]int{}
	h.self = h.Name + "-" + strings.ToLower(h.Key.public[len(h.Key.public)-6:])
	if err := h.join(ctx); err != nil {
		return 0, over(err)
	}
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	all.Go(func() { stop(h.stayIn(working)) })
	for slot := range h.Jobs {
		all.Go(func() { h.work(working, slot) })
	}
	all.Wait()
	if ctx.Err() != nil {
		h.leave(ctx)
	}
	return int(h.made.Load()), over(context.Cause(working))
}

// over returns nil for the regular end.
func over(err error) error {
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

// answerTimeout is how long the worker waits for an answer before it asks again.
const answerTimeout = canaryTimeout + 10*time.Second

// ask sends the coordinator a request in JSON.
func (h *Hand) ask(ctx context.Context, what string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	return h.request(ctx, what, body, answer)
}

// request sends a request until the coordinator answers, at most for the worker's timeout. It ignores answers to other
// requests or without the coordinator's signature.
func (h *Hand) request(ctx context.Context, what string, body []byte, answer any) error {
	nonce := make([]byte, nonceSize, nonceSize+len(body))
	if _, err := rand.Read(nonce); err != nil {
		return err
	}
	subject := h.n.request(what, h.Key.public)
	data, err := h.Key.seal(subject, append(nonce, body...))
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(h.Timeout); ; {
		one, stop := context.WithTimeout(ctx, answerTimeout)
		m, err := h.conn.RequestWithContext(one, subject, data)
		stop()
		if err == nil {
			var said []byte
			if said, err = unseal(h.Coordinator, string(data[:ed25519.SignatureSize]), m.Data); err == nil {
				return json.Unmarshal(said, answer)
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrConnectionClosed) || time.Now().After(deadline) {
			return fmt.Errorf("%w: %w", ErrAway, err)
		}
		rest(ctx)
	}
}

// askEvery is the interval of requests for something that is not yet available.
const askEvery = time.Second

// rest waits until it is time to ask again, or ctx is cancelled.
func rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(askEvery):
	}
}

// join proves to the coordinator that this worker computes the same results.
func (h *Hand) join(ctx context.Context) error {
	for {
		var in welcome
		err := h.ask(ctx, askJoin, &hello{Worker: h.self, Version: h.Version, Build: h.Build}, &in)
		if err != nil {
			return err
		}
		if in.Refused != "" {
			return fmt.Errorf("%w: %s", ErrRefused, in.Refused)
		}
		p := proof{Worker: h.self, Set: in.Set}
		for i, job := range in.Canaries {
			sums, err := h.canary(ctx, i, job)
			if err != nil {
				return fmt.Errorf("cannot make the canary: %w", err)
			}
			p.Sums = append(p.Sums, sums)
		}
		var w word
		if err := h.ask(ctx, askProof, &p, &w); err != nil {
			return err
		}
		switch {
		case w.Out != "":
			return fmt.Errorf("%w: %s", ErrOut, w.Out)
		case !w.Unknown:
			h.Say("joined as " + h.self)
			return nil
		}
		rest(ctx)
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

// stayIn sends a sign of life every few seconds, and returns the reason to end.
func (h *Hand) stayIn(ctx context.Context) error {
	news := make(chan *nats.Msg, 1) // of several at once, one is enough
	subscription, err := h.conn.ChanSubscribe(h.n.subject(newsOf), news)
	if err != nil {
		return err
	}
	defer func() { _ = subscription.Unsubscribe() }() // the connection ends, too
	for {
		h.mu.Lock()
		s := sign{Worker: h.self, Running: slices.AppendSeq([]int{}, maps.Values(h.running))}
		h.mu.Unlock()
		var w word
		if err := h.ask(ctx, askSign, &s, &w); err != nil {
			return err
		}
		switch {
		case w.Out != "":
			return fmt.Errorf("%w: %s", ErrOut, w.Out)
		case w.Over:
			return errOver
		case w.Unknown: // the coordinator has another state of the sweep
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

// leave says that the worker makes no more points, so that others get its points at once.
func (h *Hand) leave(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer stop()
	var w word
	_ = h.ask(ctx, askSign, &sign{Worker: h.self, Leaving: true}, &w) // otherwise they get them after its lease
}

// leaveTimeout is how long an ending worker tries to send a result and to sign off.
const leaveTimeout = 5 * time.Second

// work makes one point after the other. It makes the next one while it sends the previous.
func (h *Hand) work(ctx context.Context, slot int) {
	var sending sync.WaitGroup
	defer sending.Wait()
	for n := 0; ctx.Err() == nil; n++ {
		var w word
		err := h.ask(ctx, askNext, &want{Worker: h.self}, &w)
		if err == nil && w.Task != nil {
			var t *task
			if t, err = readTask(w.Task); err == nil {
				directory := filepath.Join(h.Directory, fmt.Sprintf("point-%d-%d", slot, n%2))
				out := h.point(ctx, directory, t)
				sending.Wait()
				sending.Go(func() { h.finish(ctx, directory, t, out) })
				continue
			}
		}
		if err != nil && ctx.Err() == nil {
			h.Say(fmt.Sprintf("cannot get a point: %v", err))
		}
		rest(ctx)
	}
}

// point makes one point in a folder. nil: there is nothing to send.
func (h *Hand) point(ctx context.Context, directory string, t *task) *result {
	h.mu.Lock()
	h.running[directory] = t.Point
	h.mu.Unlock()
	t.Job.Directory, t.Job.Within, t.Job.Processors = directory, directory, workers.Share(h.Processors, h.Jobs)
	start := time.Now()
	made := h.Make(ctx, t.Job, nil)
	out := &result{Worker: h.self, Point: t.Point, Hash: t.Job.Hash, Wall: time.Since(start)}
	if ctx.Err() != nil {
		return nil
	}
	if _, err := t.Job.Result(); err != nil {
		if made == nil {
			made = err
		}
		out.Error = made.Error()
		h.Say(fmt.Sprintf("failed  %s: %v", t.Name, made))
	}
	return out
}

// finish sends the result of a point, and removes its folder.
func (h *Hand) finish(ctx context.Context, directory string, t *task, out *result) {
	defer func() {
		if err := os.RemoveAll(directory); err != nil {
			h.Say(err.Error())
		}
		h.mu.Lock()
		delete(h.running, directory)
		h.mu.Unlock()
	}()
	if out == nil {
		return
	}
	if err := h.send(ctx, directory, out); err != nil {
		h.Say(fmt.Sprintf("cannot send %s: %v", t.Name, err))
		return
	}
	if out.Error == "" {
		h.made.Add(1)
		h.Say(fmt.Sprintf("made  %s  %.1fs", t.Name, out.Wall.Seconds()))
	}
}

var (
	errUnwanted = errors.New("another worker has made it")
	errUnsent   = errors.New("the coordinator has not accepted it")
)

// mostSends limits the attempts to send a result.
const mostSends = 30

// send sends a point's folder and result.
func (h *Hand) send(ctx context.Context, directory string, out *result) error {
	ctx, stop := outlive(ctx, leaveTimeout)
	defer stop()
	var archive *os.File
	if out.Error == "" {
		var err error
		if archive, err = os.Create(directory + ".tar.gz"); err != nil {
			return err
		}
		defer os.Remove(archive.Name())
		defer archive.Close()
		sum := sha256.New()
		if err := pack(io.MultiWriter(archive, sum), directory); err != nil {
			return err
		}
		if out.Size, err = archive.Seek(0, io.SeekCurrent); err != nil {
			return err
		}
		out.Sum = hex.EncodeToString(sum.Sum(nil))
	}
	for n := 1; ; n++ {
		err := h.sendOnce(ctx, archive, out)
		if !errors.Is(err, errUnsent) || n == mostSends {
			return err
		}
		rest(ctx)
	}
}

// sendOnce sends a result and its archive, if it has one.
func (h *Hand) sendOnce(ctx context.Context, archive *os.File, out *result) error {
	buffer := make([]byte, pieceHeader+pieceSize)
	binary.BigEndian.PutUint64(buffer, uint64(out.Point))
	for have := int64(0); have < out.Size; {
		binary.BigEndian.PutUint64(buffer[8:], uint64(have))
		n, err := archive.ReadAt(buffer[pieceHeader:], have)
		if n == 0 {
			return err
		}
		var w word
		if err := h.request(ctx, askPiece, buffer[:pieceHeader+n], &w); err != nil {
			return err
		}
		if err := w.sent(); err != nil {
			return err
		}
		have = w.Have
	}
	var w word
	if err := h.ask(ctx, askResult, out, &w); err != nil {
		return err
	}
	return w.sent()
}

// sent returns an error if the coordinator has not accepted the result.
func (w *word) sent() error {
	switch {
	case w.Unwanted:
		return errUnwanted
	case w.Unknown:
		return errUnsent
	case w.Again != "":
		return fmt.Errorf("%w: %s", errUnsent, w.Again)
	}
	return nil
}

// outlive returns a context that is cancelled a while after its parent.
func outlive(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() { time.AfterFunc(d, cancel) })
	return ctx, func() { stop(); cancel() }
}
