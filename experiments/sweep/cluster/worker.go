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

// Worker represents a worker, which makes points for a coordinator.
type Worker struct {
	Name        string    // for people; its ID contains it
	Key         *Identity // its own, with which it connects
	ID          string    // of the sweep
	Coordinator string    // the coordinator's public key: the worker accepts points from no one else
	Jobs        int       // number of concurrent points
	Processors  int       // of each point, as in runner.Options
	Directory   string    // for the points in progress; belongs to the worker
	// Version and Build identify the program.
	Version, Build string
	// Timeout limits how long it waits for an absent coordinator.
	Timeout time.Duration
	Make    func(ctx context.Context, job *sweep.Job, progress engine.Progress) error
	// Say receives a line for each event, from several goroutines.
	Say func(line string)

	conn *nats.Conn
	n    names
	self string
	made atomic.Int64
	wake chan struct{} // there may be a point

	mu      sync.Mutex
	running map[string]int // points by folder, until they are sent
}

// signEvery sets the interval of a worker's signs of life.
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
func (w *Worker) Run(ctx context.Context, conn *nats.Conn) (made int, err error) {
	w.conn, w.n, w.running, w.wake = conn, names(w.ID), map[string]int{}, make(chan struct{}, w.Jobs)
	w.self = w.Name + "-" + strings.ToLower(w.Key.public[len(w.Key.public)-6:])
	if err := w.join(ctx); err != nil {
		return 0, over(err)
	}
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	all.Go(func() { stop(w.stayIn(working)) })
	for slot := range w.Jobs {
		all.Go(func() { w.work(working, stop, slot) })
	}
	all.Wait()
	if ctx.Err() != nil {
		w.leave(ctx)
	}
	return int(w.made.Load()), over(context.Cause(working))
}

