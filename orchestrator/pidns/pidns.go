//go:build linux

// Package pidns runs programs in a PID namespace that ends with the process that made it, even if that is killed. The
// kernel kills every process of a PID namespace whose first process has ended. That first process, the namespace init,
// is another instance of this executable. So is, at first, each process that starts a program there. This package's
// init function recognizes both by their argument 0.
package pidns

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// initName and becomeName are this program's argument 0 as the namespace init, and in a process that becomes a program.
const initName, becomeName = "pausenet-init", "pausenet-become"

func init() {
	switch os.Args[0] {
	case initName:
		runInit()
		os.Exit(0)
	case becomeName:
		become(os.Args[1:])
		os.Exit(1)
	}
}

// Namespace represents a PID namespace. Its programs end with it, and it ends with the process that made it.
type Namespace struct {
	initPID int
	file    *os.File       // the namespace
	mounts  *os.File       // the namespace init's mount namespace
	root    *os.File       // its root folder, which differs from the mount namespace's in a chroot
	hold    io.WriteCloser // the namespace init's standard input
	ended   chan struct{}  // closed when the namespace init has ended
}

// New makes a PID namespace. It needs root.
func New() (*Namespace, error) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{initName, strconv.Itoa(os.Getpid())} // whose it is, for readers of ps
	cmd.Dir = "/"
	cmd.SysProcAttr = &unix.SysProcAttr{
		// Programs can reach the namespaces of process 1, so it has an empty network instead of the machine's.
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET,
		Setsid:     true,         // Ctrl-C is not for it
		Pdeathsig:  unix.SIGKILL, // ends it even while it is stopped
	}
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the namespace init: %w", err)
	}
	ready, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the namespace init: %w", err)
	}
	n := &Namespace{hold: hold, ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // Pdeathsig is sent when this thread ends, so it must not end before the process
		err := cmd.Start()
		if err == nil {
			// The PID cannot be reused before Wait.
			n.initPID = cmd.Process.Pid
			if err = whenReady(ready); err == nil {
				err = n.open()
			}
			if err != nil {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				n.close()
			}
		}
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // however it ended
		close(n.ended)
	}()
	if err := <-started; err != nil {
		_ = hold.Close()
		return nil, fmt.Errorf("start the namespace init: %w", err)
	}
	return n, nil
}

// open opens the namespaces of the running namespace init.
func (n *Namespace) open() (err error) {
	for name, file := range map[string]**os.File{"ns/pid": &n.file, "ns/mnt": &n.mounts, "root": &n.root} {
		if *file, err = os.Open(fmt.Sprintf("/proc/%d/%s", n.initPID, name)); err != nil {
			return err
		}
	}
	return nil
}

func (n *Namespace) close() {
	for _, file := range []*os.File{n.file, n.mounts, n.root} {
		_ = file.Close()
	}
}

// whenReady waits until the namespace init reports that it is ready, by an empty line, or why it is not.
func whenReady(initOutput io.Reader) error {
	line, err := bufio.NewReader(initOutput).ReadString('\n')
	switch {
	case err != nil:
		return fmt.Errorf("it ended at once: %w", err)
	case line != "\n":
		return errors.New(strings.TrimSpace(line))
	}
	return nil
}

// runInit runs the namespace init. It waits until its standard input ends, together with its parent.
func runInit() {
	// Signals that programs send to process 1 must not end it. As SIGCHLD is ignored too, the kernel itself removes
	// ended orphans.
	signal.Ignore()
	name(initName)
	if err := mountProc(); err != nil {
		fmt.Println(err)
		return
	}
	_, _ = os.Stdout.Write([]byte{'\n'}) // ready: signals no longer end it
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// mountProc mounts a /proc of the PID namespace, in the namespace init's own mount namespace. Later mounts and
// unmounts of the machine propagate there, so nothing stays busy; mounts there do not propagate back.
func mountProc() error {
	switch err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err {
	case nil:
	case unix.EINVAL:
		return errors.New("/ is not a mount point, as in a plain chroot (before chroot FOLDER, run mount " +
			"--bind FOLDER FOLDER)")
	default:
		return fmt.Errorf("make its mounts private: %w", err)
	}
	// If that fails, as in some containers, programs see the outer /proc.
	_ = unix.Mount("pausenet", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	return nil
}

// name sets the process's name for ps, top and pkill, of at most 15 bytes. The default is the name of the file, exe.
func name(s string) {
	_ = os.WriteFile("/proc/self/comm", []byte(s), 0) // fails without /proc, and then ps does too
}

// File returns the namespace's file. It is valid until End.
func (n *Namespace) File() *os.File { return n.file }

// EnterMounts moves only the calling thread into a mount namespace with the machine's files, whose /proc shows the PID
// namespace. The thread's working folder is then its root folder.
func (n *Namespace) EnterMounts() error { return EnterMounts(int(n.mounts.Fd()), int(n.root.Fd())) }

// EnterMounts moves only the calling thread into a mount namespace and a root folder, which becomes its working folder.
func EnterMounts(mounts, root int) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // the thread shares it with the process's others
		return fmt.Errorf("give the thread its own root folder: %w", err)
	}
	if err := unix.Setns(mounts, unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("enter the mount namespace: %w", err)
	}
	err := unix.Fchdir(root)
	if err == nil {
		err = unix.Chroot(".")
	}
	if err != nil {
		return fmt.Errorf("enter the root folder: %w", err)
	}
	return nil
}

// InitPID returns the PID of the namespace init as processes outside the namespace see it.
func (n *Namespace) InitPID() int { return n.initPID }

// Ended returns a channel that is closed when the namespace and all its programs have ended.
func (n *Namespace) Ended() <-chan struct{} { return n.ended }

// endTimeout limits how long End waits. A program does not end while its parent, outside of the namespace, is stopped.
const endTimeout = 2 * time.Second

// End ends the namespace's programs and the namespace.
func (n *Namespace) End() {
	_ = n.hold.Close()
	select {
	case <-n.ended:
	case <-time.After(endTimeout):
	}
	n.close()
}
