//go:build linux

package shell

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
)

var runVerbs = []verb{
	{"sh", "COMMAND", "run a command outside of the fabric", (*Shell).sh, nil},
	{"source", "FILE", "do the lines of a file", (*Shell).source, nil},
}

// otherVerbs end the help.
var otherVerbs = []verb{
	{"help", "[VERB]", "print the verbs, or what one takes", (*Shell).help, completeVerbs},
	{"exit", "", "end the fabric, or leave it if it is attached to; Ctrl-D does too", leave, nil},
	{"quit", "", "the same as exit", leave, nil},
}

func leave(*Shell, []string) error {
	return errExit
}

// onNode runs a command on a node. Hosts' names among its words become their addresses, as Mininet has it.
func (s *Shell) onNode(node string, words []string, line string) error {
	if len(words) == 0 {
		return fmt.Errorf("write: %s COMMAND, such as %s ping -c 3 %s", node, node,
			s.Fabric.Plan.Nodes[s.Fabric.Plan.Hosts[0]].Name)
	}
	words = nodeCommand(words, line, func(name string) string {
		if h, err := s.Fabric.Host(name); err == nil {
			return h.Addr.String()
		}
		// h0-eth2 is an interface's own name
		if host, place, err := s.Fabric.Plan.End(name); err == nil && strings.Contains(name, ".") {
			return s.Fabric.Plan.Address(s.Fabric.Plan.Nodes[host].Ports[place]).String()
		}
		return ""
	})
	cmd := exec.Command(words[0], words[1:]...)
	return s.attached(cmd, func() error { return s.Fabric.Run(node, cmd) })
}

// nodeCommand is the command that a line about a node means. address is a host's IPv4 address; "" of what is none. A
// command that asks for IPv6 gets that.
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
	if _, rest, _ := strings.Cut(strings.TrimSpace(line), " "); forSh(rest) { // as it is written; /etc/hosts has the names
		return []string{"sh", "-c", rest}
	}
	return words
}

// forSh says whether a command has what only a shell does: pipes, redirections, variables and the like, outside of
// quotes.
func forSh(command string) bool {
	var quote rune
	for _, c := range command {
		switch {
		case quote == '\'' && c != quote:
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		case strings.ContainsRune("$`\\", c), quote == 0 && strings.ContainsRune("|&;<>*?", c):
			return true
		}
	}
	return false
}

// attached runs a command with our terminal. Ctrl-C is for the command, and its exit code its own affair.
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

// interrupts has Ctrl-C not end this process for a while, but close a channel.
func (s *Shell) interrupts() (interrupted <-chan struct{}, stop func()) {
	if s.Interrupted != nil {
		return s.Interrupted, func() {}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGQUIT)
	return ctx.Done(), stop
}

// sh has sh do the rest of the line as it is written, quotes and all.
func (s *Shell) sh(words []string) error {
	if len(words) == 0 {
		return errUsage
	}
	cmd := exec.Command("sh", "-c", strings.TrimPrefix(strings.TrimSpace(s.line), "sh"))
	return s.attached(cmd, cmd.Run)
}

// deepest is how many files may be sourced within each other.
const deepest = 8

// commandsFile is a file of the shell's commands.
var commandsFile = files.Kind{Name: "a file of commands", Most: 16 << 20}

// openCommands opens a file of commands. It waits for nobody, unless the name is of a stream that the program was
// started with.
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
	if s.depth == deepest {
		return fmt.Errorf("%s: files are sourced within each other more than %d deep", args[0], deepest)
	}
	f, err := openCommands(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	s.depth++
	defer func() { s.depth-- }()
	if err := s.Lines(f); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return nil
}

// custom does a command of the user's. Its lines are not printed before they are done.
func (s *Shell) custom(c *custom, args []string) error {
	if s.depth == deepest {
		return fmt.Errorf("%s: files are sourced within each other more than %d deep", c.name, deepest)
	}
	s.depth++
	defer func() { s.depth-- }()
	return c.do(s.Fabric.Name, args, func(text string) error {
		return s.told(func() error {
			of := s.session()
			of.quiet = true
			return of.lines(strings.NewReader(text), &Tally{})
		})
	}, s.attached)
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
		return fmt.Errorf("no verb %q%s; help prints the verbs", args[0], yamlspec.Suggest(args[0], completeVerbs(s, nil)))
	}
	for i := range verbs {
		fmt.Fprintf(s.Out, "  %-40s %s\n", verbs[i].usage(), verbs[i].help)
	}
	fmt.Fprintf(s.Out, "  %-40s %s\n", "NODE COMMAND",
		"run a program on a node, hosts' names for addresses: h1 ping -c 3 h2, h1 bash")
	for _, name := range customNames(s.Fabric.Plan.Commands) {
		if c, err := findCustom(name, s.Fabric.Plan.Commands); err == nil && c != nil {
			fmt.Fprintf(s.Out, "  %-40s %s\n", name, c.help())
		}
	}
	fmt.Fprintln(s.Out, "Commands of your own are files in ~/.config/pausenet/commands (docs/shell.md). Python has pausenet.up() (docs/python.md).")
	return nil
}
