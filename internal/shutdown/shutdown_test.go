//go:build unix

package shutdown

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pausenet/pausenet/internal/testenv"
)

// The tests start this program once more, to do what blocks a process, and send it a signal once it says that it is
// there. They assert that it ends, and how, but not how fast: the time that a process gets is the machine's.

// variable names what the started program does.
const variable = "PAUSENET_SHUTDOWN_TEST"

// endless is how long a process may take to end that takes two seconds on a machine of its own.
const endless = testenv.Hung

func TestMain(m *testing.M) {
	if name := os.Getenv(variable); name != "" {
		places[name](os.Args[1:])
		os.Exit(0)
	}
	_ = flag.Set("test.parallel", "8") // they wait for processes
	testenv.DefaultSignals()
	os.Exit(m.Run())
}

// ready says that the process is where it is to be ended.
func ready() { _, _ = os.Stderr.WriteString("ready\n") }

// places are what blocks a process. Those that come back have not been ended by force.
var places = map[string]func(args []string){
	"reads a FIFO": func(args []string) {
		Start(1)
		ready()
		_, _ = os.ReadFile(args[0])
	},
	"reads its input": func([]string) {
		Start(1)
		ready()
		_, _ = io.ReadAll(os.Stdin)
	},
	"writes to a full pipe": func([]string) {
		Start(1)
		ready()
		for {
			_, _ = os.Stdout.Write(make([]byte, 1<<16))
		}
	},
	"keeps, and writes to a full pipe": func([]string) {
		Start(1)
		_, release := Context(context.Background())
		defer release()
		ready()
		for {
			_, _ = os.Stdout.Write(make([]byte, 1<<16))
		}
	},
	"waits for a lock": func(args []string) {
		Start(1)
		f, err := os.Open(args[0])
		if err != nil {
			panic(err)
		}
		ready()
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	},
	"waits for a mutex": func([]string) {
		Start(1)
		_, release := Context(context.Background())
		defer release()
		var mu sync.Mutex
		mu.Lock()
		ready()
		mu.Lock()
	},
	"loops": func([]string) {
		Start(1)
		_, release := Context(context.Background())
		defer release()
		n := 0
		ready()
		for {
			n++
		}
	},
	"is in what is called finally": func(args []string) {
		Start(1)
		_, release := Context(context.Background())
		defer release()
		Finally(func() { _ = os.WriteFile(args[0]+".kept", []byte("kept"), 0o600) })
		Finally(func() { select {} })
		ready()
		for {
			time.Sleep(time.Hour)
		}
	},
	"has begun what is not kept": func(args []string) {
		Start(1)
		Discard(func() { _ = os.Remove(args[0]) })
		ready()
		select {}
	},
	"waits for others for ever": func([]string) {
		most = 2 * time.Second
		Start(1)
		_, release := Context(context.Background())
		defer release()
		defer Wait()()
		ready()
		for {
			time.Sleep(time.Hour)
		}
	},
	"says for ever that it is alive": func([]string) {
		most = 2 * time.Second
		Start(1)
		_, release := Context(context.Background())
		defer release()
		ready()
		for {
			Alive()
			time.Sleep(10 * time.Millisecond)
		}
	},
	// From here on what ends in order, with its own exit code.
	"keeps what it has": func(args []string) {
		most = endless
		Start(1)
		ctx, release := Context(context.Background())
		defer release()
		forget := Finally(func() { _ = os.WriteFile(args[0]+".kept", []byte("by force"), 0o600) })
		ready()
		<-ctx.Done()
		for begin := time.Now(); time.Since(begin) < 2*quiescence; {
			time.Sleep(period)
			Alive()
		}
		_ = os.WriteFile(args[0]+".kept", []byte("in order"), 0o600)
		forget()
		os.Exit(7)
	},
	"is stopped, and keeps what it has": func([]string) {
		Start(1)
		ctx, release := Context(context.Background())
		defer release()
		ready()
		<-ctx.Done()
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		for range 10 { // the look at whether it is quiet comes first; only one of these can be over with the stop
			time.Sleep(period)
		}
		Alive()
		os.Exit(7)
	},
	"waits for a child": func([]string) {
		Start(1)
		ctx, release := Context(context.Background())
		defer release()
		over := Wait()
		ready()
		<-ctx.Done()
		time.Sleep(2 * quiescence)
		over()
		os.Exit(7)
	},
	"was told before": func([]string) {
		Start(1)
		ctx, release := Context(context.Background())
		defer release()
		Begin()
		again, release := Context(context.Background())
		defer release()
		<-ctx.Done()
		<-again.Done()
		if !Begun() || !errors.Is(again.Err(), context.Canceled) {
			os.Exit(8)
		}
		os.Exit(7)
	},
	"stopped listening": func([]string) {
		Start(1)()
		ready()
		for {
			time.Sleep(time.Hour)
		}
	},
	"ignores the signal": func([]string) {
		Start(1)
		ready()
		_, _ = bufio.NewReader(os.Stdin).ReadByte() // its end comes after the signal
		os.Exit(7)
	},
}

