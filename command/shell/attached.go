//go:build linux

package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Attached represents a shell in another terminal than the fabric's. It sends most lines to the fabric's process.
type Attached struct {
	Out io.Writer
	// In provides input for noecho, top and programs that run outside of nodes; nil means none.
	In *os.File
	// Programs receives the output of programs that run outside of nodes, such as those of sh; nil means Out.
	Programs *os.File
	// Dial connects to the fabric.
	Dial func() (*live.Client, error)

	nodes    map[string]string // addresses by node name; "" for switches
	order    []string          // names of the nodes, in order
	hosts    []string
	commands []topologies.Command
	name     string
	events   *live.Client
	mutex    sync.Mutex
	troubles []live.Event // not yet printed
	done     chan struct{}
	local    *Shell     // for commands that do not concern the fabric
	jobs     []*lineJob // running in the background
	depth    depth
	shells   nodeShells // on nodes
}

// Attach queries the fabric's name and nodes.
func (a *Attached) Attach() error {
	reply, err := a.ask(live.Request{Verb: "inspect"})
	if err != nil {
		return err
	}
	d := reply.Inspect
	a.name, a.nodes, a.done, a.commands = d.Name, map[string]string{}, make(chan struct{}), d.Commands
	for i := range d.Nodes {
		n := &d.Nodes[i]
		a.nodes[n.Name] = ""
		a.order = append(a.order, n.Name)
		if n.Kind == topologies.Host.String() {
			a.nodes[n.Name] = n.Address
			a.hosts = append(a.hosts, n.Name)
		}
	}
	a.local = &Shell{Out: a.Out, In: a.In, Programs: a.Programs}
	if a.events, err = a.Dial(); err != nil {
		return err
	}
	go func() {
		defer close(a.done)
		_ = a.events.Events(live.TroubleKinds, a.trouble) // an error means that the fabric has ended
	}()
	return nil
}

// Name returns the fabric's name.
func (a *Attached) Name() string { return a.name }

// Done returns a channel that is closed when the fabric has ended.
func (a *Attached) Done() <-chan struct{} { return a.done }

// Close ends the shells on nodes, and closes the connections to the fabric.
func (a *Attached) Close() {
	a.shells.close()
	_ = a.events.Close()
	<-a.done
}

// with calls do with a connection to the fabric.
func (a *Attached) with(do func(c *live.Client) error) error {
	c, err := a.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	return do(c)
}

// ask returns the fabric's reply to a request.
func (a *Attached) ask(request live.Request) (reply *live.Reply, err error) {
	err = a.with(func(c *live.Client) (err error) {
		reply, err = c.Ask(request)
		return err
	})
	return reply, err
}

func (a *Attached) trouble(line []byte) error {
	var e live.Event
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if len(a.troubles) < 64 {
		a.troubles = append(a.troubles, e)
	}
	return nil
}

// tell prints storms and deadlocks that were not printed yet.
func (a *Attached) tell() {
	a.tellJobs()
	a.mutex.Lock()
	troubles := a.troubles
	a.troubles = nil
	a.mutex.Unlock()
	for i := range troubles {
		fmt.Fprintln(a.Out, troubles[i].String())
	}
}

func (a *Attached) ended() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

func (a *Attached) session() *session {
	return &session{out: a.Out, do: a.Do, complete: a.complete, tell: a.tell, farewell: a.farewell, ended: a.ended}
}

// Terminal reads lines from a terminal until exit or Ctrl-D, or the fabric's end.
func (a *Attached) Terminal() error { return a.session().terminal() }

// Lines runs the lines of in; see Shell.Lines.
func (a *Attached) Lines(in io.Reader) error { return a.session().lines(in, &Tally{}) }

