//go:build linux

package pidns

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrEnded reports that a PID namespace has ended: no program can start in it.
var ErrEnded = errors.New("the process that owns its namespaces has ended: no program can start")

// NoRoot makes Start keep the calling thread's root folder.
const NoRoot = -1

// Start starts a command in a PID namespace, limited to the given capabilities, and returns once its program runs. The
// command is killed when the calling thread ends. A name without a slash is looked up in the program's root folder.
// root is an open folder that becomes the program's root folder, or NoRoot. With a root, the program starts in folder,
// if it exists there; empty means the folder of the calling process.
//
// The thread must be locked, and starts processes in the PID namespace from then on. It may be in a mount namespace
// whose /proc shows that PID namespace.
func Start(namespace int, cmd *exec.Cmd, capabilities Capabilities, root int, folder string) error {
	path := cmd.Path
	if errors.Is(cmd.Err, exec.ErrNotFound) || len(cmd.Args) > 0 && !strings.Contains(cmd.Args[0], "/") &&
		filepath.Base(path) == cmd.Args[0] {
		path, cmd.Err = cmd.Args[0], nil
	}
	if cmd.Err != nil {
		return cmd.Err
	}
	own, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return fmt.Errorf("open this process: %w", err)
	}
	self := os.NewFile(uintptr(own), "self")
	defer self.Close()
	if err := unix.Setns(namespace, unix.CLONE_NEWPID); err != nil {
		return fmt.Errorf("enter the PID namespace: %w", err)
	}
	failure, failureEnd, err := os.Pipe()
	if err != nil {
		return err
	}
	defer failure.Close()
	cmd.ExtraFiles = append(cmd.ExtraFiles, self, failureEnd)
	fd := 1 + len(cmd.ExtraFiles) // of self; failureEnd is the next
	rootArgument := strconv.Itoa(NoRoot)
	if root != NoRoot {
		own, err := unix.FcntlInt(uintptr(root), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open the root folder: %w", err)
		}
		file := os.NewFile(uintptr(own), "root")
		defer file.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, file)
		rootArgument = strconv.Itoa(fd + 2)
	}
	cmd.Args = append([]string{becomeName, strconv.Itoa(fd), capabilities.String(), rootArgument, folder, path},
		cmd.Args...)
	cmd.Path = "/proc/self/exe"
	err = cmd.Start()
	failureEnd.Close()
	if errors.Is(err, unix.ENOMEM) { // that is how the kernel puts it
		return ErrEnded
	}
	if err != nil {
		return err
	}
	// It ends as the program begins, or the process ends.
	why, err := io.ReadAll(failure)
	if err == nil && len(why) > 0 {
		var number unix.Errno
		step, text, _ := strings.Cut(string(why), " ")
		if n, nerr := strconv.Atoi(text); nerr == nil {
			number = unix.Errno(n)
		}
		switch step {
		case "find":
			err = &exec.Error{Name: path, Err: exec.ErrNotFound}
		case "exec":
			err = &os.PathError{Op: "exec", Path: path, Err: number}
		case "root":
			err = fmt.Errorf("enter the root folder: %w", number)
		default:
			err = fmt.Errorf("set the program's capabilities: %w", number)
		}
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return err
}

// become makes this process a program. Its arguments are: a descriptor of the process that started it, whose next
// descriptor accepts the reason of a failure; the program's capabilities; its root folder; its working folder; its file
// or name; and its arguments.
func become(args []string) {
	if len(args) < 6 {
		return
	}
	parent, err := strconv.Atoi(args[0])
	if err != nil {
		return
	}
	failureEnd := parent + 1
	unix.CloseOnExec(parent)
	unix.CloseOnExec(failureEnd)
	fail := func(step string, err error) {
		var number unix.Errno
		if errors.As(err, &number) {
			_, _ = unix.Write(failureEnd, fmt.Appendf(nil, "%s %d", step, int(number)))
		}
	}
	if root, err := strconv.Atoi(args[2]); err != nil {
		return
	} else if root != NoRoot {
		if err := enterRoot(root, args[3]); err != nil {
			fail("root", err)
			return
		}
	}
	capabilities, err := parseCapabilities(args[1])
	if err == nil {
		err = capabilities.limit()
	}
	if err == nil && capabilities.confined() {
		err = confine()
	}
	if err != nil {
		fail("capabilities", err)
		return
	}
	// Go can have the kernel end a child with its parent, but not in another PID namespace: it looks for the parent's pid,
	// which is 0 there. After the capabilities: whoever changes those is forgotten about.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		fail("exec", err)
		return
	}
	if hasEnded(parent) { // before that
		return
	}
	path, err := exec.LookPath(args[4])
	if err != nil && !strings.Contains(args[4], "/") {
		fail("find", unix.ENOENT)
		return
	}
	if err != nil {
		path = args[4] // to say why
	}
	fail("exec", unix.Exec(path, args[5:], os.Environ()))
}

// enterRoot changes the process's root folder, and its working folder: to folder, or else to the folder of the same
// name as before, or to the root. The program does not inherit the descriptor.
func enterRoot(root int, folder string) error {
	if folder == "" {
		folder, _ = os.Getwd()
	}
	err := unix.Fchdir(root)
	if err == nil {
		err = unix.Chroot(".")
	}
	unix.Close(root)
	if err == nil && unix.Chdir(folder) != nil {
		err = unix.Chdir("/")
	}
	return err
}

// hasEnded reports whether the process behind a pidfd has ended.
func hasEnded(process int) bool {
	n, _ := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, 0)
	return n > 0
}