// over returns nil for the regular end.
func over(err error) error {
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

// answerTimeout limits how long the worker waits for an answer before it asks again.
const answerTimeout = canaryTimeout + 10*time.Second

// ask sends the coordinator a request in JSON.
func (w *Worker) ask(ctx context.Context, what string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	return w.request(ctx, what, body, answer)
}

// request sends a request until the coordinator answers, at most for the worker's timeout. It ignores answers to other
// requests or without the coordinator's signature.
func (w *Worker) request(ctx context.Context, what string, body []byte, answer any) error {
	nonce := make([]byte, nonceSize, nonceSize+len(body))
	if _, err := rand.Read(nonce); err != nil {
		return err
	}
	subject := w.n.request(what, w.Key.public)
	data, err := w.Key.seal(subject, append(nonce, body...))
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(w.Timeout); ; {
		one, stop := context.WithTimeout(ctx, answerTimeout)
		m, err := w.conn.RequestWithContext(one, subject, data)
		stop()
		if err == nil {
			var said []byte
			if said, err = unseal(w.Coordinator, string(data[:ed25519.SignatureSize]), m.Data); err == nil {
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

// askEvery sets the interval of requests for something that is not yet available.
const askEvery = time.Second

// rest waits until it is time to ask again, or ctx is cancelled.
func rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(askEvery):
	}
}

// join proves to the coordinator that this worker computes the same results.
func (w *Worker) join(ctx context.Context) error {
	for {
		var in welcome
		err := w.ask(ctx, askJoin, &hello{Worker: w.self, Version: w.Version, Build: w.Build}, &in)
		if err != nil {
			return err
		}
		if in.Refused != "" {
			return fmt.Errorf("%w: %s", ErrRefused, in.Refused)
		}
		p := proof{Worker: w.self, Set: in.Set}
		for i, job := range in.Canaries {
			sums, err := w.canary(ctx, i, job)
			if err != nil {
				return fmt.Errorf("cannot make the canary: %w", err)
			}
			p.Sums = append(p.Sums, sums)
		}
		var answer word
		if err := w.ask(ctx, askProof, &p, &answer); err != nil {
			return err
		}
		switch {
		case answer.Out != "":
			return fmt.Errorf("%w: %s", ErrOut, answer.Out)
		case !answer.Unknown:
			w.Say("joined as " + w.self)
			return nil
		}
		rest(ctx)
	}
}

func (w *Worker) canary(ctx context.Context, i int, job *sweep.Job) (sums string, err error) {
	job.Directory = filepath.Join(w.Directory, fmt.Sprintf("canary-%d", i))
	job.Within = job.Directory
	defer os.RemoveAll(job.Directory)
	made := w.Make(ctx, job, nil)
	if sums, err = sumsOf(job.Directory); err != nil {
		return "", errors.Join(made, err)
	}
	return sums, nil
}

// stayIn sends a sign of life every few seconds, and returns the reason to end.
func (w *Worker) stayIn(ctx context.Context) error {
	news := make(chan *nats.Msg, 1) // of several at once, one is enough
	subscription, err := w.conn.ChanSubscribe(w.n.subject(newsOf), news)
	if err != nil {
		return err
	}
	defer func() { _ = subscription.Unsubscribe() }() // the connection ends, too
	for {
		w.mu.Lock()
		s := sign{Worker: w.self, Running: slices.AppendSeq([]int{}, maps.Values(w.running))}
		w.mu.Unlock()
		var answer word
		if err := w.ask(ctx, askSign, &s, &answer); err != nil {
			return err
		}
		switch {
		case answer.Out != "":
			return fmt.Errorf("%w: %s", ErrOut, answer.Out)
		case answer.Over:
			return errOver
		case answer.Unknown: // the coordinator has another state of the sweep
			if err := w.join(ctx); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-news:
			for range w.Jobs {
				select {
				case w.wake <- struct{}{}:
				default: // it is awake
				}
			}
		case <-time.After(signEvery):
		}
	}
}

// leave announces that the worker makes no more points, so that others get its points at once.
func (w *Worker) leave(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer stop()
	var answer word
	_ = w.ask(ctx, askSign, &sign{Worker: w.self, Leaving: true}, &answer) // otherwise they get them after its lease
}

// leaveTimeout limits how long an ending worker tries to send a result and to sign off.
const leaveTimeout = 5 * time.Second

// work makes one point after the other, until there are no more. It makes the next one while it sends the previous.
func (w *Worker) work(ctx context.Context, stop context.CancelCauseFunc, slot int) {
	var sending sync.WaitGroup
	defer sending.Wait()
	for n := 0; ctx.Err() == nil; {
		var answer word
		err := w.ask(ctx, askNext, &want{Worker: w.self}, &answer)
		if err == nil && answer.Task != nil {
			var t *task
			if t, err = readTask(answer.Task); err == nil {
				n++ // the folder of the previous point may still be in use, not the one before
				directory := filepath.Join(w.Directory, fmt.Sprintf("point-%d-%d", slot, n%2))
				out := w.point(ctx, directory, t)
				sending.Wait()
				sending.Go(func() { w.finish(ctx, directory, t, out) })
				continue
			}
		}
		if err == nil && answer.Over { // its sign of life may still wait for the answer of a coordinator that has died
			stop(errOver)
			return
		}
		if err != nil && ctx.Err() == nil {
			w.Say(fmt.Sprintf("cannot get a point: %v", err))
		}
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-time.After(askEvery):
		}
	}
}

// point makes one point in a folder. nil: there is nothing to send.
func (w *Worker) point(ctx context.Context, directory string, t *task) *result {
	w.mu.Lock()
	w.running[directory] = t.Point
	w.mu.Unlock()
	t.Job.Directory, t.Job.Within, t.Job.Processors = directory, directory, workers.Share(w.Processors, w.Jobs)
	start := time.Now()
	made := w.Make(ctx, t.Job, nil)
	out := &result{Worker: w.self, Point: t.Point, Hash: t.Job.Hash, Wall: time.Since(start)}
	if ctx.Err() != nil {
		return nil
	}
	if _, err := t.Job.Result(); err != nil {
		if made == nil {
			made = err
		}
		out.Error = made.Error()
		w.Say(fmt.Sprintf("failed  %s: %v", t.Name, made))
	}
	return out
}

// finish sends the result of a point, and removes its folder.
func (w *Worker) finish(ctx context.Context, directory string, t *task, out *result) {
	defer func() {
		if err := os.RemoveAll(directory); err != nil {
			w.Say(err.Error())
		}
		w.mu.Lock()
		delete(w.running, directory)
		w.mu.Unlock()
	}()
	if out == nil {
		return
	}
	if err := w.send(ctx, directory, out); err != nil {
		w.Say(fmt.Sprintf("cannot send %s: %v", t.Name, err))
		return
	}
	if out.Error == "" {
		w.made.Add(1)
		w.Say(fmt.Sprintf("made  %s  %.1fs", t.Name, out.Wall.Seconds()))
	}
}

var (
	errUnwanted = errors.New("another worker has made it")
	errUnsent   = errors.New("the coordinator has not accepted it")
)

// mostSends limits the attempts to send a result.
const mostSends = 30

// send sends a point's folder and result.
func (w *Worker) send(ctx context.Context, directory string, out *result) error {
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
		err := w.sendOnce(ctx, archive, out)
		if !errors.Is(err, errUnsent) || n == mostSends {
			return err
		}
		rest(ctx)
	}
}

// sendOnce sends a result and its archive, if it has one.
func (w *Worker) sendOnce(ctx context.Context, archive *os.File, out *result) error {
	buffer := make([]byte, pieceHeader+pieceSize)
	binary.BigEndian.PutUint64(buffer, uint64(out.Point))
	for have := int64(0); have < out.Size; {
		binary.BigEndian.PutUint64(buffer[8:], uint64(have))
		n, err := archive.ReadAt(buffer[pieceHeader:], have)
		if n == 0 {
			return err
		}
		var answer word
		if err := w.request(ctx, askPiece, buffer[:pieceHeader+n], &answer); err != nil {
			return err
		}
		if err := answer.sent(); err != nil {
			return err
		}
		have = answer.Have
	}
	var answer word
	if err := w.ask(ctx, askResult, out, &answer); err != nil {
		return err
	}
	return answer.sent()
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
