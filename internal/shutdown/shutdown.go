// Package shutdown sees to it that a process that is told to end does, whatever it is doing: reading from a pipe that
// nobody writes to, writing to one that nobody reads, waiting for a lock, or in a loop that a user's code does not
// leave.
//
// A command says with Start that signals end it. What has something to keep takes a Context, which a signal cancels,
// and is left the time to keep it: until nothing has been heard of it (Alive) for the time of quiescence, and for most
// at the longest. Then, or at once where nothing took a Context, the functions given to Finally and Discard are called
// and the process exits.
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
	// quiescence is for how long nothing need be heard of what has something to keep. With exitTime it makes two seconds.
	quiescence = 1500 * time.Millisecond
	// most is the longest that the end can be put off.
	most = 10 * time.Second
)

const (
	// exitTime is what is left for what Finally was given, and for the last line: either may be blocked.
	exitTime = 200 * time.Millisecond
	// period is the time between two polls of whether the quiescence has lasted long enough.
	period = 20 * time.Millisecond
)

// process is this process on its way to its end. There is one.
var process = struct {
	mu       sync.Mutex
	code     int
	begun    bool
	contexts map[*user]struct{}
	finals   map[*user]func()
	discards map[*user]func()

	signal  atomic.Int32 // that ended it first; 0: none
	ends    atomic.Bool  // begun
	heard   atomic.Int64 // how often
	waiting atomic.Int32
}{code: 1, contexts: map[*user]struct{}{}, finals: map[*user]func(){}, discards: map[*user]func(){}}

// user is one that took a Context or gave a Finally or a Discard.
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

// Begin does what a signal does.
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
		// Time goes by polls: while the process is stopped, or the machine leaves it no processor, there are none.
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

// Discard is Finally for unfinished work: f removes it, such as a file without its final name.
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
	said := "pausenet: interrupted\n"
	for _, f := range process.finals {
		finals.Go(f)
		said = "pausenet: interrupted: the results so far are kept, marked partial\n"
	}
	for _, f := range process.discards {
		finals.Go(f)
	}
	within(exitTime, finals.Wait)
	within(exitTime, func() { _, _ = os.Stderr.WriteString(said) })
	exit(process.code)
}

// exit is os.Exit; it does not return.
var exit = os.Exit

// within calls f, and waits for it for so long at most.
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
