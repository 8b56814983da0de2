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
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
)

// Shell reads lines and does what they say.
type Shell struct {
	Fabric *live.Fabric
	Out    io.Writer
	// In is what programs on nodes read; nil: nothing.
	In *os.File
	// Programs is where programs print; nil: Out. A file is theirs as it is: they find the terminal that it may be, and no
	// pipe to Out is waited for that one in the background holds.
	Programs *os.File
	// Interrupted ends what a line waits for; nil: Ctrl-C does.
	Interrupted <-chan struct{}
	troubles    *live.Troubles // that the prompt tells of; nil: nobody does
	background  []*flows       // that have not all ended, or that nobody has been told of
	depth       int            // of source
	line        string         // that is done
}

// verb is a word that a line may begin with.
type verb struct {
	name, arguments, help string
	run                   func(s *Shell, args []string) error
	// complete offers words that may follow args; nil: none.
	complete func(s *Shell, args []string) []string
}

// verbs are in the order of help. They are set by init, as help reads them.
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

// Do does what a line says. done says that the shell is to end.
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
			err = fmt.Errorf("write: %s", verbs[i].usage())
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

// unknown says of a word that it begins no line.
func unknown(word string, plan *topologies.Plan) error {
	if hint := elsewhere[word]; hint != "" {
		return fmt.Errorf("no verb %q: %s", word, hint)
	}
	if _, err := exec.LookPath(word); err == nil && !strings.ContainsRune(word, '/') {
		host := plan.Nodes[plan.Hosts[0]].Name
		return fmt.Errorf("no verb or node %q: a program is run on a node, as by %s %s, or outside of the fabric by sh %s",
			word, host, word, word)
	}
	names := append(plan.Names(), customNames(plan.Commands)...)
	for i := range verbs {
		names = append(names, verbs[i].name)
	}
	return fmt.Errorf("no verb or node %q%s; help prints the verbs", word, yamlspec.Suggest(word, names))
}

// usage is a verb with its arguments.
func (v *verb) usage() string { return strings.TrimSpace(v.name + " " + v.arguments) }

// errUsage says that a verb got other arguments than it takes.
var errUsage = errors.New("wrong arguments")

// split makes words of a line: blanks separate them, quotes hold them together, # begins a comment.
func split(line string) (words []string, err error) {
	var word strings.Builder
	var quote rune
	inside := false
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, inside = c, true
		case c == '#' && !inside:
			return words, nil
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			if inside {
				words = append(words, word.String())
				word.Reset()
				inside = false
			}
		default:
			word.WriteRune(c)
			inside = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote %c is not closed", quote)
	}
	if inside {
		words = append(words, word.String())
	}
	return words, nil
}
