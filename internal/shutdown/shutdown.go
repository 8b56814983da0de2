// Package shutdown makes a signal end the process even if the process is stuck: reading from a pipe that nobody writes
// to, writing to one that nobody reads, waiting for a lock, or in an endless loop of a user's code.
//
// A command calls Start, after which signals end it. Code with results to save takes a Context, which a signal cancels.
// The process then waits as long as that code calls Alive at least once in each period of quiescence, but at most for
// the time most. Then, or at once if no code has a Context, it calls the functions given to Finally and Discard, and
// exits.
package shutdown

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	// quiescence limits how long code that saves results may go without calling Alive. With both uses of exitTime, a
	// silent process ends within two seconds.
	quiescence = 1500 * time.Millisecond
	// most limits how long Alive and Wait can postpone the end.
	most = 10 * time.Second
)

const (
	// exitTime limits the functions given to Finally and Discard, and then the last message, because either may block.
	exitTime = 200 * time.Millisecond
	// period is the time between two checks of these limits.
	period = 20 * time.Millisecond
)

// process holds the state of this process's end.
var process = struct {
	mu       sync.Mutex
	code     int
	begun    bool
	contexts map[*user]struct{}
	finals   map[*user]func()
	discards map[*user]func()

	signal  atomic.Int32 // number of the first signal; 0: none
	ends    atomic.Bool  // begun, for reading without the mutex
	heard   atomic.Int64 // number of calls of Alive since begun
	waiting atomic.Int32 // number of calls of Wait that are not over
}{code: 1, contexts: map[*user]struct{}{}, finals: map[*user]func(){}, discards: map[*user]func(){}}

// user identifies a call of Context, Finally or Discard.
type user struct{ cancel context.CancelFunc }

// Start makes SIGINT, SIGTERM and SIGHUP end the process, with this exit code if it has to be forced. Signals that
// the process was started to ignore, as by nohup, stay ignored. stop restores the signals' default effects.
func Start(code int) (stop func()) {
	process.mu.Lock()
	process.code = code
	process.mu.Unlock()
	signals := make(chan os.Signal, 1)
	over := make(chan struct{})
	var listening sync.WaitGroup
	for _, s := range endings {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	listening.Go(func() {
		for {
			select {
			case s := <-signals:
				if number, ok := s.(syscall.Signal); ok {
					process.signal.CompareAndSwap(0, int32(number))
				}
				Begin()
			case <-over:
				return
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(over)
		listening.Wait()
	}
}

// Begin ends the process as a signal does.
func Begin() {
	process.mu.Lock()
	defer process.mu.Unlock()
	if process.begun {
		return
	}
	process.begun = true
	process.ends.Store(true)
	if len(process.contexts) == 0 {
		go force()
		return
	}
	for u := range process.contexts {
		u.cancel()
	}
	go func() {
		// Counting periods, not wall-clock time, excludes the time for which the process is stopped or gets no
		// processor.
		var heard int64
		var quiet, all time.Duration
		for range time.Tick(period) {
			quiet, all = quiet+period, all+period
			if now := process.heard.Load(); now != heard || process.waiting.Load() > 0 {
				heard, quiet = now, 0
			}
			if quiet >= quiescence || all >= most {
				force()
			}
		}
	}()
}

// Signal returns the number of the signal that ended the process, or 0 if none did.
func Signal() int { return int(process.signal.Load()) }

// Begun reports whether a signal has told the process to end.
func Begun() bool { return process.ends.Load() }

// Context returns a context that is cancelled when the process should end. Code that uses it gets time to save its
// results. release frees it.
func Context(parent context.Context) (ctx context.Context, release context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	u := &user{cancel}
	process.mu.Lock()
	defer process.mu.Unlock()
	if process.begun {
		cancel()
	}
	process.contexts[u] = struct{}{}
	return ctx, func() {
		cancel()
		process.mu.Lock()
		delete(process.contexts, u)
		process.mu.Unlock()
	}
}

// Alive postpones the forced end, because the process is still saving something.
func Alive() {
	if process.ends.Load() {
		process.heard.Add(1)
	}
}

// Wait postpones the forced end until over is called, while the process waits for others that end by themselves,
// such as a child process or the kernel.
func Wait() (over func()) {
	process.waiting.Add(1)
	return sync.OnceFunc(func() {
		Alive()
		process.waiting.Add(-1)
	})
}

// Finally calls f if the process is forced to end, at any point of the process's work. f has exitTime to finish.
// forget cancels it.
func Finally(f func()) (forget func()) { return add(process.finals, f) }

// Discard works like Finally for an f that removes unfinished work, such as a file without its final name.
func Discard(f func()) (forget func()) { return add(process.discards, f) }

func add(to map[*user]func(), f func()) (forget func()) {
	u := &user{}
	process.mu.Lock()
	to[u] = f
	process.mu.Unlock()
	return func() {
		process.mu.Lock()
		delete(to, u)
		process.mu.Unlock()
	}
}

// force ends the process.
func force() {
	process.mu.Lock()
	defer process.mu.Unlock()
	var finals sync.WaitGroup
	message := "pausenet: interrupted\n"
	for _, f := range process.finals {
		finals.Go(f)
		message = "pausenet: interrupted: the results so far are kept, marked partial\n"
	}
	for _, f := range process.discards {
		finals.Go(f)
	}
	within(exitTime, finals.Wait)
	within(exitTime, func() { _, _ = os.Stderr.WriteString(message) })
	exit(process.code)
}

// exit does not return.
var exit = os.Exit

// within calls f, and waits for it up to a limit.
func within(limit time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}
