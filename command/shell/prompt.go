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

// prompt is what a terminal shows.
const prompt = "pausenet> "

// session reads lines and has them done.
type session struct {
	out      io.Writer
	do       func(line string) (done bool, err error)
	complete func(line string) []string
	tell     func() // prints what has happened meanwhile
	farewell func() // what has not
	ended    func() bool
	quiet    bool // lines are not printed before they are done
}

// editor edits lines at a terminal. There is one for all lines: what is typed or pasted while a line is done is read
// together with the end of the next, and is the editor's to keep for those that follow.
type editor struct {
	*liner.State
	mode    liner.ModeApplier // of the terminal while a line is edited; nil: it is none
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

// read reads a line. Programs may change the terminal: the editor has it only meanwhile.
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

// lines does what the lines of in say, until the end or exit, and prints each before it. A line that fails does not end
// it; the error says how many did, and is that of the first. A program's exit code is its own affair. Lines that begin
// with noecho are not printed.
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
		err = fmt.Errorf("%w; it and what follows it are not done", err)
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
func (s *Shell) Terminal() error { return s.told(s.session().terminal) }

// Lines does what the lines of in say, until the end or exit, and prints each before it. All are done, whichever fail;
// the error says how many did.
func (s *Shell) Lines(in io.Reader) error { return s.LinesTo(in, &Tally{}) }

// LinesTo is Lines with a tally of the caller's, who may have an end to wait for that comes before the lines'.
func (s *Shell) LinesTo(in io.Reader, t *Tally) error {
	return s.told(func() error { return s.session().lines(in, t) })
}

// told has the shell tell of storms and deadlocks while it does something.
func (s *Shell) told(do func() error) error {
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

// tell prints the storms and deadlocks, and the ends of flows in the background, that nobody has been told of.
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
