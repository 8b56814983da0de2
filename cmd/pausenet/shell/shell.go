//go:build linux

// Package shell is the prompt of a live fabric: its verbs, which a Mininet user knows, and programs on its nodes.
package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/peterh/liner"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// Shell reads lines and does what they say.
type Shell struct {
	Fabric *live.Fabric
	Out    io.Writer
	// In is what programs on nodes read; nil: nothing.
	In    *os.File
	depth int // of source
}

// verb is a word that a line may begin with.
type verb struct {
	name, arguments, help string
	run                   func(s *Shell, args []string) error
}

// verbs are in the order of help. They are set by init, as help reads them.
var verbs []verb

func init() {
	for _, group := range [][]verb{lookVerbs, pingVerbs, flowVerbs, changeVerbs, runVerbs, otherVerbs} {
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
	for i := range verbs {
		if verbs[i].name != words[0] {
			continue
		}
		if err = verbs[i].run(s, words[1:]); errors.Is(err, errExit) {
			return true, nil
		}
		if errors.Is(err, errUsage) {
			err = fmt.Errorf("write: %s %s", verbs[i].name, verbs[i].arguments)
		}
		return false, err
	}
	names := s.Fabric.Plan.Names()
	for i := range verbs {
		names = append(names, verbs[i].name)
	}
	return false, fmt.Errorf("no verb or node %q%s; help prints the verbs", words[0], yamlspec.Suggest(words[0], names))
}

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

// prompt is what a terminal shows.
const prompt = "pausenet> "

// Terminal reads lines from a terminal until exit or Ctrl-D, or the fabric's end.
func (s *Shell) Terminal() error {
	for {
		// Programs may change the terminal: the line editor has it only while it reads.
		editor := liner.NewLiner()
		editor.SetCtrlCAborts(true)
		editor.SetCompleter(s.complete)
		for _, line := range history {
			editor.AppendHistory(line)
		}
		line, err := editor.Prompt(prompt)
		editor.Close()
		switch {
		case errors.Is(err, liner.ErrPromptAborted): // Ctrl-C
			fmt.Fprintln(s.Out)
			continue
		case errors.Is(err, io.EOF):
			fmt.Fprintln(s.Out)
			return nil
		case err != nil:
			return err
		}
		if strings.TrimSpace(line) != "" {
			history = append(history, line)
		}
		done, err := s.Do(line)
		if err != nil {
			fmt.Fprintf(s.Out, "%v\n", err)
		}
		if done || s.ended() {
			return nil
		}
	}
}

// history is the lines of this process's terminal.
var history []string

// Lines does what the lines of in say, until the end or exit, and prints each before it. The first line that fails is returned, the
// others are done nevertheless.
func (s *Shell) Lines(in io.Reader) error {
	var first error
	lines := bufio.NewScanner(in)
	for number := 1; lines.Scan(); number++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		fmt.Fprintf(s.Out, "%s%s\n", prompt, lines.Text())
		done, err := s.Do(lines.Text())
		if err != nil {
			fmt.Fprintf(s.Out, "%v\n", err)
			if first == nil {
				first = fmt.Errorf("line %d: %w", number, err)
			}
		}
		if done || s.ended() {
			break
		}
	}
	if first == nil {
		first = lines.Err()
	}
	return first
}

func (s *Shell) ended() bool {
	select {
	case <-s.Fabric.Done():
		return true
	default:
		return false
	}
}

// complete offers verbs and nodes for the last word of a line.
func (s *Shell) complete(line string) (lines []string) {
	start := strings.LastIndexByte(line, ' ') + 1
	names := s.Fabric.Plan.Names()
	if start == 0 {
		for i := range verbs {
			names = append(names, verbs[i].name)
		}
	}
	for _, name := range names {
		if strings.HasPrefix(name, line[start:]) {
			lines = append(lines, line[:start]+name+" ")
		}
	}
	return lines
}