// Do runs a line: programs and commands about this terminal here, all others in the fabric's process.
func (a *Attached) Do(line string) (done bool, err error) {
	words, err := split(line)
	if err != nil || len(words) == 0 {
		return false, err
	}
	if _, node := a.nodes[words[0]]; node && len(words) > 1 {
		return false, a.onNode(words[0], words[1:], line)
	}
	switch words[0] {
	case "exit", "quit":
		if len(words) > 1 {
			return false, fmt.Errorf("usage: %s", words[0])
		}
		return true, nil
	case "time", "noecho":
		if len(words) == 1 {
			return false, fmt.Errorf("usage: %s LINE", words[0])
		}
		do := timed(a.Out, a.Do, a.virtualFrom)
		if words[0] == "noecho" {
			do = unseen(a.In, a.Do)
		}
		return do(behind(line))
	case "xterm":
		return false, openWindows(a.name, words[1:], a.order, a.hosts)
	case "sh":
		return false, a.local.sh(words[1:])
	case "source":
		return false, a.source(words[1:])
	case "wait":
		return false, a.wait(words[1:])
	case "top":
		return false, Top(a.In, a.Out, a.take)
	}
	if !isVerb(words[0]) {
		if c, err := findCustom(words[0], a.commands); c != nil || err != nil {
			if err == nil {
				err = a.custom(c, words[1:])
			}
			return false, err
		}
	}
	if foreground, ok := inBackground(line); ok {
		return false, a.start(line, foreground)
	}
	return false, a.with(func(c *live.Client) error {
		interrupted, stop := a.local.interrupts()
		over := make(chan struct{})
		defer stop()
		defer close(over)
		go func() {
			select {
			case <-interrupted:
				_ = c.Finish()
			case <-over:
			}
		}()
		return c.Do(line, a.Out)
	})
}

func (a *Attached) take() (*live.Snapshot, error) {
	reply, err := a.ask(live.Request{Verb: "snapshot"})
	if err != nil {
		return nil, err
	}
	return reply.Snapshot, nil
}

func (a *Attached) onNode(node string, words []string, line string) error {
	_, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	own := a.shells.wants(node, words, rest)
	command := nodeCommand(words, line, func(name string) string { return a.nodes[name] })
	_, stop := a.local.interrupts() // signals are for the program
	defer stop()
	if own {
		defer kernel.TakeBack(os.Stdin)
		return a.shells.run(node, shellLine(words, rest), func(cmd *exec.Cmd) error {
			return a.with(func(c *live.Client) error { return c.Exec(node, cmd.Args, nil, cmd.ExtraFiles...) })
		})
	}
	return a.with(func(c *live.Client) error {
		err := c.Exec(node, command, nil)
		var (
			exit *exec.ExitError
			afar *live.ProgramEnded
		)
		if errors.As(err, &exit) || errors.As(err, &afar) {
			return nil
		}
		return err
	})
}

func (a *Attached) source(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: source FILE")
	}
	return a.depth.source(args[0], a.Lines)
}

// custom runs a user's command here; see Shell.custom.
func (a *Attached) custom(c *custom, args []string) error {
	return a.depth.within(c.name, func() error {
		return c.do(a.name, args, func(text string) error {
			of := a.session()
			of.quiet = true
			return of.lines(strings.NewReader(text), &Tally{})
		}, a.local.attached)
	})
}

// virtualFrom returns a function that returns the virtual time since this call, by the fabric's clock.
func (a *Attached) virtualFrom() func() (vtime.Time, error) {
	now := func() (vtime.Time, error) {
		reply, err := a.ask(live.Request{Verb: "inspect"})
		if err != nil {
			return 0, err
		}
		return vtime.Time(reply.Inspect.Clock.VirtualNS) * vtime.Nanosecond, nil
	}
	started, err := now()
	return func() (vtime.Time, error) {
		if err != nil {
			return 0, err
		}
		t, err := now()
		return t - started, err
	}
}

// complete returns completions from the fabric.
func (a *Attached) complete(line string) []string {
	reply, err := a.ask(live.Request{Verb: "complete", Line: line})
	if err != nil {
		return nil
	}
	return reply.Lines
}

// Line runs a line of an Attached shell in the fabric's process.
func Line(f *live.Fabric, line string, out io.Writer, interrupted <-chan struct{}) error {
	if strings.TrimSpace(line) == "" {
		return nil
	}
	s := &Shell{Fabric: f, Out: out, Interrupted: interrupted}
	_, err := s.Do(line)
	return err
}

// Complete returns completions for an Attached shell.
func Complete(f *live.Fabric, line string) []string { return (&Shell{Fabric: f}).Complete(line) }
