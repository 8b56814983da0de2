//go:build linux

package shell

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

var runVerbs = []verb{
	{"sh", "COMMAND", "run a command outside of the fabric", (*Shell).sh},
	{"source", "FILE", "do the lines of a file", (*Shell).source},
}

// otherVerbs end the help.
var otherVerbs = []verb{
	{"help", "", "print the verbs", (*Shell).help},
	{"exit", "", "end the fabric; Ctrl-D does too", func(*Shell, []string) error { return errExit }},
}

// onNode runs a command on a node. Hosts' names among its words become their addresses, as Mininet has it.
func (s *Shell) onNode(node string, words []string, line string) error {
	if len(words) == 0 {
		return fmt.Errorf("write: %s COMMAND, such as %s ping -c 3 %s", node, node, s.Fabric.Plan.Nodes[s.Fabric.Plan.Hosts[0]].Name)
	}
	for i, w := range words {
		if h, err := s.Fabric.Host(w); err == nil && i > 0 {
			words[i] = h.Addr.String()
		}
	}
	cmd := exec.Command(words[0], words[1:]...)
	if strings.ContainsAny(line, "|&;<>$*`") { // the shell's business
		cmd = exec.Command("sh", "-c", strings.Join(words, " "))
	}
	return s.attached(cmd, func() error { return s.Fabric.Run(node, cmd) })
}

// attached runs a command with our terminal. Ctrl-C is for the command, and its exit code its own affair.
func (s *Shell) attached(cmd *exec.Cmd, run func() error) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Out
	if s.In == nil {
		cmd.Stdin = nil
	}
	_, stop := interrupts()
	defer stop()
	err := run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// interrupts has Ctrl-C not end this process for a while.
func interrupts() (interrupted <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGQUIT)
	return c, func() { signal.Stop(c) }
}

func (s *Shell) sh(words []string) error {
	if len(words) == 0 {
		return errUsage
	}
	cmd := exec.Command("sh", "-c", strings.Join(words, " "))
	return s.attached(cmd, cmd.Run)
}

// deepest is how many files may be sourced within each other.
const deepest = 8

func (s *Shell) source(args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	if s.depth == deepest {
		return fmt.Errorf("%s: files are sourced within each other more than %d deep", args[0], deepest)
	}
	f, err := os.Open(args[0])
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

func (s *Shell) help([]string) error {
	for i := range verbs {
		fmt.Fprintf(s.Out, "  %-38s %s\n", verbs[i].name+" "+verbs[i].arguments, verbs[i].help)
	}
	fmt.Fprintf(s.Out, "  %-38s %s\n", "NODE COMMAND", "run a program on a node, hosts' names for addresses: h1 ping -c 3 h2, h1 bash")
	return nil
}
