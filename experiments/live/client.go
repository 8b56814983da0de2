//go:build linux

package live

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/orchestrator/verbs"
	"github.com/pausenet/pausenet/orchestrator/wallclock"
)

// Client represents a connection to a fabric of another process.
type Client struct {
	fabric   string
	conn     *net.UnixConn
	inside   bool          // from a node of the fabric
	from     *receiver     // reads conn, and keeps the files that it receives
	lines    *bufio.Reader // reads from
	timeout  time.Duration // for an answer of the fabric
	finished atomic.Bool
}

// Names returns the sorted names of the fabrics that are up. If this process runs on a node, they include the node's
// fabric. Names removes sockets that killed fabrics left behind.
func Names() ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(Folder, "*.sock"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, path := range paths {
		conn, err := net.Dial("unix", path)
		if ended(err) {
			sweep(path)
			continue
		}
		if err == nil {
			conn.Close()
		} else if !crowded(err) {
			return nil, err
		}
		names = append(names, strings.TrimSuffix(filepath.Base(path), ".sock"))
	}
	if own := insideOf(); own != "" && !slices.Contains(names, own) {
		names = append(names, own)
	}
	slices.Sort(names)
	return names, nil
}

// ErrNone means that there is no such fabric.
var ErrNone = errors.New("no such fabric")

// ErrEnded means that the fabric ended before it answered.
var ErrEnded = wallclock.ErrEnded

// ErrSeveral means that no name was given, but several fabrics are up.
var ErrSeveral = errors.New("several fabrics are up")

var (
	// answerTimeout limits how long a fabric may take to answer, or to continue an answer. On a slow machine, one pass
	// of a pipeline may block the engine for 20 s.
	answerTimeout = 30 * time.Second
	// endTimeout limits how long a fabric may take to end.
	endTimeout = time.Minute
)

// SetTimeouts sets how long clients wait for a fabric to answer and to end. It is for tests, before they make a client.
func SetTimeouts(answer, end time.Duration) { answerTimeout, endTimeout = answer, end }

// Unanswered means that a fabric is up but does not answer.
type Unanswered struct {
	Fabric  string
	Process int // PID; 0 if unknown
	Timeout time.Duration
}

func (u *Unanswered) Error() string {
	s := fmt.Sprintf("%s has not answered for %v", u.Fabric, u.Timeout)
	switch {
	case u.Process == 0:
	case stopped(u.Process):
		s += fmt.Sprintf(": its process, %d, is stopped (continue it with kill -CONT %d, or end it with kill -9 %d)",
			u.Process,
			u.Process, u.Process)
	default:
		s += fmt.Sprintf(": its process, %d, hangs or gets no processor time (end it with kill -9 %d)", u.Process, u.Process)
	}
	return s
}

// stopped reports whether a process is stopped, as by SIGSTOP.
func stopped(pid int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	return strings.HasPrefix(rest, "T") || strings.HasPrefix(rest, "t")
}

// Dial connects to the named fabric. Without a name, a process on a node connects to the node's fabric, and any other
// process to the only fabric that is up.
func Dial(name string) (*Client, error) {
	if name == "" {
		name = insideOf()
	}
	if name == "" {
		names, err := Names()
		if err != nil {
			return nil, err
		}
		switch len(names) {
		case 0:
			return nil, noneUp()
		case 1:
			name = names[0]
		default:
			return nil, fmt.Errorf("%w: %s", ErrSeveral, strings.Join(names, ", "))
		}
	}
	return dial(name, answerTimeout)
}

// noneUp returns the error that no fabric is up, with the reason why the last one ended.
func noneUp() error {
	if all := AllEnded(); len(all) > 0 {
		return fmt.Errorf("%w: none is up; %v", ErrNone, all[0])
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: none of yours is up (bring one up with \"pausenet up\"; for root's, use sudo)", ErrNone)
	}
	return fmt.Errorf("%w: none is up (bring one up with \"sudo pausenet up\")", ErrNone)
}

