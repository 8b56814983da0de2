//go:build linux

package shell

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/pausenet/pausenet/experiments/live"
)

// Control sequences of terminals (ECMA-48, xterm's private modes).
const (
	screenBegin = "\x1b[?1049h\x1b[?25l" // alternate screen, no cursor
	screenEnd   = "\x1b[?25h\x1b[?1049l" // back to the main screen
	screenHome  = "\x1b[H"               // to the top left corner
	lineEnd     = "\x1b[K\r\n"           // clear the rest of the line
	screenRest  = "\x1b[J"               // clear the rest of the screen
	bold, plain = "\x1b[1m", "\x1b[0m"   // for the head
	topLines    = 40                     // without a terminal
	topEvery    = time.Second            // of wall-clock time
	keysEvery   = 100 * time.Millisecond // a signal takes effect within this time
	ctrlC, esc  = byte(3), byte(0x1b)    // other keys that quit, besides q
)

// Take takes a snapshot of a fabric.
type Take func() (*live.Snapshot, error)

// Top prints the state of a fabric: on a terminal once a second, until q or Ctrl-C; else once, measured over a
// second.
func Top(in *os.File, out io.Writer, take Take) error {
	before, err := take()
	if err != nil {
		return err
	}
	if in == nil || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) {
		time.Sleep(topEvery)
		now, err := take()
		if err != nil {
			return err
		}
		live.NewTop(before, now).Write(out, topLines)
		return nil
	}
	return screen(in, os.Stdout, before, take)
}

// screen uses the whole terminal, and always restores it.
func screen(in, out *os.File, before *live.Snapshot, take Take) (err error) {
	was, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("prepare the terminal: %w", err)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(ended)
	fmt.Fprint(out, screenBegin)
	defer func() {
		fmt.Fprint(out, screenEnd)
		if rerr := term.Restore(int(in.Fd()), was); err == nil {
			err = rerr
		}
	}()
	for {
		now, err := take()
		if err != nil {
			return err
		}
		if err := draw(out, live.NewTop(before, now)); err != nil {
			return err
		}
		before = now
		if pressed(in, ended) {
			return nil
		}
	}
}

// draw redraws the screen line by line, without flicker.
func draw(out *os.File, t *live.Top) error {
	width, height, err := term.GetSize(int(out.Fd()))
	if err != nil {
		width, height = 80, 24
	}
	var text strings.Builder
	t.Write(&text, height-2)
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	lines = append(lines[:min(len(lines), height-1)], "q quits; rates are of virtual time")
	var b strings.Builder
	b.WriteString(screenHome)
	for i, line := range lines {
		if r := []rune(line); len(r) > width {
			line = string(r[:width])
		}
		if i == 0 {
			line = bold + line + plain
		}
		b.WriteString(line)
		if i < len(lines)-1 {
			b.WriteString(lineEnd)
		}
	}
	b.WriteString("\x1b[K" + screenRest)
	_, err = io.WriteString(out, b.String())
	return err
}

// pressed waits for the next redraw, and reports whether to quit instead.
func pressed(in *os.File, ended <-chan os.Signal) bool {
	for until := time.Now().Add(topEvery); time.Now().Before(until); {
		select {
		case <-ended:
			return true
		default:
		}
		fds := []unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}}
		if n, _ := unix.Poll(fds, int(keysEvery.Milliseconds())); n <= 0 {
			continue
		}
		var keys [16]byte
		n, err := in.Read(keys[:])
		if err != nil || n == 0 {
			return true
		}
		for _, k := range keys[:n] {
			if k == 'q' || k == 'Q' || k == ctrlC || k == esc && n == 1 {
				return true
			}
		}
	}
	return false
}

func (s *Shell) top([]string) error {
	return Top(s.In, s.Out, s.Fabric.Snapshot)
}
