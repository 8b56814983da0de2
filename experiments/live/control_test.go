//go:build linux

package live

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/testenv"
)

// wanting wraps a listener whose Accept fails with each of some errors before it returns a connection.
type wanting struct {
	net.Listener
	errs []error
}

func (l *wanting) Accept() (net.Conn, error) {
	if len(l.errs) > 0 {
		err := l.errs[0]
		l.errs = l.errs[1:]
		return nil, &net.OpError{Op: "accept", Net: "unix", Err: os.NewSyscallError("accept4", err)}
	}
	return l.Listener.Accept()
}

// socket listens at the name of a fabric that there is not.
func socket(t *testing.T, name string) *net.UnixListener {
	t.Helper()
	testenv.NeedRoot(t)
	unlock := lockFolder(t)
	_ = os.Remove(socketPath(name))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socketPath(name), Net: "unix"})
	unlock()
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// lockFolder creates the fabrics' folder and locks it until unlock is called. Without the lock, another process may
// remove a socket between bind and listen, because nobody answers on it yet.
func lockFolder(t *testing.T) (unlock func()) {
	t.Helper()
	must(t, os.MkdirAll(Folder, 0o700))
	folder, err := os.Open(Folder)
	must(t, err)
	t.Cleanup(func() { folder.Close() })
	must(t, lock(folder))
	return func() { folder.Close() }
}

// ask asks a fabric that must be up.
func ask(t *testing.T, name string, r Request) *Reply {
	t.Helper()
	c, err := Dial(name)
	must(t, err)
	defer c.Close()
	reply, err := c.Ask(r)
	must(t, err)
	return reply
}

// TestAcceptErrorsPass checks that a fabric's socket works again as soon as an error of accept has passed.
func TestAcceptErrorsPass(t *testing.T) {
	t.Parallel()
	const name = "test-accept"
	l := socket(t, name)
	f := bringUp(t, "")
	f.server = newServer(&wanting{l, []error{
		unix.EMFILE, unix.ENFILE, unix.ECONNABORTED, unix.ENOBUFS, unix.ENOMEM,
		unix.EMFILE,
	}})
	f.server.handlers.Add(1)
	go f.accept(f.server.listener, false)
	if got := ask(t, name, Request{Verb: "inspect"}).Inspect.Nodes; len(got) != len(f.Plan.Nodes) {
		t.Errorf("inspect: %+v", got)
	}
	replied := make(chan *Reply)
	go func() { replied <- ask(t, name, Request{Verb: "down"}) }()
	<-f.Asked()
	down(t, f)
	if r := <-replied; r.Verdict == nil {
		t.Errorf("down: %+v", r)
	}
}

// TestConnectionLimit checks that at the limit of connections, a new one replaces an idle one. If none is idle, the new
// one is refused with a message.
func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	const name = "test-limit"
	f := bringUp(t, name)
	defer down(t, f)
	f.server.mutex.Lock()
	f.server.most = 2
	f.server.mutex.Unlock()
	streaming, err := Dial(name)
	must(t, err)
	defer streaming.Close()
	_, err = streaming.Ask(Request{Verb: "events"})
	must(t, err)
	var idle *Client
	// Whoever lists all fabrics connects to this one too, and may take the place before the request.
	until(t, "the idle connection has its answer", func() bool {
		idle, err = Dial(name)
		must(t, err)
		t.Cleanup(func() { idle.Close() })
		_, err = idle.Ask(Request{Verb: "inspect"}) // it is there, and rests
		return err == nil
	})
	// A connection rests a moment after its answer has come.
	until(t, "the idle connection makes room", func() bool {
		third, err := Dial(name)
		must(t, err)
		if _, err = third.Ask(Request{Verb: "events"}); err != nil {
			third.Close()
			return false
		}
		t.Cleanup(func() { third.Close() })
		return true
	})
	if _, err := idle.lines.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the idle connection: %v", err)
	}
	fourth, err := Dial(name)
	must(t, err)
	defer fourth.Close()
	_, err = fourth.Ask(Request{Verb: "inspect"})
	var refused Refusal
	if !errors.As(err, &refused) || !strings.Contains(string(refused), "the most allowed") {
		t.Errorf("the connection too many: %v", err)
	}
	streaming.Close()
	until(t, "there is room again", func() bool {
		c, err := Dial(name)
		must(t, err)
		defer c.Close()
		_, err = c.Ask(Request{Verb: "inspect"})
		return err == nil
	})
}