func dial(name string, timeout time.Duration) (*Client, error) {
	if !fabricName().MatchString(name) {
		return nil, fmt.Errorf("%w as %q", ErrNone, name)
	}
	for start := time.Now(); ; time.Sleep(longestRest) {
		conn, inside, err := connect(name)
		switch {
		case err == nil:
			c := &Client{fabric: name, conn: conn, inside: inside, from: &receiver{conn: conn}, timeout: timeout}
			c.lines = bufio.NewReader(c.from)
			return c, nil
		case ended(err):
			names, err := Names()
			if err != nil {
				return nil, err
			}
			if r := Ended(name); r != nil {
				return nil, fmt.Errorf("%w: %v", ErrNone, r)
			}
			if len(names) == 0 {
				return nil, noneUp()
			}
			return nil, fmt.Errorf("%w named %q (up: %s)", ErrNone, name, strings.Join(names, ", "))
		case !crowded(err):
			return nil, err
		case time.Since(start) > timeout:
			return nil, &Unanswered{Fabric: name, Timeout: timeout}
		}
	}
}

// connect connects to a fabric's socket. On one of the fabric's nodes, it connects to the socket for programs there,
// and inside is true.
func connect(name string) (conn *net.UnixConn, inside bool, err error) {
	conn, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: socketPath(name), Net: "unix"})
	if ended(err) {
		if own := dialInside(name); own != nil {
			return own, true, nil
		}
	}
	return conn, false, err
}

// Name returns the fabric's name.
func (c *Client) Name() string { return c.fabric }

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Refusal holds a fabric's reason for rejecting a request.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Ask sends a request and waits for its reply. If none arrives in time, the error is Unanswered.
func (c *Client) Ask(r Request) (*Reply, error) {
	timeout := c.timeout
	if r.Verb == "down" {
		timeout = max(timeout, endTimeout)
	}
	_ = c.conn.SetWriteDeadline(time.Now().Add(timeout))
	// the fabric may have sent the reason before it closed the connection
	if err := json.NewEncoder(c.conn).Encode(r); err != nil && !errors.Is(err, unix.EPIPE) {
		return nil, c.unanswered(err, timeout)
	}
	return c.reply(timeout)
}

// line reads a line within a timeout.
func (c *Client) line(timeout time.Duration) ([]byte, error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(timeout))
	line, err := c.lines.ReadBytes('\n')
	_ = c.conn.SetReadDeadline(time.Time{})
	return line, c.unanswered(err, timeout)
}

// unanswered turns a timeout into an Unanswered error.
func (c *Client) unanswered(err error, timeout time.Duration) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	u := &Unanswered{Fabric: c.fabric, Timeout: timeout}
	if peer, err := peerOf(c.conn); err == nil {
		u.Process = int(peer.Pid)
	}
	return u
}

func (c *Client) reply(timeout time.Duration) (*Reply, error) {
	line, err := c.line(timeout)
	var late *Unanswered
	if errors.As(err, &late) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("the fabric has ended: %w", err)
	}
	var reply Reply
	if err := json.Unmarshal(line, &reply); err != nil {
		return nil, err
	}
	if reply.Error != "" {
		return nil, Refusal(reply.Error)
	}
	return &reply, nil
}

// Do runs a line in the fabric's shell and copies its output to out. Finish interrupts it.
func (c *Client) Do(line string, out io.Writer) error {
	if _, err := c.Ask(Request{Verb: "line", Line: line}); err != nil {
		return err
	}
	for {
		reply, err := c.reply(c.timeout)
		if err != nil || reply.End {
			return err
		}
		if _, err := io.WriteString(out, reply.Output); err != nil {
			return err
		}
	}
}

// Events calls each with every event of the given kinds, or of all kinds, until Close or the fabric's end.
func (c *Client) Events(kinds []string, each func(line []byte) error) error {
	if _, err := c.Ask(Request{Verb: "events", Kinds: presentKinds(kinds)}); err != nil {
		return err
	}
	for {
		line, err := c.line(c.timeout)
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(line) == 1 { // a keep-alive
			continue
		}
		if err := each(line); err != nil {
			return err
		}
	}
}

// Read reads the frames that follow the reply to a capture request.
func (c *Client) Read(p []byte) (int, error) {
	if c.finished.Load() {
		_ = c.conn.SetReadDeadline(time.Now().Add(c.timeout))
	}
	n, err := c.lines.Read(p)
	return n, c.unanswered(err, c.timeout)
}

// killTimeout limits how long Exec waits, after its program was killed, for the end of the connection, which tells that
// the fabric has ended.
const killTimeout = time.Second

