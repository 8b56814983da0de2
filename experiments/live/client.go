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
	"github.com/pausenet/pausenet/orchestrator/live"
	"github.com/pausenet/pausenet/orchestrator/verbs"
)

// Client is another terminal's way to a fabric.
type Client struct {
	fabric   string
	conn     *net.UnixConn
	inside   bool // from a node of the fabric
	from     *receiver
	lines    *bufio.Reader // of from
	timeout  time.Duration // with the fabric, for an answer
	finished atomic.Bool
}

// Names returns the names of the fabrics that are up, sorted; on a node its own fabric's. It removes sockets that
// killed fabrics left behind.
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

// ended says of an error of Dial that the fabric has: its process is gone, or it has just taken its socket away.
func ended(err error) bool {
	return errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT)
}

// ErrNone says that there is no such fabric.
var ErrNone = errors.New("no such fabric")

// ErrEnded says that the fabric has ended while something of it was waited for.
var ErrEnded = live.ErrEnded

// ErrSeveral says that no name was given, and there is not one fabric alone that it could be.
var ErrSeveral = errors.New("several fabrics are up, name one")

// crowded says of an error of Dial that more wait to be connected than the kernel has wait.
func crowded(err error) bool { return errors.Is(err, unix.EAGAIN) }

const (
	// answerTimeout is how long a fabric has to answer, or to say more. A pass that the machine is late with may hold its
	// engine for 20 s.
	answerTimeout = 30 * time.Second
	// endTimeout is how long it has to end.
	endTimeout = time.Minute
)

// Unanswered says that a fabric is up and does not answer.
type Unanswered struct {
	Fabric  string
	Process int // 0: not known
	Timeout time.Duration
}

func (u *Unanswered) Error() string {
	s := fmt.Sprintf("%s has not answered for %v", u.Fabric, u.Timeout)
	switch {
	case u.Process == 0:
	case stopped(u.Process):
		s += fmt.Sprintf(": its process, %d, is stopped; kill -CONT %d has it go on, kill -9 %d ends it", u.Process,
			u.Process, u.Process)
	default:
		s += fmt.Sprintf(": its process, %d, hangs or has no processor; kill -9 %d ends it", u.Process, u.Process)
	}
	return s
}

// stopped says whether a process is stopped, as by SIGSTOP.
func stopped(pid int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	return strings.HasPrefix(rest, "T") || strings.HasPrefix(rest, "t")
}

// Dial connects to the fabric of a name; empty: on a node to the one that it is of, elsewhere to the only one.
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

// noneUp says that no fabric is up, and of the last that was what became of it.
func noneUp() error {
	if all := AllEnded(); len(all) > 0 {
		return fmt.Errorf("%w: none is up; %v", ErrNone, all[0])
	}
	return fmt.Errorf("%w: none is up; bring one up with: sudo pausenet up", ErrNone)
}

func dial(name string, timeout time.Duration) (*Client, error) {
	if !fabricName.MatchString(name) {
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
			return nil, fmt.Errorf("%w as %q: up are %s", ErrNone, name, strings.Join(names, ", "))
		case !crowded(err):
			return nil, err
		case time.Since(start) > timeout:
			return nil, &Unanswered{Fabric: name, Timeout: timeout}
		}
	}
}

// connect connects to a fabric's socket, or from one of its nodes to that of the node.
func connect(name string) (conn *net.UnixConn, inside bool, err error) {
	conn, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: socketPath(name), Net: "unix"})
	if ended(err) {
		if own := dialInside(name); own != nil {
			return own, true, nil
		}
	}
	return conn, false, err
}

// Name is the fabric's.
func (c *Client) Name() string { return c.fabric }

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Refusal is why a fabric did not do what it was asked for.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Ask sends a request and waits for its reply; if none comes in time the error is Unanswered.
func (c *Client) Ask(r Request) (*Reply, error) {
	timeout := c.timeout
	if r.Verb == "down" {
		timeout = max(timeout, endTimeout)
	}
	_ = c.conn.SetWriteDeadline(time.Now().Add(timeout))
	// it may have said why it hangs up
	if err := json.NewEncoder(c.conn).Encode(r); err != nil && !errors.Is(err, unix.EPIPE) {
		return nil, c.unanswered(err, timeout)
	}
	return c.reply(timeout)
}

// line reads a line that has to come in time.
func (c *Client) line(timeout time.Duration) ([]byte, error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(timeout))
	line, err := c.lines.ReadBytes('\n')
	_ = c.conn.SetReadDeadline(time.Time{})
	return line, c.unanswered(err, timeout)
}