// ended is how a started program came to its end.
type ended struct {
	state  *os.ProcessState
	stderr string
	file   string
}

// end has the program do something and sends it a signal.
func end(t *testing.T, place string, s syscall.Signal, program ...string) ended {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if place == "waits for a lock" {
		if err := errors.Join(os.Remove(file), os.WriteFile(file, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
	}
	args := append(program, self, file)
	c := exec.Command(args[0], args[1:]...)
	c.Env = append(os.Environ(), variable+"="+place)
	if _, err := c.StdoutPipe(); err != nil { // which nobody reads
		t.Fatal(err)
	}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(endless, func() { _ = c.Process.Kill() })
	said := bufio.NewReader(stderr)
	if place != "was told before" {
		if line, err := said.ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		if err := c.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	if place == "ignores the signal" {
		in.Close()
	}
	if place == "is stopped, and keeps what it has" {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(c.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
			t.Fatalf("%v, %v", status, err)
		}
		time.Sleep(2 * quiescence) // or longer
		if err := c.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	rest, _ := io.ReadAll(said)
	state, err := c.Process.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if !watchdog.Stop() {
		t.Fatalf("%s: it had to be killed after %v", place, endless)
	}
	return ended{state, string(rest), file}
}

// TestEnds: a process ends on each of the signals wherever it is blocked, with the exit code and a line.
func TestEnds(t *testing.T) {
	for _, place := range []string{
		"reads a FIFO", "reads its input", "writes to a full pipe", "keeps, and writes to a full pipe", "waits for a lock",
		"waits for a mutex",
		"loops", "is in what is called finally", "has begun what is not kept", "waits for others for ever",
		"says for ever that it is alive",
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			e := end(t, place, syscall.SIGTERM)
			if e.state.ExitCode() != 1 || !strings.HasPrefix(e.stderr, "pausenet: interrupted") {
				t.Errorf("%v: %q", e.state, e.stderr)
			}
			if _, err := os.Lstat(e.file); place == "has begun what is not kept" &&
				(err == nil || strings.Contains(e.stderr, "kept")) {
				t.Errorf("it is there still, or said to be kept (%v): %q", err, e.stderr)
			}
			if place == "is in what is called finally" {
				if kept, err := os.ReadFile(e.file + ".kept"); string(kept) != "kept" ||
					!strings.Contains(e.stderr, "kept, marked partial") {
					t.Errorf("%q, %v: %q", kept, err, e.stderr)
				}
			}
		})
	}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			if e := end(t, "waits for a mutex", s); e.state.ExitCode() != 1 {
				t.Errorf("%v: %q", e.state, e.stderr)
			}
		})
	}
}

// TestEndsInOrder: who has something to keep is given the time to keep it.
func TestEndsInOrder(t *testing.T) {
	for _, place := range []string{
		"keeps what it has", "is stopped, and keeps what it has", "waits for a child",
		"was told before",
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			e := end(t, place, syscall.SIGINT)
			if e.state.ExitCode() != 7 || e.stderr != "" {
				t.Errorf("%v: %q", e.state, e.stderr)
			}
			if place == "keeps what it has" {
				if kept, err := os.ReadFile(e.file + ".kept"); string(kept) != "in order" {
					t.Errorf("%q, %v", kept, err)
				}
			}
		})
	}
}

// TestSignalsOfOthers: a signal that the process was started to ignore, as by nohup, stays ignored, and has its usual
// effect where nobody listens.
func TestSignalsOfOthers(t *testing.T) {
	if e := end(t, "ignores the signal", syscall.SIGHUP, "sh", "-c",
		`trap "" HUP; exec "$0" "$@"`); e.state.ExitCode() != 7 {
		t.Errorf("%v: %q", e.state, e.stderr)
	}
	e := end(t, "stopped listening", syscall.SIGTERM)
	if status, ok := e.state.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("%v: %q", e.state, e.stderr)
	}
}