// Exec runs a command on a node with this terminal until it ends, and sends it the signals from signals. If the
// fabric ends, the command is killed and the error is wallclock.ErrEnded. The command inherits the extra files,
// which follow its standard files.
func (c *Client) Exec(node string, command []string, signals <-chan os.Signal, extra ...*os.File) error {
	reply, err := c.Ask(Request{Verb: "node", Node: node})
	files := c.from.take()
	release := func() { closeFiles(files) }
	defer release()
	if err != nil {
		return err
	}
	if c.inside && len(files) == 0 {
		return c.execByFabric(node, command, signals)
	}
	open := make([]int, len(files))
	for i := range open {
		open[i] = int(files[i].Fd())
	}
	place, err := kernel.LocationOf(open)
	if err != nil {
		return fmt.Errorf("the fabric returned %w, of %s", err, node)
	}
	place.Privileged, place.Routes = reply.Privileged, reply.Routes
	place.Environment, place.Folder = reply.Environment, reply.Folder
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		_, _ = c.lines.ReadByte() // returns when the fabric ends, or on Close
		close(ended)
		cancel()
	}()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = extra
	verbs.Prepare(cmd, &place, cmd.Stderr)
	// Release the files as soon as the program runs: they would keep the namespaces of an ended fabric alive if this
	// process were stopped.
	err = kernel.RunIn(place, cmd, func() {
		release()
		go func() {
			for {
				select {
				case s := <-signals:
					_ = cmd.Process.Signal(s) // an error means that it has ended
				case <-ctx.Done():
					return
				}
			}
		}()
	})
	if cmd.ProcessState == nil && errors.Is(err, unix.EPERM) { // programs on nodes may not enter namespaces
		return c.execByFabric(node, command, signals)
	}
	if cmd.ProcessState == nil {
		return err // it did not start
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() &&
		status.Signal() == unix.SIGKILL {
		select {
		case <-ended:
			return wallclock.ErrEnded
		case <-time.After(killTimeout):
		}
	}
	return err
}

// ProgramEnded holds the status of an ended program that the fabric's process ran.
type ProgramEnded struct{ Status syscall.WaitStatus }

func (p *ProgramEnded) Error() string {
	if p.Status.Signaled() {
		return "signal: " + p.Status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", p.Status.ExitStatus())
}

// execByFabric implements Exec for a process that may not enter a node: the fabric's process runs the command, with
// our standard files. It also forwards the terminal's signals.
func (c *Client) execByFabric(node string, command []string, signals <-chan os.Signal) error {
	own, err := dial(c.fabric, c.timeout)
	if err != nil {
		return err
	}
	defer own.Close()
	folder, _ := os.Getwd()
	r := Request{Verb: "program", Node: node, Command: command, Environment: os.Environ(), Folder: folder}
	if line, err := json.Marshal(r); err != nil || len(line) >= maxRequest {
		return fmt.Errorf("the command and its environment have %d bytes, but a fabric accepts at most %d from a program "+
			"on a node (use fewer variables, as with env -i)", len(line), maxRequest)
	}
	if _, err := own.Ask(r); err != nil {
		return err
	}
	if _, _, err := own.conn.WriteMsgUnix([]byte{0}, unix.UnixRights(0, 1, 2), nil); err != nil {
		return fmt.Errorf("pass the program its standard files: %w", err)
	}
	typed := make(chan os.Signal, 1)
	signal.Notify(typed, os.Interrupt, syscall.SIGQUIT)
	defer signal.Stop(typed)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			var s os.Signal
			select {
			case s = <-signals:
			case s = <-typed:
			case <-done:
				return
			}
			if n, ok := s.(syscall.Signal); ok {
				_, _ = own.conn.Write([]byte{byte(n)})
			}
		}
	}()
	line, err := own.lines.ReadBytes('\n')
	if err != nil {
		return wallclock.ErrEnded
	}
	var last Reply
	if err := json.Unmarshal(line, &last); err != nil {
		return fmt.Errorf("unexpected answer from the fabric, %q: %w", line, err)
	}
	if last.Error != "" {
		return Refusal(last.Error)
	}
	if last.Status != 0 {
		return &ProgramEnded{syscall.WaitStatus(last.Status)}
	}
	return nil
}

// Finish ends a capture, or interrupts a line. The remaining output still follows.
func (c *Client) Finish() error {
	c.finished.Store(true)
	_ = c.conn.SetReadDeadline(time.Now().Add(c.timeout))
	return c.conn.CloseWrite()
}
