//go:build linux

package live

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
)

// Folder is where fabrics' sockets are. It is root's alone, as they are.
const Folder = "/run/pausenet"

// maxRequest bounds a request, a line of JSON.
const maxRequest = 1 << 16

// Request is what another terminal asks of a fabric: one line of JSON.
type Request struct {
	Verb string `json:"verb"` // inspect, node, program, capture, down, snapshot, way, events, set, line, complete
	Node string `json:"node,omitempty"`
	Port string `json:"port,omitempty"` // of capture: a neighbour or a number; empty: all
	// Kinds are the events that events gives; none: all.
	Kinds []string `json:"kinds,omitempty"`
	// Line holds the line that the fabric's shell is to do (line), to complete (complete), or the setting to change (set).
	Line string `json:"line,omitempty"`
	Flow int    `json:"flow,omitempty"` // of way: its number
	// Command, Environment and Folder are of program.
	Command     []string `json:"command,omitempty"`
	Environment []string `json:"environment,omitempty"`
	Folder      string   `json:"folder,omitempty"`
}

// Reply answers a request: one line of JSON. What is captured follows it.
type Reply struct {
	Error   string       `json:"error,omitempty"`
	Inspect *Description `json:"inspect,omitempty"`
	// Privileged says that programs on nodes have all of root's powers. A node's namespaces come with it, as open files.
	Privileged bool `json:"privileged,omitempty"`
	// Environment are variables of a node's programs, "NAME=value".
	Environment []string  `json:"environment,omitempty"`
	Folder      string    `json:"folder,omitempty"` // where they begin; empty: where they would
	Snapshot    *Snapshot `json:"snapshot,omitempty"`
	// Lines holds what complete offers, the interfaces of way, or the warnings of set. Output holds a piece of what a line
	// prints; the last piece comes with End.
	Lines  []string `json:"lines,omitempty"`
	Output string   `json:"output,omitempty"`
	End    bool     `json:"end,omitempty"`
	Status uint32   `json:"status,omitempty"` // of the last of program: how it ended, by wait(2)
	// Verdict answers down.
	Verdict *Verdict `json:"verdict,omitempty"`

	files []int // descriptors that come with it
}

var fabricName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// server is a fabric's socket.
type server struct {
	listener net.Listener
	most     int // connections at once
	mutex    sync.Mutex
	open     map[*connection]bool
	inside   map[topologies.NodeID]net.Listener // of programs on nodes
	hungUp   bool
	asked    chan struct{} // closed as somebody asks for the end
	once     sync.Once
	verdict  *Verdict      // nil until the fabric has ended
	ended    chan struct{} // closed then
	handlers sync.WaitGroup
}

func newServer(l net.Listener) *server {
	return &server{
		listener: patientListener{l}, most: connectionLimit(), open: map[*connection]bool{},
		inside: map[topologies.NodeID]net.Listener{}, asked: make(chan struct{}), ended: make(chan struct{}),
	}
}

func socketPath(name string) string { return filepath.Join(Folder, name+".sock") }

// listen opens the fabric's socket. One that a killed process left is replaced.
func (f *Fabric) listen() error {
	if !fabricName.MatchString(f.Name) {
		return fmt.Errorf("a fabric's name is letters, digits, '.', '_' and '-', 64 at most: not %q", f.Name)
	}
	folder, err := os.Open(Folder)
	if err != nil {
		return &runner.EnvironmentError{Err: err}
	}
	defer folder.Close()
	if err := lock(folder); err != nil { // against another up of that name
		return &runner.EnvironmentError{Err: err}
	}
	path := socketPath(f.Name)
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
	}
	if err == nil || crowded(err) {
		return fmt.Errorf("%w: a fabric named %s is up; choose another with --name, or end it with: pausenet down %s",
			ErrName, f.Name, f.Name)
	}
	_ = os.Remove(path)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return &runner.EnvironmentError{Err: err}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(&runner.EnvironmentError{Err: err}, l.Close())
	}
	f.server = newServer(l)
	f.server.handlers.Add(1)
	go f.accept(f.server.listener, false)
	return nil
}

// lock locks a folder until it is closed. Another process has it for a moment only, unless it is stopped.
func lock(folder *os.File) error {
	for start := time.Now(); ; time.Sleep(longestRest) {
		err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case err != unix.EWOULDBLOCK && err != unix.EINTR:
			return fmt.Errorf("lock %s: %w", folder.Name(), err)
		case time.Since(start) > answerTimeout:
			return fmt.Errorf("lock %s: another pausenet up holds it for more than %v: `fuser %s` says which", folder.Name(),
				answerTimeout, folder.Name())
		}
	}
}

// ErrName says that a fabric's name is taken.
var ErrName = errors.New("the name is taken")

// Asked is closed when another terminal asks for the fabric's end; never without a name.
func (f *Fabric) Asked() <-chan struct{} {
	if f.server == nil {
		return nil
	}
	return f.server.asked
}

// accept takes connections; inside says that they are from programs on nodes.
func (f *Fabric) accept(l net.Listener, inside bool) {
	s := f.server
	defer s.handlers.Done()
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		own := conn.(*net.UnixConn)
		if !ownedByUs(own) {
			conn.Close()
			continue
		}
		c := s.admit(own, inside)
		if c == nil {
			_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // it has room for a line
			_ = send(conn, Reply{Error: fmt.Sprintf("%d terminals and programs use this fabric, as many as may at once: end some", s.most)})
			conn.Close()
			continue
		}
		go f.serve(c)
	}
}

