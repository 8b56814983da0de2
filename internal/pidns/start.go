//go:build linux

package pidns

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

// ErrEnded says that a PID namespace has ended: nothing can be started in it.
var ErrEnded = errors.New("the process that its programs hang on has ended: nothing can be started any more")

// Start starts a command in a PID namespace and returns when it is the program. The command gets a /proc that shows the namespace, which is
// mounted in the calling thread's mount namespace: that must be one of its own. The command is killed when the calling thread ends.
//
// The thread must be locked, and starts processes in the PID namespace from then on.
func Start(namespace *os.File, cmd *exec.Cmd) error {
	if cmd.Err != nil {
		return cmd.Err
	}
	self, err := os.Readlink("/proc/self") // the pid as that /proc knows it, which is what become reads
	if err != nil {
		return fmt.Errorf("find the own pid: %w", err)
	}
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWPID); err != nil {
		return fmt.Errorf("enter the PID namespace: %w", err)
	}
	said, says, err := os.Pipe()
	if err != nil {
		return err
	}
	defer said.Close()
	cmd.ExtraFiles = append(cmd.ExtraFiles, says)
	fd := 2 + len(cmd.ExtraFiles)
	cmd.Args = append([]string{becomeName, self, strconv.Itoa(fd), cmd.Path}, cmd.Args...)
	path := cmd.Path
	cmd.Path = "/proc/self/exe"
	err = cmd.Start()
	says.Close()
	if errors.Is(err, unix.ENOMEM) { // that is how the kernel puts it
		return ErrEnded
	}
	if err != nil {
		return err
	}
	// It ends as the program begins, or the process ends.
	why, err := io.ReadAll(said)
	if number, nerr := strconv.Atoi(string(bytes.TrimSpace(why))); err == nil && nerr == nil {
		err = &os.PathError{Op: "exec", Path: path, Err: unix.Errno(number)}
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return err
}

// become makes this process a program. Its arguments are the pid of the process that started it, the descriptor that tells that one
// why it did not, the program's file and the program's arguments.
//
// Go can have the kernel end a child with its parent, but not in another PID namespace: it looks for the parent's pid, which is 0 there.
func become(args []string) {
	if len(args) < 4 {
		return
	}
	fd, err := strconv.Atoi(args[1])
	if err != nil {
		return
	}
	unix.CloseOnExec(fd)
	err = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	if err == nil && parent() != args[0] {
		return // it has ended before that
	}
	if err == nil {
		// Where that cannot be, as in some containers, programs see the outer one.
		_ = unix.Mount("pausenet", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
		err = unix.Exec(args[2], args[3:], os.Environ())
	}
	var number unix.Errno
	if errors.As(err, &number) {
		_, _ = unix.Write(fd, []byte(strconv.Itoa(int(number))))
	}
}

// parent is the pid of this process's parent as /proc, which is that of the parent still, knows it.
func parent() string {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return ""
	}
	// pid (name) state parent; the name may have anything in it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return ""
	}
	return string(fields[1])
}