// unanswered tells of an error that no answer came.
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

// Do has the fabric's shell do a line and copies what it prints to out. Finish interrupts it.
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

// Events has each event of some kinds, or of all, go to each, until Close or the fabric's end.
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
		if len(line) == 1 { // a beat
			continue
		}
		if err := each(line); err != nil {
			return err
		}
	}
}

// Read reads what follows a reply to capture.
func (c *Client) Read(p []byte) (int, error) {
	if c.finished.Load() {
		_ = c.conn.SetReadDeadline(time.Now().Add(c.timeout))
	}
	n, err := c.lines.Read(p)
	return n, c.unanswered(err, c.timeout)
}

// killTimeout is how long Exec waits, when its program was killed, for word that the fabric has ended: that may come
// later.
const killTimeout = time.Second

// Exec runs a command on a node until it ends, with our terminal; what comes from signals is sent to it. It is killed
// if the fabric ends; then the error is live.ErrEnded.
func (c *Client) Exec(node string, command []string, signals <-chan os.Signal) error {
	reply, err := c.Ask(Request{Verb: "node", Node: node})
	files := c.from.take()
	letGo := func() { closeFiles(files) }
	defer letGo()
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
	place, err := kernel.PlaceOf(open)
	if err != nil {
		return fmt.Errorf("the fabric gave %w, of %s", err, node)
	}
	place.Privileged, place.Environment, place.Folder = reply.Privileged, reply.Environment, reply.Folder
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		_, _ = c.lines.ReadByte() // until the fabric has ended, or we close
		close(ended)
		cancel()
	}()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// Whoever is stopped while the program runs is not to hold the namespaces of a fabric that has ended.
	verbs.Prepare(cmd, &place, cmd.Stderr)
	err = kernel.RunIn(place, cmd, func() {
		letGo()
		go func() {
			for {
				select {
				case s := <-signals:
					_ = cmd.Process.Signal(s) // or it has ended
				case <-ctx.Done():
					return
				}
			}
		}()
	})
	if cmd.ProcessState == nil && errors.Is(err, unix.EPERM) { // as a program on a node may not
		return c.execByFabric(node, command, signals)
	}
	if cmd.ProcessState == nil {
		return err // it did not begin
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() &&
		status.Signal() == unix.SIGKILL {
		select {
		case <-ended:
			return live.ErrEnded
		case <-time.After(killTimeout):
		}
	}
	return err
}

// ProgramEnded says how a program ended that the fabric's process has run.
type ProgramEnded struct{ Status syscall.WaitStatus }

func (p *ProgramEnded) Error() string {
	if p.Status.Signaled() {
		return "signal: " + p.Status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", p.Status.ExitStatus())
}

// execByFabric is Exec where this process may not enter a node: the fabric's process runs the command, with our
// standard files. The terminal's signals are passed on, too.
func (c *Client) execByFabric(node string, command []string, signals <-chan os.Signal) error {
	own, err := dial(c.fabric, c.timeout)
	if err != nil {
		return err
	}
	defer own.Close()
	folder, _ := os.Getwd()
	r := Request{Verb: "program", Node: node, Command: command, Environment: os.Environ(), Folder: folder}
	if line, err := json.Marshal(r); err != nil || len(line) >= maxRequest {
		return fmt.Errorf("the command and its environment are %d bytes, where a fabric takes %d from a program on a node: begin it with fewer variables (env -i)", len(line), maxRequest)
	}
	if _, err := own.Ask(r); err != nil {
		return err
	}
	if _, _, err := own.conn.WriteMsgUnix([]byte{0}, unix.UnixRights(0, 1, 2), nil); err != nil {
		return fmt.Errorf("give the program its standard files: %w", err)
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
		return live.ErrEnded
	}
	var last Reply
	if err := json.Unmarshal(line, &last); err != nil {
		return fmt.Errorf("the fabric answers %q: %w", line, err)
	}
	if last.Error != "" {
		return Refusal(last.Error)
	}
	if last.Status != 0 {
		return &ProgramEnded{syscall.WaitStatus(last.Status)}
	}
	return nil
}

// Finish ends a capture, or interrupts a line; what it holds back still comes.
func (c *Client) Finish() error {
	c.finished.Store(true)
	_ = c.conn.SetReadDeadline(time.Now().Add(c.timeout))
	return c.conn.CloseWrite()
}
