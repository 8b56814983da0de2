package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/internal/shutdown"
)

// serveRequest is a line of serve's input.
type serveRequest struct {
	ID        json.RawMessage `json:"id,omitempty"` // repeated in the reply
	Command   []string        `json:"command"`      // words after "pausenet"
	Directory string          `json:"directory"`    // working directory; empty: that of the request before
	Stdin     string          `json:"stdin"`
}

// serveReply is a line of serve's output.
type serveReply struct {
	ID       json.RawMessage `json:"id,omitempty"`
	ExitCode int             `json:"exit_code"`
	Stdout   string          `json:"stdout"`
	Stderr   string          `json:"stderr"`
}

func newServeCommand() *cobra.Command {
	var socket string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run commands read from standard input, in one process",
		Long: `Read requests from standard input, one JSON object per line, and write one line
of JSON as the reply to each. A request has a command and, optionally, its
working directory and its standard input:

  {"id": 1, "command": ["run", "incast"], "directory": "/tmp", "stdin": ""}

The reply says what the command printed, and its exit code:

  {"id": 1, "exit_code": 0, "stdout": "...", "stderr": "..."}

Commands run one after the other, with the same results as in processes of
their own. They save the time that a process takes to start, which matters to
programs that run many short scenarios, such as optimizers. serve ends at the
end of its input. After SIGINT or SIGTERM it ends the running command, replies,
and ends. Commands for live fabrics, and those that are servers themselves, are
not allowed.

With --socket, serve listens on a Unix socket instead, which only your user may
use. Several programs may be connected at once; their commands take turns. A
connection that ends does not end serve.`,
		Example: `  echo '{"command": ["run", "incast", "--cc", "dcqcn"]}' | pausenet serve
  pausenet serve --socket /tmp/pausenet.sock`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := notEmpty(c, "socket"); err != nil {
				return err
			}
			if socket != "" {
				return serveSocket(c.Context(), socket, stderr())
			}
			return serve(os.Stdin, os.Stdout)
		},
	}
	c.Flags().StringVar(&socket, "socket", "", "listen on a Unix socket at this `path`, for several programs at once")
	return c
}

// mostRequest limits a request's length, in bytes.
const mostRequest = 64 << 20

// serving is whether this process serves requests.
var serving bool

// servedGCPercent makes garbage collection rarer than Go's default of 100: a run of a few milliseconds leaves some 5 MB
// behind, which would otherwise be collected during every second run, at a quarter of the time.
const servedGCPercent = 400

// serve answers requests until their end.
func serve(from io.Reader, to io.Writer) error {
	defer startServing()()
	a := answering{
		name: "standard input", turn: &sync.Mutex{}, directory: func(*serveRequest) {},
		present: func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) },
	}
	return a.answer(from, to)
}

// startServing prepares this process for requests. end undoes it.
func startServing() (end func()) {
	before := debug.SetGCPercent(servedGCPercent)
	serving = true
	if _, given := os.LookupEnv("GOGC"); given {
		debug.SetGCPercent(before)
	}
	return func() {
		serving = false
		debug.SetGCPercent(before)
	}
}

// serveGC sets the garbage collection for serving. A command may change it.
func serveGC() {
	if _, given := os.LookupEnv("GOGC"); !given {
		debug.SetGCPercent(servedGCPercent)
	}
}

// answering describes a client.
type answering struct {
	name      string                                       // for messages
	turn      *sync.Mutex                                  // clients take turns
	directory func(*serveRequest)                          // sets the working directory of a request
	present   func() (context.Context, context.CancelFunc) // returns a context that ends when the client goes
}

