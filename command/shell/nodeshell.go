//go:build linux

package shell

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"syscall"

	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// nodeShells holds the shells on nodes. A node has one from the first line that needs it. It keeps its folder,
// variables and background jobs from one line to the next, until exit.
type nodeShells struct{ open map[string]*nodeShell }

type nodeShell struct {
	lines *os.File // to run
	done  chan bool
	ended chan error // its result
}

// stateful lists commands of sh that change or show the shell itself.
var stateful = []string{
	".", "alias", "bg", "cd", "declare", "dirs", "export", "fg", "hash", "jobs", "popd", "pushd",
	"readonly", "set", "shopt",
	"source", "trap", "type", "ulimit", "umask", "unalias", "unset", "wait",
}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// wants reports whether a command needs a node's shell: the node has one, or the command uses features of a shell.
func (n *nodeShells) wants(node string, words []string, rest string) bool {
	return n.open[node] != nil || forSh(rest) || isStateful(words)
}

func isStateful(words []string) bool {
	return slices.Contains(stateful, words[0]) || assignment.MatchString(words[0])
}

// loop runs lines from descriptor 3 and writes a line to descriptor 4 after each. Ctrl-C ends only the line. Programs
// inherit neither descriptor.
const loop = `trap : INT QUIT
while :; do
	IFS= read -r pausenet_line <&3; pausenet_status=$?
	if [ $pausenet_status -gt 128 ]; then continue; fi
	if [ $pausenet_status -ne 0 ]; then exit 0; fi
	command eval "$pausenet_line" 3<&- 4>&-
	echo >&4
done`

// bestShell starts bash if the node has it, as a mistake of a builtin does not end it, and otherwise sh.
const bestShell = `if command -v bash >/dev/null 2>&1; then exec bash --norc -c "$0"; fi; eval "$0"`

// run runs a line in a node's shell. start runs a command on the node, with this terminal, until it ends.
func (n *nodeShells) run(node, line string, start func(cmd *exec.Cmd) error) error {
	s := n.open[node]
	if s == nil {
		var err error
		if s, err = startNodeShell(start); err != nil {
			return err
		}
		if n.open == nil {
			n.open = map[string]*nodeShell{}
		}
		n.open[node] = s
	}
	_, err := fmt.Fprintln(s.lines, line)
	if err == nil {
		select {
		case <-s.done:
			return nil
		case err = <-s.ended:
		}
	} else {
		err = <-s.ended
	}
	s.lines.Close()
	delete(n.open, node)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return fmt.Errorf("the shell on %s has ended: %w (its folder and variables are lost; the next line starts another)",
				node, err)
		}
		return nil // by exit
	}
	return err
}

// close ends the shells. Programs that they started in the background continue.
func (n *nodeShells) close() {
	for node, s := range n.open {
		s.lines.Close()
		<-s.ended
		delete(n.open, node)
	}
}

func startNodeShell(start func(cmd *exec.Cmd) error) (*nodeShell, error) {
	in, lines, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	results, out, err := os.Pipe()
	if err != nil {
		in.Close()
		lines.Close()
		return nil, err
	}
	cmd := exec.Command("sh", "-c", bestShell, loop)
	cmd.ExtraFiles = []*os.File{in, out}
	s := &nodeShell{lines: lines, done: make(chan bool), ended: make(chan error, 1)}
	over := make(chan struct{})
	go func() {
		err := start(cmd)
		in.Close() // a later line fails instead of waiting
		out.Close()
		close(over)
		s.ended <- err
	}()
	go func() {
		defer results.Close()
		for r := bufio.NewReader(results); ; {
			if _, err := r.ReadByte(); err != nil {
				return
			}
			select {
			case s.done <- true:
			case <-over:
			}
		}
	}()
	return s, nil
}

// shellLine returns the line for a node's shell: unchanged if it uses features of a shell, and otherwise its words,
// among which names have become addresses.
func shellLine(words []string, rest string) string {
	if forSh(rest) || isStateful(words) {
		return rest
	}
	return kernel.Words(words)
}
