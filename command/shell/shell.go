//go:build linux

package shell

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/topologies"
)

// Shell reads and runs lines of the fabric's shell, in the fabric's process.
type Shell struct {
	Fabric *live.Fabric
	Out    io.Writer
	// In provides input for noecho, top and programs; nil means none.
	In *os.File
	// Programs receives the output of programs; nil means Out. Programs inherit the file itself, so that they can
	// detect a terminal, and background programs do not block the shell.
	Programs *os.File
	// Interrupted ends a line's wait; if nil, Ctrl-C does.
	Interrupted <-chan struct{}
	troubles    *live.Troubles // for the prompt to print; nil if nothing prints them
	background  []*flows       // unfinished flows, and finished ones that were not printed yet
	depth       depth          // nesting of source
	line        string         // the line that is running
	shells      nodeShells     // on nodes; only with Programs
}

// Close ends the shells on nodes. Programs in the background continue.
func (s *Shell) Close() { s.shells.close() }

// verb describes a command of the shell, the first word of a line.
type verb struct {
	name, arguments, help string
	run                   func(s *Shell, args []string) error
	// complete returns words that may follow args; nil for none.
	complete func(s *Shell, args []string) []string
}

// verbs lists all commands in the order of the help. init sets it, because help reads it.
var verbs []verb

func init() {
	for _, group := range [][]verb{
		lookVerbs, pingVerbs, flowVerbs, iperfVerbs, changeVerbs, runVerbs, windowVerbs,
		beforeVerbs, otherVerbs,
	} {
		verbs = append(verbs, group...)
	}
}

// errExit ends the shell.
var errExit = errors.New("exit")

// Do runs a line. done means that the shell should end.
func (s *Shell) Do(line string) (done bool, err error) {
	words, err := split(line)
	if err != nil || len(words) == 0 {
		return false, err
	}
	if s.Fabric.Plan.NodeByName(words[0]) != nil {
		return false, s.onNode(words[0], words[1:], line)
	}
	s.line = line
	for i := range verbs {
		if verbs[i].name != words[0] {
			continue
		}
		if err = errUsage; verbs[i].arguments != "" || len(words) == 1 {
			err = verbs[i].run(s, words[1:])
		}
		if errors.Is(err, errExit) {
			return true, nil
		}
		if errors.Is(err, errUsage) {
			err = fmt.Errorf("usage: %s", verbs[i].usage())
		}
		return false, err
	}
	if c, err := findCustom(words[0], s.Fabric.Plan.Commands); c != nil || err != nil {
		if err == nil {
			err = s.custom(c, words[1:])
		}
		return false, err
	}
	return false, unknown(words[0], s.Fabric.Plan)
}

// unknown returns an error for an unknown first word.
func unknown(word string, plan *topologies.Plan) error {
	if hint := elsewhere[word]; hint != "" {
		return fmt.Errorf("unknown command %q: %s", word, hint)
	}
	if _, err := exec.LookPath(word); err == nil && !strings.ContainsRune(word, '/') {
		host := plan.Nodes[plan.Hosts[0]].Name
		return fmt.Errorf("unknown command or node %q: to run a program, use %s %s on a node, or sh %s outside of the fabric",
			word, host, word, word)
	}
	names := append(plan.Names(), customNames(plan.Commands)...)
	for i := range verbs {
		names = append(names, verbs[i].name)
	}
	return fmt.Errorf("unknown command or node %q%s (list commands with \"help\")", word, spelling.Suggest(word, names))
}

// usage returns a command with its arguments.
func (v *verb) usage() string { return strings.TrimSpace(v.name + " " + v.arguments) }

// errUsage means that a command received unexpected arguments.
var errUsage = errors.New("wrong arguments")
