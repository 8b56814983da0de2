//go:build linux

package shell

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/vtime"
)

// beforeVerbs stand before a line and say how it is done.
var beforeVerbs = []verb{
	{
		"time", "LINE", "do a line and say how long it took, by the wall clock and in virtual time", (*Shell).time,
		completeLine,
	},
	{
		"noecho", "LINE", "do a line without the terminal showing what is typed; in a file: without printing it first",
		(*Shell).noecho, completeLine,
	},
}

// behind is what a line has behind its first word, as it is written.
func behind(line string) string {
	line = strings.TrimSpace(line)
	if at := strings.IndexAny(line, " \t"); at >= 0 {
		return strings.TrimSpace(line[at:])
	}
	return ""
}

// isBefore says whether a word stands before a line.
func isBefore(word string) bool { return word == "time" || word == "noecho" }

func (s *Shell) time(args []string) error { return s.before(args, timed(s.Out, s.Do, s.virtualFrom)) }

func (s *Shell) noecho(args []string) error { return s.before(args, unseen(s.In, s.Do)) }

// before has the rest of the line done in some way.
func (s *Shell) before(args []string, do func(line string) (bool, error)) error {
	if len(args) == 0 {
		return errUsage
	}
	done, err := do(behind(s.line))
	if done {
		return errExit
	}
	return err
}

// virtualFrom is the virtual time since a moment.
func (s *Shell) virtualFrom() func() (vtime.Time, error) {
	start := time.Now()
	return func() (vtime.Time, error) { return s.Fabric.Virtual(start, time.Now()), nil }
}

// timed is do, and then says how long that took. from begins to count virtual time.
func timed(out io.Writer, do func(line string) (bool, error),
	from func() func() (vtime.Time, error),
) func(line string) (bool, error) {
	return func(line string) (done bool, err error) {
		start, since := time.Now(), from()
		if done, err = do(line); done {
			return done, err
		}
		wall := vtime.WallText(time.Since(start).Round(time.Microsecond))
		virtual, verr := since()
		if verr != nil {
			fmt.Fprintf(out, "took %v of wall-clock time\n", wall)
			return done, err
		}
		fmt.Fprintf(out, "took %v of wall-clock time, %v of virtual time\n", wall, nearest(virtual))
		return done, err
	}
}

// unseen is do, while a terminal does not show what is typed.
func unseen(terminal *os.File, do func(line string) (bool, error)) func(line string) (bool, error) {
	return func(line string) (bool, error) {
		if terminal != nil {
			fd := int(terminal.Fd())
			if was, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil {
				quiet := *was
				quiet.Lflag &^= unix.ECHO
				if unix.IoctlSetTermios(fd, unix.TCSETS, &quiet) == nil {
					defer unix.IoctlSetTermios(fd, unix.TCSETS, was) //nolint:errcheck // or the terminal is gone
				}
			}
		}
		return do(line)
	}
}