// TestUnanswered checks that no client waits forever for a fabric that does not answer, or has stopped answering.
func TestUnanswered(t *testing.T) {
	const name, timeout = "test-silent", 20 * time.Millisecond
	late := func(what string, err error, process int) {
		t.Helper()
		var u *Unanswered
		if !errors.As(err, &u) || u.Process != process || !strings.HasPrefix(err.Error(), name+" has not answered for ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	connect := func() *Client {
		c, err := dial(name, timeout)
		must(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	l := socket(t, name)
	_, err := connect().Ask(Request{Verb: "inspect"}) // nobody takes the connection
	late("inspect", err, os.Getpid())
	late("exec", connect().Exec("h1", []string{"true"}, nil), os.Getpid())

	// One that says yes to everything, and then nothing.
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if r := bufio.NewScanner(conn); r.Scan() {
				_ = send(conn, Reply{})
			}
			t.Cleanup(func() { conn.Close() })
		}
	}()
	late("events", connect().Events(nil, func([]byte) error { return nil }), os.Getpid())
	late("a line", connect().Do("iperf", io.Discard), os.Getpid())
	c := connect()
	_, err = c.Ask(Request{Verb: "capture", Node: "h1"})
	must(t, err)
	must(t, c.Finish())
	_, err = c.Read(make([]byte, 1))
	late("capture", err, os.Getpid())
}

// TestCrowded checks that a client waits for room in the kernel's queue of a full socket, but not forever.
func TestCrowded(t *testing.T) {
	t.Parallel()
	testenv.NeedRoot(t)
	const name = "test-crowded"
	unlock := lockFolder(t)
	_ = os.Remove(socketPath(name))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	defer os.Remove(socketPath(name))
	defer unix.Close(fd)
	must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: socketPath(name)}))
	must(t, unix.Listen(fd, 0))
	unlock()
	for {
		conn, err := net.Dial("unix", socketPath(name))
		if crowded(err) {
			break
		}
		must(t, err)
		defer conn.Close()
	}
	var u *Unanswered
	if _, err := dial(name, time.Millisecond); !errors.As(err, &u) {
		t.Errorf("dial: %v", err)
	}
	names, err := Names()
	must(t, err)
	if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ") {
		t.Errorf("%s is not among those that are up: %v", name, names)
	}
}

// dialAs connects to a TCP address as a user: a socket is the user's that its thread has for files as it is made. nil:
// it was reset at once.
func dialAs(t *testing.T, uid int, address string) net.Conn {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	must(t, unix.Setfsuid(uid))
	defer func() { must(t, unix.Setfsuid(0)) }()
	conn, err := net.Dial("tcp", address)
	if errors.Is(err, unix.ECONNRESET) {
		return nil
	}
	must(t, err)
	return conn
}

// TestStrangersOfMetrics checks that users who flood the metrics have few connections at once, so that root's scrape
// still succeeds.
func TestStrangersOfMetrics(t *testing.T) {
	f := bringUpFrom(t, "topology: small\n", "none", Options{Slowdown: 500, Metrics: "127.0.0.1:0"})
	defer down(t, f)
	before := openFiles(t)
	var conns []net.Conn
	for _, uid := range []int{1001, 1002, 1003, 1004, 1005} {
		for range 100 {
			if conn := dialAs(t, uid, f.MetricsAddress()); conn != nil {
				defer conn.Close()
				conns = append(conns, conn)
			}
		}
	}
	g := f.metrics.listener.(*limitedListener)
	response, err := http.Get("http://" + f.MetricsAddress() + "/metrics") // after all of them
	must(t, err)
	defer http.DefaultClient.CloseIdleConnections()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	response.Body.Close()
	if response.StatusCode != http.StatusOK || !strings.Contains(string(body), "pausenet_slowdown_ratio") {
		t.Errorf("root's scrape: %s", response.Status)
	}
	g.mutex.Lock()
	for who, n := range g.strangers {
		if n > mostOfStranger || !strings.HasPrefix(who, "user 100") {
			t.Errorf("%s has %d connections", who, n)
		}
	}
	if len(g.open) > mostScrapers {
		t.Errorf("%d connections", len(g.open))
	}
	g.mutex.Unlock()
	if n := openFiles(t) - before - len(conns); n > mostScrapers+4 {
		t.Errorf("%d files more are open", n)
	}
}

// TestStrangersLookSeldom checks that endless scrapes by other users stop the engine at most once a second.
func TestStrangersLookSeldom(t *testing.T) {
	t.Parallel()
	f := bringUpFrom(t, "topology: small\n", "none", Options{Slowdown: 500})
	defer down(t, f)
	c := &collector{fabric: f, every: time.Hour}
	first, err := c.snapshot()
	must(t, err)
	if again, err := c.snapshot(); err != nil || again != first {
		t.Errorf("the second look: %v, %v", again, err)
	}
	own := &collector{fabric: f}
	a, err := own.snapshot()
	must(t, err)
	if b, err := own.snapshot(); err != nil || a == b {
		t.Errorf("the second of root's own looks: %v", err)
	}
}

// TestBeats checks that keep-alives are not mistaken for replies to a request.
func TestBeats(t *testing.T) {
	t.Parallel()
	const name = "test-beats"
	l := socket(t, name)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for range 2 {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			requests := bufio.NewScanner(conn)
			requests.Scan()
			var r Request
			_ = json.Unmarshal(requests.Bytes(), &r)
			_ = send(conn, Reply{})
			if r.Verb == "events" {
				_, _ = io.WriteString(conn, "\n\n{\"kind\":\"pause\"}\n\n")
			} else {
				_ = send(conn, Reply{})
				_ = send(conn, Reply{Output: "text"})
				_ = send(conn, Reply{})
				_ = send(conn, Reply{End: true})
			}
			conn.Close()
		}
	}()
	c, err := Dial(name)
	must(t, err)
	var events []string
	must(t, c.Events(nil, func(line []byte) error { events = append(events, string(line)); return nil }))
	c.Close()
	if len(events) != 1 || events[0] != "{\"kind\":\"pause\"}\n" {
		t.Errorf("events: %q", events)
	}
	c, err = Dial(name)
	must(t, err)
	var out strings.Builder
	must(t, c.Do("help", &out))
	c.Close()
	if out.String() != "text" {
		t.Errorf("a line: %q", out.String())
	}
	<-served
}
