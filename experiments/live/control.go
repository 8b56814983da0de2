//go:build linux

package live

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/topologies"
)

// server serves a fabric's socket.
type server struct {
	listener net.Listener
	most     int // limit on connections
	mutex    sync.Mutex
	open     map[*connection]bool
	inside   map[topologies.NodeID]net.Listener // listeners for programs on nodes
	hungUp   bool
	asked    chan struct{} // closed when a client requests the end
	once     sync.Once
	verdict  *Verdict      // nil until the fabric has ended
	ended    chan struct{} // closed when verdict is set
	handlers sync.WaitGroup
}

func newServer(l net.Listener) *server {
	return &server{
		listener: patientListener{l}, most: connectionLimit(), open: map[*connection]bool{},
		inside: map[topologies.NodeID]net.Listener{}, asked: make(chan struct{}), ended: make(chan struct{}),
	}
}

// listen opens the fabric's socket. It replaces the socket of a killed process.
func (f *Fabric) listen() error {
	if !fabricName().MatchString(f.Name) {
		return fmt.Errorf("invalid fabric name %q: expected at most 64 letters, digits, '.', '_' or '-'", f.Name)
	}
	folder, err := os.Open(Folder)
	if err != nil {
		return &runner.EnvironmentError{Err: err}
	}
	defer folder.Close()
	if err := lock(folder); err != nil { // against another process with that name
		return &runner.EnvironmentError{Err: err}
	}
	path := socketPath(f.Name)
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
	}
	if err == nil || crowded(err) {
		return fmt.Errorf("%w: a fabric named %s is up (choose another with --name, or end it with \"pausenet down %s\")",
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

// lock locks a folder until it is closed. Other processes hold the lock only briefly, unless they are stopped.
func lock(folder *os.File) error {
	for start := time.Now(); ; time.Sleep(longestRest) {
		err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case err != unix.EWOULDBLOCK && err != unix.EINTR:
			return fmt.Errorf("lock %s: %w", folder.Name(), err)
		case time.Since(start) > answerTimeout:
			return fmt.Errorf("lock %s: another \"pausenet up\" has locked it for more than %v (find it with `fuser %s`)",
				folder.Name(),
				answerTimeout, folder.Name())
		}
	}
}

// ErrName means that the fabric's name is in use.
var ErrName = errors.New("the name is taken")

// Asked returns a channel that is closed when another terminal requests the fabric's end. Without a name it never
// is.
func (f *Fabric) Asked() <-chan struct{} {
	if f.server == nil {
		return nil
	}
	return f.server.asked
}

// accept accepts connections. inside means that they come from programs on nodes.
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
			_ = send(conn, Reply{Error: fmt.Sprintf("the fabric already has %d connections, the most allowed: "+
				"close some terminals or programs", s.most)})
			conn.Close()
			continue
		}
		go f.serve(c)
	}
}

// serve answers requests until the client closes the connection.
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

// streamOf returns the handler of a command that sends several lines, or stays connected; nil for other commands.
// The connection ends with it.
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

// handle answers a request of one line. inside means that a program on a node sent it.
func (f *Fabric) handle(line []byte, inside bool) (r Request, reply Reply) {
	if err := json.Unmarshal(line, &r); err != nil {
		return Request{}, Reply{Error: "invalid request: " + err.Error()}
	}
	if inside {
		if refused := f.refusal(r.Verb); refused != "" {
			return r, Reply{Error: refused}
		}
		if reply = f.answer(r); !f.options.Privileged {
			reply.files = nil // other nodes must not get a node's namespaces
		}
		return r, reply
	}
	return r, f.answer(r)
}

// answer answers a request.
func (f *Fabric) answer(r Request) Reply {
	reply, err := f.reply(r)
	if err != nil {
		return Reply{Error: err.Error()}
	}
	return reply
}

func (f *Fabric) reply(r Request) (Reply, error) {
	switch r.Verb {
	case "inspect":
		d, err := f.Describe()
		return Reply{Inspect: d}, err
	case "node":
		n, err := f.Node(r.Node)
		if err != nil {
			return Reply{}, err
		}
		place, err := f.place(n.ID)
		if err != nil {
			return Reply{}, err
		}
		return Reply{
			Privileged: place.Privileged, Routes: place.Routes, Environment: place.Environment, Folder: place.Folder,
			files: place.Files(),
		}, nil
	case "program":
		if len(r.Command) == 0 {
			return Reply{}, errors.New("the request has no command")
		}
		_, err := f.Node(r.Node)
		return Reply{}, err
	case "capture":
		_, err := f.CapturePorts(r.Node, r.Port)
		return Reply{}, err
	case "events":
		for _, kind := range r.Kinds {
			if !slices.Contains(EventKinds, kind) {
				return Reply{}, fmt.Errorf("unknown kind of event %q%s", kind, spelling.Suggest(kind, EventKinds))
			}
		}
		return Reply{}, nil
	case "line":
		if f.options.Line == nil {
			return Reply{}, errNoShell
		}
		return Reply{}, nil
	case "complete":
		if f.options.Complete == nil {
			return Reply{}, errNoShell
		}
		return Reply{Lines: f.options.Complete(f, r.Line)}, nil
	case "set":
		warnings, err := f.Set(r.Line)
		return Reply{Lines: warnings}, err
	case "fault":
		span, ends, err := f.Fault(r.Command)
		return Reply{EndsNS: ends.Nanoseconds(), WaitNS: f.Wall(span).Nanoseconds()}, err
	case "way":
		ports, err := f.Way(r.Flow)
		return Reply{Lines: ports}, err
	case "snapshot":
		s, err := f.Snapshot()
		return Reply{Snapshot: s}, err
	case "counters":
		c, err := f.Counters()
		return Reply{Counters: c}, err
	case "down":
		s := f.server
		s.once.Do(func() { close(s.asked) })
		<-s.ended
		return Reply{Verdict: s.verdict}, nil
	}
	return Reply{}, fmt.Errorf("unknown verb %q", r.Verb)
}

var errNoShell = errors.New("this fabric has no shell")

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

// CapturePorts returns a node's ports, or the one with a neighbour's name or a number.
func (f *Fabric) CapturePorts(node, port string) ([]topologies.PortID, error) {
	n, err := f.Node(node)
	switch {
	case err != nil:
		return nil, err
	case port == "":
		return n.Ports, nil
	}
	return scenario.FindPorts(f.Plan, node+":"+port)
}

// hangUp closes the socket and all connections, except those that wait for the verdict.
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

// tell sends the verdict to the clients that requested the end, and waits until all connections are closed.
func (f *Fabric) tell(v Verdict) {
	s := f.server
	if s == nil {
		return
	}
	s.mutex.Lock()
	s.verdict = &v
	close(s.ended)
	for c := range s.open {
		_ = c.CloseRead()                                   // a reply may be in progress
		_ = c.SetWriteDeadline(time.Now().Add(lastTimeout)) // for clients that still read
	}
	s.mutex.Unlock()
	s.handlers.Wait()
}
