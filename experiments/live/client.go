//go:build linux

package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator"
)

// Client is another terminal's way to a fabric.
type Client struct {
	conn  *net.UnixConn
	from  *receiver
	lines *bufio.Reader // of from
}

// Names are the fabrics that are up, sorted. A socket that a killed fabric left behind is removed.
func Names() ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(Folder, "*.sock"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, path := range paths {
		conn, err := net.Dial("unix", path)
		if ended(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		conn.Close()
		names = append(names, strings.TrimSuffix(filepath.Base(path), ".sock"))
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

// Dial connects to the fabric of a name; empty: to the only one.
func Dial(name string) (*Client, error) {
	names, err := Names()
	if err != nil {
		return nil, err
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("%w: none is up; bring one up with: sudo pausenet up", ErrNone)
	case name == "" && len(names) > 1:
		return nil, fmt.Errorf("%w: several are up, name one with --fabric: %s", ErrNone, strings.Join(names, ", "))
	case name == "":
		name = names[0]
	case !slices.Contains(names, name):
		return nil, fmt.Errorf("%w as %q: up are %s", ErrNone, name, strings.Join(names, ", "))
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socketPath(name), Net: "unix"})
	if ended(err) {
		return nil, fmt.Errorf("%w as %q: it has just ended", ErrNone, name)
	}
	if err != nil {
		return nil, err
	}
	from := &receiver{conn: conn}
	return &Client{conn: conn, from: from, lines: bufio.NewReader(from)}, nil
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Refusal is why a fabric did not do what it was asked for.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Ask sends a request and waits for its reply.
func (c *Client) Ask(r Request) (*Reply, error) {
	if err := json.NewEncoder(c.conn).Encode(r); err != nil {
		return nil, err
	}
	return c.reply()
}

func (c *Client) reply() (*Reply, error) {
	line, err := c.lines.ReadBytes('\n')
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
		reply, err := c.reply()
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
	if _, err := c.Ask(Request{Verb: "events", Kinds: kinds}); err != nil {
		return err
	}
	for {
		line, err := c.lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(line); err != nil {
			return err
		}
	}
}

// Read reads what follows a reply to capture.
func (c *Client) Read(p []byte) (int, error) { return c.lines.Read(p) }

// killPatience is how long Exec waits, when its program was killed, for word that the fabric has ended: that may come later.
const killPatience = time.Second

// Exec runs a command on a node until it ends, with our terminal. It is killed if the fabric ends; then the error is orchestrator.ErrEnded.
func (c *Client) Exec(node string, command []string) error {
	reply, err := c.Ask(Request{Verb: "node", Node: node})
	files := c.from.take()
	letGo := func() { closeFiles(files) }
	defer letGo()
	if err != nil {
		return err
	}
	if len(files) != mostFiles {
		return fmt.Errorf("the fabric gave %d of the %d namespaces of %s", len(files), mostFiles, node)
	}
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
	err = orchestrator.RunIn(orchestrator.Place{Network: int(files[0].Fd()), PIDs: files[1], Hosts: reply.Hosts}, cmd, letGo)
	if cmd.ProcessState == nil {
		return err // it did not begin
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == unix.SIGKILL {
		select {
		case <-ended:
			return orchestrator.ErrEnded
		case <-time.After(killPatience):
		}
	}
	return err
}

// Finish ends a capture, or interrupts a line; what it holds back still comes.
func (c *Client) Finish() error { return c.conn.CloseWrite() }
