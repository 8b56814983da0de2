//go:build linux

package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
)

var runVerbs = []verb{
	{"sh", "COMMAND", "run a command on this machine, outside of the fabric", (*Shell).sh, nil},
	{"source", "FILE", "run the lines of a file", (*Shell).source, nil},
}

// otherVerbs lists the commands at the end of the help.
var otherVerbs = []verb{
	{"help", "[COMMAND]", "list the commands, or describe one", (*Shell).help, completeVerbs},
	{"exit", "", "end the fabric, or leave it if the shell is attached (also Ctrl-D)", leave, nil},
	{"quit", "", "same as exit", leave, nil},
}

func leave(*Shell, []string) error {
	return errExit
}

// onNode runs a command on a node. Hosts' names among its words become their addresses, as in Mininet.
func (s *Shell) onNode(node string, words []string, line string) error {
	if len(words) == 0 {
		return fmt.Errorf("usage: %s COMMAND, such as %s ping -c 3 %s", node, node,
			s.Fabric.Plan.Nodes[s.Fabric.Plan.Hosts[0]].Name)
	}
	_, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	own := s.Programs != nil && s.shells.wants(node, words, rest) // the output of a program is complete only when it ends
	command := nodeCommand(words, line, func(name string) string {
		if h, err := s.Fabric.Host(name); err == nil {
			return h.Addr.String()
		}
		// h0-eth2 is also the name of an interface
		if host, place, err := s.Fabric.Plan.End(name); err == nil && strings.Contains(name, ".") {
			return s.Fabric.Plan.Address(s.Fabric.Plan.Nodes[host].Ports[place]).String()
		}
		return ""
	})
	if own {
		_, stop := s.interrupts()
		defer stop()
		defer kernel.TakeBack(s.In)
		return s.shells.run(node, shellLine(words, rest), func(cmd *exec.Cmd) error {
			cmd.Stdout, cmd.Stderr = s.Programs, s.Programs
			if s.In != nil {
				cmd.Stdin = s.In
			}
			return s.Fabric.Run(node, cmd)
		})
	}
	cmd := exec.Command(command[0], command[1:]...)
	return s.attached(cmd, func() error { return s.Fabric.Run(node, cmd) })
}

// nodeCommand returns the command to run for a line about a node. address returns a host's IPv4 address, or "". A
// command that asks for IPv6 gets IPv6 addresses.
func nodeCommand(words []string, line string, address func(name string) string) []string {
	six := slices.Contains(words, "-6") || slices.Contains([]string{"ping6", "traceroute6", "tracepath6"}, words[0])
	for i, w := range words {
		if a := address(w); a != "" && i > 0 {
			if v4, err := netip.ParseAddr(a); six && err == nil {
				a = topologies.IPv6(v4).String()
			}
			words[i] = a
		}
	}
	if _, rest, _ := strings.Cut(strings.TrimSpace(line), " "); forSh(rest) { // unchanged: /etc/hosts has the names
		return []string{"sh", "-c", rest}
	}
	return words
}

// attached runs a command with this terminal. Ctrl-C goes to the command, and its exit code is not an error.
func (s *Shell) attached(cmd *exec.Cmd, run func() error) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Out
	if s.In == nil {
		cmd.Stdin = nil
	}
	if s.Programs != nil {
		cmd.Stdout, cmd.Stderr = s.Programs, s.Programs
	}
	_, stop := s.interrupts()
	defer stop()
	err := run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// interrupts makes Ctrl-C close a channel instead of ending this process, until stop is called.
func (s *Shell) interrupts() (interrupted <-chan struct{}, stop func()) {
	if s.Interrupted != nil {
		return s.Interrupted, func() {}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGQUIT)
	return ctx.Done(), stop
}

// sh runs the rest of the line with sh, unchanged.
func (s *Shell) sh(words []string) error {
	if len(words) == 0 {
		return errUsage
	}
	cmd := exec.Command("sh", "-c", strings.TrimPrefix(strings.TrimSpace(s.line), "sh"))
	return s.attached(cmd, cmd.Run)
}

// depth counts the files and users' commands that are running, each started by the one before.
type depth int

// deepest limits the depth.
const deepest = 8

// within runs do one level deeper. name is that of the file or command.
func (d *depth) within(name string, do func() error) error {
	if *d == deepest {
		return fmt.Errorf("%s: source nested more than %d deep", name, deepest)
	}
	*d++
	defer func() { *d-- }()
	return do()
}

// source passes the lines of a file of commands to run.
func (d *depth) source(name string, run func(io.Reader) error) error {
	return d.within(name, func() error {
		f, err := openCommands(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := run(f); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// commandsFile limits the size of a file of commands.
var commandsFile = files.Kind{Name: "a file of commands", Most: 16 << 20}

// openCommands opens a file of commands. It does not block on a pipe, unless the name refers to a stream that the
// program was started with.
func openCommands(name string) (*os.File, error) {
	if files.IsStream(name) {
		return os.Open(name)
	}
	return files.Open(name, commandsFile)
}

func (s *Shell) source(args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	return s.depth.source(args[0], s.Lines)
}

// custom runs a user's command. Its lines are not printed first.
func (s *Shell) custom(c *custom, args []string) error {
	return s.depth.within(c.name, func() error {
		return c.do(s.Fabric.Name, args, func(text string) error {
			return s.reporting(func() error {
				of := s.session()
				of.quiet = true
				return of.lines(strings.NewReader(text), &Tally{})
			})
		}, s.attached)
	})
}

func (s *Shell) help(args []string) error {
	if len(args) > 1 {
		return errUsage
	}
	if len(args) == 1 {
		for i := range verbs {
			if v := &verbs[i]; v.name == args[0] {
				fmt.Fprintf(s.Out, "%s\n  %s\n", v.usage(), v.help)
				if more := details[v.name]; more != "" {
					fmt.Fprint(s.Out, more)
				}
				return nil
			}
		}
		if c, err := findCustom(args[0], s.Fabric.Plan.Commands); c != nil || err != nil {
			if err == nil {
				fmt.Fprintf(s.Out, "%s\n  %s\n", c.name, c.help())
			}
			return err
		}
		if hint := elsewhere[args[0]]; hint != "" {
			fmt.Fprintf(s.Out, "%s\n  %s\n", args[0], hint)
			return nil
		}
		return fmt.Errorf("unknown command %q%s (list commands with \"help\")", args[0],
			spelling.Suggest(args[0], completeVerbs(s, nil)))
	}
	for i := range verbs {
		fmt.Fprintf(s.Out, "  %-40s %s\n", verbs[i].usage(), verbs[i].help)
	}
	fmt.Fprintf(s.Out, "  %-40s %s\n", "NODE COMMAND",
		"run a program on a node; hosts' names become addresses: h1 ping -c 3 h2, h1 bash")
	for _, name := range customNames(s.Fabric.Plan.Commands) {
		if c, err := findCustom(name, s.Fabric.Plan.Commands); err == nil && c != nil {
			fmt.Fprintf(s.Out, "  %-40s %s\n", name, c.help())
		}
	}
	fmt.Fprintln(s.Out, "Your own commands are files in ~/.config/pausenet/commands (docs/shell.md). For Python, "+
		"see pausenet.up() (docs/python.md).")
	return nil
}
