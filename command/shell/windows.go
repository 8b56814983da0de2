//go:build linux

package shell

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mostWindows limits the windows that xterm opens without arguments.
const mostWindows = 16

var windowVerbs = []verb{
	{"xterm", "[NODE...]", "open a window with a shell on each given node, or on every host: in tmux as windows of the " +
		"session, else xterm", (*Shell).xterm, completeNodesOnce},
}

func (s *Shell) xterm(args []string) error {
	return openWindows(s.Fabric.Name, args, s.Fabric.Plan.Names(), s.Fabric.Plan.NamesOf(s.Fabric.Plan.Hosts))
}

// openWindows opens a window for each of the given nodes, or for each host.
func openWindows(fabric string, args, nodes, hosts []string) error {
	for _, name := range args {
		if !slices.Contains(nodes, name) {
			return fmt.Errorf("no node %q (list them with \"nodes\")", name)
		}
	}
	if fabric == "" {
		return errors.New("the fabric has no name for the window to find it by (bring it up with --name)")
	}
	if len(args) == 0 {
		if args = hosts; len(args) > mostWindows {
			return fmt.Errorf("there are %d hosts: name those to open a window for, as in xterm %s %s", len(args), hosts[0],
				hosts[1])
		}
	}
	window, err := findWindow()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, node := range args {
		if err := window(node, []string{self, "exec", "--fabric", fabric, node, "--", userShell()}); err != nil {
			return fmt.Errorf("cannot open a window for %s: %w", node, err)
		}
	}
	return nil
}

// userShell returns the shell to run in a window.
func userShell() string {
	if path, err := exec.LookPath("bash"); err == nil {
		return path
	}
	return "sh"
}

// findWindow returns a function that opens a window here, titled with a node's name.
func findWindow() (open func(title string, command []string) error, err error) {
	if session := inherited("TMUX"); session != "" {
		if _, err := exec.LookPath("tmux"); err == nil {
			return func(title string, command []string) error { return tmuxWindow(session, title, command) }, nil
		}
	}
	const remedy = "start pausenet in tmux, so that xterm opens tmux windows (apt-get install tmux), or use `pausenet " +
		"exec NODE bash` in other terminals"
	if os.Getenv("DISPLAY") == "" {
		return nil, fmt.Errorf("no display (DISPLAY is not set) and no tmux session for a window: %s", remedy)
	}
	for _, name := range []string{"xterm", "x-terminal-emulator"} {
		if path, err := exec.LookPath(name); err == nil {
			return func(title string, command []string) error { return displayWindow(path, title, command) }, nil
		}
	}
	return nil, errors.New("xterm is not installed: apt-get install xterm (Debian, Ubuntu), dnf install " +
		"xterm (Fedora); or " + remedy)
}

// inherited returns a variable of this process's environment, or else of an ancestor's, because sudo passes only a
// few on.
func inherited(name string) string {
	if value, set := os.LookupEnv(name); set {
		return value
	}
	for pid := os.Getppid(); pid > 1; pid = parentOf(pid) {
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			break
		}
		for entry := range bytes.SplitSeq(environment, []byte{0}) {
			if value, found := bytes.CutPrefix(entry, []byte(name+"=")); found && len(value) > 0 {
				return string(value)
			}
		}
	}
	return ""
}

// parentOf returns a process's parent, or 0 if unknown.
func parentOf(pid int) int {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// the name, in parentheses, may contain blanks
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// tmuxWindow opens a window in the session of TMUX, whose server runs programs as the session's user.
func tmuxWindow(session, title string, command []string) error {
	socket, _, _ := strings.Cut(session, ",")
	var owner unix.Stat_t
	if err := unix.Stat(socket, &owner); err == nil && int(owner.Uid) != os.Geteuid() {
		command = append([]string{"sudo"}, command...)
	}
	args := append([]string{"-S", socket, "new-window", "-d", "-n", title, "--"}, command...)
	if out, err := exec.Command("tmux", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("tmux: %s (%w)", strings.TrimSpace(string(out)), err)
	}
	return nil
}

// displayWindow opens an xterm window, which ends with its program: with the fabric at the latest.
func displayWindow(terminal, title string, command []string) error {
	cmd := exec.Command(terminal, append([]string{"-T", title, "-e"}, command...)...)
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true} // Ctrl-C does not reach it
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
