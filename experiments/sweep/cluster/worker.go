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

// Hand makes points for a coordinator.
type Hand struct {
	Name        string    // for people; an ID is made of it
	Key         *Identity // its own, with which it is connected
	ID          string    // the sweep's
	Coordinator string    // the coordinator's public key: nobody else gives this worker points
	Jobs        int       // points at the same time
	Processors  int       // of each point, as in runner.Options
	Directory   string    // of the points that are being made; belongs to the worker
	// Version and Build are the program's.
	Version, Build string
	// Timeout is for how long it waits for a coordinator that is away.
	Timeout time.Duration
	Make    func(ctx context.Context, job *sweep.Job, progress engine.Progress) error
	// Say is told what happens, a line each, from several goroutines.
	Say func(line string)

	conn *nats.Conn
	n    names
	self string
	made atomic.Int64

	mu      sync.Mutex
	running map[string]int // points by folder, until they are sent
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

// over is nil of the end that is to be.
func over(err error) error {
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

// answerTimeout is how long the worker waits for an answer until it asks again.
const answerTimeout = canaryTimeout + 10*time.Second

// ask asks the coordinator something in JSON.
func (h *Hand) ask(ctx context.Context, what string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	return h.request(ctx, what, body, answer)
}

// request sends a request until the coordinator has answered it, for as long as the worker's timeout. An answer that
// the coordinator has not signed, or that is to another request, counts as none.
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

// askEvery is how often the worker asks for what is not there yet.
const askEvery = time.Second

// rest waits until it is time to ask again, or ctx is cancelled.
func rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(askEvery):
	}
}

// join proves to the coordinator that this worker computes what it does.
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
				return fmt.Errorf("make the canary: %w", err)
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

// stayIn says every few seconds that the worker is there, and returns why it is to end.
func (h *Hand) stayIn(ctx context.Context) error {
	news := make(chan *nats.Msg, 1) // of several at once one is enough
	subscription, err := h.conn.ChanSubscribe(h.n.subject(newsOf), news)
	if err != nil {
		return err
	}
	defer func() { _ = subscription.Unsubscribe() }() // the connection ends too
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

// leave says that the worker makes no more points, so that others get what it has at once.
func (h *Hand) leave(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer stop()
	var w word
	_ = h.ask(ctx, askSign, &sign{Worker: h.self, Leaving: true}, &w) // else they get it after its lease
}

// leaveTimeout is how long a worker that is to end still sends a result, and says that it ends.
const leaveTimeout = 5 * time.Second

// work makes points, one after the other. It makes the next one while the last one is sent.
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
			h.Say(fmt.Sprintf("no point: %v", err))
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

// finish sends what a point came to, and removes its folder.
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
		h.Say(fmt.Sprintf("%s could not be sent: %v", t.Name, err))
		return
	}
	if out.Error == "" {
		h.made.Add(1)
		h.Say(fmt.Sprintf("made  %s  %.1fs", t.Name, out.Wall.Seconds()))
	}
}

var (
	errUnwanted = errors.New("another worker has made it")
	errUnsent   = errors.New("the coordinator has not taken it")
)

// mostSends is how often a result is sent.
const mostSends = 30

// send sends a point's folder, and what the point came to.
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

// sendOnce sends a result's archive, if it has one, and the result.
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

// sent says whether the coordinator has taken what was sent.
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
