//go:build linux

package shell

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/vtime"
)

// beforeVerbs precede a line and change how it runs.
var beforeVerbs = []verb{
	{
		"time", "LINE", "run a line and print the wall-clock and virtual time it took", (*Shell).time,
		completeLine,
	},
	{
		"noecho", "LINE", "run a line with typing hidden at a terminal; in a file: without printing the line first",
		(*Shell).noecho, completeLine,
	},
}

func (s *Shell) time(args []string) error { return s.before(args, timed(s.Out, s.Do, s.virtualFrom)) }

func (s *Shell) noecho(args []string) error { return s.before(args, unseen(s.In, s.Do)) }

// before runs the rest of the line as the first word says.
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

// virtualFrom returns a function that reports the virtual time since this call.
func (s *Shell) virtualFrom() func() (vtime.Time, error) {
	start := time.Now()
	return func() (vtime.Time, error) { return s.Fabric.Virtual(start, time.Now()), nil }
}

// timed wraps do, and prints the time that a line took. from starts to measure virtual time.
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

// unseen wraps do, and hides what the user types meanwhile.
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