// answer answers the client's requests until their end.
func (a *answering) answer(from io.Reader, to io.Writer) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, mostRequest)
	replies := json.NewEncoder(to)
	replies.SetEscapeHTML(false)
	for number := 1; lines.Scan(); number++ {
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		r, err := parseRequest(lines.Bytes())
		if err != nil {
			return badInput(fmt.Errorf(`line %d of %s is no request: %w (write {"command": ["run", "incast"]})`,
				number, a.name, err))
		}
		a.directory(r)
		reply, err := a.carryOut(r)
		if err != nil {
			return err
		}
		if err := replies.Encode(reply); err != nil {
			return &exitError{exitEnvironment, fmt.Errorf("write the reply: %w", err)}
		}
		if shutdown.Begun() {
			return &exitError{exitVerdict, errors.New("interrupted")}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return badInput(fmt.Errorf("a request is longer than %d MiB", mostRequest>>20))
	}
	return lines.Err()
}

// parseRequest parses a line. It refuses unknown keys: a misspelt "directory" would move the results.
func parseRequest(line []byte) (*serveRequest, error) {
	var r serveRequest
	err := json.Unmarshal(line, &r)
	if err == nil {
		strict := json.NewDecoder(bytes.NewReader(line))
		strict.DisallowUnknownFields()
		err = strict.Decode(&r)
	}
	if err == nil && r.Command == nil {
		err = errors.New("command is missing")
	}
	return &r, err
}

// carryOut waits for the client's turn and serves its request. The command is interrupted when the client goes.
func (a *answering) carryOut(r *serveRequest) (*serveReply, error) {
	ctx, stop := a.present()
	defer stop()
	a.turn.Lock()
	defer a.turn.Unlock()
	if ctx.Err() != nil {
		return r.refuse(errors.New("the client has gone")), nil
	}
	defer serveGC()
	return r.serve(ctx)
}

// serve runs the command in this process, with standard streams, arguments and directory of its own.
func (r *serveRequest) serve(ctx context.Context) (*serveReply, error) {
	if r.Directory != "" {
		if err := os.Chdir(r.Directory); err != nil {
			return r.refuse(fmt.Errorf("directory: %w", err)), nil
		}
	}
	root := newRootCommand()
	if c, _, err := root.Find(r.Command); err == nil && !served(c) {
		return r.refuse(fmt.Errorf("%s needs a process of its own: start it as pausenet %[1]s", c.Name())), nil
	}
	stdin, stdout, stderr, args := os.Stdin, os.Stdout, os.Stderr, os.Args
	defer func() { os.Stdin, os.Stdout, os.Stderr, os.Args = stdin, stdout, stderr, args }()
	in, given, err := os.Pipe()
	if err != nil {
		return nil, &exitError{exitEnvironment, err}
	}
	defer in.Close()
	go func() { // ends when the command has read it, or in is closed
		_, _ = io.WriteString(given, r.Stdin)
		given.Close()
	}()
	out, err := newPrinted()
	if err != nil {
		return nil, &exitError{exitEnvironment, err}
	}
	complaints, err := newPrinted()
	if err != nil {
		return nil, &exitError{exitEnvironment, err}
	}
	os.Stdin, os.Stdout, os.Stderr = in, out.to, complaints.to
	os.Args = append([]string{args[0]}, r.Command...)
	code := execute(ctx, root, r.Command)
	return &serveReply{ID: r.ID, ExitCode: code, Stdout: out.text(), Stderr: complaints.text()}, nil
}

// refuse returns the reply to a request that is not carried out.
func (r *serveRequest) refuse(err error) *serveReply {
	return &serveReply{ID: r.ID, ExitCode: exitBadInput, Stderr: fmt.Sprintf("pausenet: %v\n", err)}
}

// served reports whether a command can run in a process with others.
func served(c *cobra.Command) bool {
	for ; c != nil; c = c.Parent() {
		if c.GroupID == liveGroup || slices.Contains([]string{"serve", "worker", "view", "mcp"}, c.Name()) {
			return false
		}
	}
	return true
}

// printed collects what is written to a file.
type printed struct {
	to   *os.File
	read chan string
}

func newPrinted() (*printed, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &printed{to: to, read: make(chan string, 1)}
	go func() {
		text, _ := io.ReadAll(from) // of a pipe
		from.Close()
		p.read <- string(text)
	}()
	return p, nil
}

// text closes the file and returns everything that was written to it.
func (p *printed) text() string {
	p.to.Close()
	return <-p.read
}