// serve answers requests until the other end has had enough.
func (f *Fabric) serve(c *connection) {
	s := f.server
	defer s.leave(c)
	lines := bufio.NewScanner(c)
	lines.Buffer(nil, maxRequest)
	for s.rests(c); lines.Scan(); s.rests(c) {
		s.works(c)
		r, reply := f.handle(lines.Bytes(), c.inside)
		if stream := streamOf(r.Verb); stream != nil && reply.Error == "" {
			stream(f, c, r, reply)
			return
		}
		s.replies(c)
		if err := send(c, reply); err != nil {
			return
		}
	}
}

// streamOf returns what serves a verb whose answer is more than one line, or that stays connected; nil: it is no such
// verb. The connection ends with it.
func streamOf(verb string) func(f *Fabric, c *connection, r Request, first Reply) {
	switch verb {
	case "capture":
		return (*Fabric).serveCapture
	case "events":
		return (*Fabric).serveEvents
	case "line":
		return (*Fabric).serveLine
	case "node":
		return (*Fabric).serveNode
	case "program":
		return (*Fabric).serveProgram
	}
	return nil
}

// handle answers a request, but for what streams; inside says that a program on a node asks.
func (f *Fabric) handle(line []byte, inside bool) (r Request, reply Reply) {
	if err := json.Unmarshal(line, &r); err != nil {
		return Request{}, Reply{Error: "not a request: " + err.Error()}
	}
	if inside {
		if refused := f.mayAsk(r.Verb); refused != "" {
			return r, Reply{Error: refused}
		}
		if reply = f.answer(r); !f.options.Privileged {
			reply.files = nil // a node's namespaces are not for other nodes
		}
		return r, reply
	}
	return r, f.answer(r)
}

func send(w io.Writer, r Reply) error { return json.NewEncoder(w).Encode(r) }

func (f *Fabric) answer(r Request) (reply Reply) {
	switch r.Verb {
	case "inspect":
		d, err := f.Describe()
		if err != nil {
			return Reply{Error: err.Error()}
		}
		return Reply{Inspect: d}
	case "node":
		n, err := f.Node(r.Node)
		if err != nil {
			return Reply{Error: err.Error()}
		}
		place, err := f.place(n.ID)
		if err != nil {
			return Reply{Error: err.Error()}
		}
		return Reply{Privileged: place.Privileged, Environment: place.Environment, Folder: place.Folder, files: place.Files()}
	case "program":
		if len(r.Command) == 0 {
			return Reply{Error: "there is no command"}
		}
		if _, err := f.Node(r.Node); err != nil {
			return Reply{Error: err.Error()}
		}
		return Reply{}
	case "capture":
		if _, err := f.CapturePorts(r.Node, r.Port); err != nil {
			return Reply{Error: err.Error()}
		}
		return Reply{}
	case "events":
		for _, kind := range r.Kinds {
			if !slices.Contains(EventKinds, kind) {
				return Reply{Error: fmt.Sprintf("no events are of kind %q%s", kind, yamlspec.Suggest(kind, EventKinds))}
			}
		}
		return Reply{}
	case "line":
		if f.options.Line == nil {
			return Reply{Error: "this fabric has no shell"}
		}
		return Reply{}
	case "complete":
		if f.options.Complete == nil {
			return Reply{Error: "this fabric has no shell"}
		}
		return Reply{Lines: f.options.Complete(f, r.Line)}
	case "set":
		warnings, err := f.Set(r.Line)
		if err != nil {
			return Reply{Error: err.Error()}
		}
		return Reply{Lines: warnings}
	case "way":
		ports, err := f.Way(r.Flow)
		if err != nil {
			return Reply{Error: err.Error()}
		}
		return Reply{Lines: ports}
	case "snapshot":
		s, err := f.Snapshot()
		if err != nil {
			return Reply{Error: err.Error()}
		}
		return Reply{Snapshot: s}
	case "down":
		s := f.server
		s.once.Do(func() { close(s.asked) })
		<-s.ended
		return Reply{Verdict: s.verdict}
	}
	return Reply{Error: fmt.Sprintf("unknown verb %q", r.Verb)}
}

func (f *Fabric) serveCapture(c *connection, r Request, first Reply) {
	ports, err := f.CapturePorts(r.Node, r.Port)
	if err != nil || send(c, first) != nil {
		return
	}
	stop := closed(c)
	_ = f.Capture(ports, c, stop)
	_ = c.Close()
	<-stop
}

// CapturePorts are a node's ports, or the one that a neighbour's name or a number says.
func (f *Fabric) CapturePorts(node, port string) ([]topologies.PortID, error) {
	n, err := f.Node(node)
	if err != nil || port == "" {
		if err != nil {
			return nil, err
		}
		return n.Ports, nil
	}
	return scenario.FindPorts(f.Plan, node+":"+port)
}

// hangUp closes the socket and what is connected, but for those who wait for the verdict.
func (f *Fabric) hangUp() {
	if f.server == nil {
		return
	}
	s := f.server
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.hungUp = true
	_ = s.listener.Close() // and removes the file
	for _, l := range s.inside {
		_ = l.Close()
	}
}

// tell gives the verdict to those who asked for the end, and waits until all connections are closed.
func (f *Fabric) tell(v Verdict) {
	s := f.server
	if s == nil {
		return
	}
	s.mutex.Lock()
	s.verdict = &v
	close(s.ended)
	for c := range s.open {
		_ = c.CloseRead()                                   // a reply may be under way
		_ = c.SetWriteDeadline(time.Now().Add(lastTimeout)) // for clients that still read
	}
	s.mutex.Unlock()
	s.handlers.Wait()
}

func errorsOf(errs ...error) error { return errors.Join(errs...) }
