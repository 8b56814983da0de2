//go:build linux

package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/peterh/liner"
)

// prompt holds the prompt at a terminal.
const prompt = "pausenet> "

// session reads lines and runs them.
type session struct {
	out      io.Writer
	do       func(line string) (done bool, err error)
	complete func(line string) []string
	tell     func() // prints events since the last line
	farewell func() // prints what is still running at the end
	ended    func() bool
	quiet    bool // lines are not printed before they run
}

// editor edits lines at a terminal. One editor serves all lines: it keeps what the user types or pastes while a line
// runs, for the following lines.
type editor struct {
	*liner.State
	mode    liner.ModeApplier // terminal mode while a line is edited; nil if there is no terminal
	history *history
}

func newEditor(complete func(line string) []string) *editor {
	before, err := liner.TerminalMode()
	e := &editor{State: liner.NewLiner(), history: openHistory()}
	if err == nil {
		if e.mode, err = liner.TerminalMode(); err == nil {
			_ = before.ApplyMode()
		}
	}
	e.SetCtrlCAborts(true)
	e.SetCompleter(complete)
	e.SetTabCompletionStyle(liner.TabPrints)
	for _, line := range e.history.lines {
		e.AppendHistory(line)
	}
	return e
}

// read reads a line. It sets the terminal's mode only meanwhile, because programs may change the terminal.
func (e *editor) read() (string, error) {
	if e.mode != nil {
		if before, err := liner.TerminalMode(); err == nil {
			defer func() { _ = before.ApplyMode() }()
		}
		_ = e.mode.ApplyMode()
	}
	return e.Prompt(prompt)
}

func (e *editor) remember(line string) {
	e.history.add(line)
	e.AppendHistory(line)
}

// terminal reads lines from a terminal until exit or Ctrl-D, or the fabric's end.
func (s *session) terminal() error {
	defer s.farewell()
	editor := newEditor(s.complete)
	defer editor.Close()
	for {
		s.tell()
		line, err := editor.read()
		switch {
		case errors.Is(err, liner.ErrPromptAborted): // Ctrl-C
			fmt.Fprintln(s.out)
			continue
		case errors.Is(err, io.EOF):
			fmt.Fprintln(s.out)
			return nil
		case err != nil:
			return err
		}
		if strings.TrimSpace(line) != "" {
			editor.remember(line)
		}
		done, err := s.do(line)
		if err != nil {
			fmt.Fprintf(s.out, "%v\n", err)
		}
		if done || s.ended() {
			return nil
		}
	}
}

// lines runs the lines of in until the end or exit, and prints each line first, except after noecho. A failed line
// does not stop it; the error has their number and the first error. A program's exit code does not count as a
// failure.
func (s *session) lines(in io.Reader, t *Tally) error {
	defer s.farewell()
	lines := bufio.NewScanner(in)
	number := 1
	for ; lines.Scan(); number++ {
		text := lines.Text()
		if said := strings.TrimSpace(text); said == "" {
			continue
		} else if said[0] != '#' {
			t.begins()
		}
		if first, _, _ := strings.Cut(strings.TrimSpace(text), " "); !s.quiet && first != "noecho" {
			fmt.Fprintf(s.out, "%s%s\n", prompt, text)
		}
		done, err := s.do(text)
		s.tell()
		if err != nil {
			t.fails(number, err)
			fmt.Fprintf(s.out, "%v\n", err)
		}
		if done || s.ended() {
			break
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("longer than %d bytes", bufio.MaxScanTokenSize-1)
		}
		err = fmt.Errorf("%w; this line and those after it were not run", err)
		fmt.Fprintf(s.out, "line %d: %v\n", number, err)
		t.begins()
		t.fails(number, err)
	}
	return t.Err()
}

func (s *Shell) session() *session {
	return &session{out: s.Out, do: s.Do, complete: s.Complete, tell: s.tell, farewell: s.farewell, ended: s.ended}
}

// Terminal reads lines from a terminal until exit or Ctrl-D, or the fabric's end.
func (s *Shell) Terminal() error { return s.reporting(s.session().terminal) }

// Lines runs the lines of in until the end or exit, and prints each line first. A failed line does not stop it; the
// error has their number.
func (s *Shell) Lines(in io.Reader) error { return s.LinesTo(in, &Tally{}) }

// LinesTo does the work of Lines, but counts lines and failures in t, so that a caller can read the counts before the
// last line has run.
func (s *Shell) LinesTo(in io.Reader, t *Tally) error {
	return s.reporting(func() error { return s.session().lines(in, t) })
}

// reporting runs do, and prints storms and deadlocks meanwhile.
func (s *Shell) reporting(do func() error) error {
	if s.troubles == nil {
		var err error
		if s.troubles, err = s.Fabric.Troubles(); err != nil {
			return err
		}
		defer func() {
			s.troubles.Close()
			s.troubles = nil
		}()
	}
	return do()
}

// tell prints storms, deadlocks and ends of background flows that were not printed yet.
func (s *Shell) tell() {
	s.tellFlows()
	for s.troubles != nil {
		select {
		case e, ok := <-s.troubles.C:
			if ok {
				fmt.Fprintln(s.Out, e.String())
				continue
			}
		default:
		}
		return
	}
}

func (s *Shell) ended() bool {
	select {
	case <-s.Fabric.Done():
		return true
	default:
		return false
	}
}
