//go:build linux

// Package pidns runs programs in a PID namespace that ends with the process that made it, whatever ends that: the kernel kills every
// process of a PID namespace whose first one has ended. That first process, the guard, is this program once more, as is, for a moment,
// each process that becomes a program: importing the package is enough for both.
package pidns

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// What this program is called where it is the guard, and where it becomes a program.
const guardName, becomeName = "pausenet-guard", "pausenet-become"

func init() {
	switch os.Args[0] {
	case guardName:
		guard()
		os.Exit(0)
	case becomeName:
		become(os.Args[1:])
		os.Exit(1)
	}
}

// Namespace is a PID namespace. Its programs end with it, and it with the process that made it.
type Namespace struct {
	guard int
	file  *os.File       // the namespace
	hold  io.WriteCloser // the guard's standard input
	ended chan struct{}  // closed as the guard has ended
}

// New makes a PID namespace. It needs root.
func New() (*Namespace, error) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{guardName, strconv.Itoa(os.Getpid())} // whose it is, for who looks at ps
	cmd.Dir = "/"
	cmd.SysProcAttr = &unix.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID,
		Setsid:     true,         // Ctrl-C is not for it
		Pdeathsig:  unix.SIGKILL, // which ends it also where somebody has stopped it
	}
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	ready, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	n := &Namespace{hold: hold, ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the kernel signals the end of the thread that started it
		err := cmd.Start()
		if err == nil {
			// While nobody waits for it the pid is its own.
			n.guard = cmd.Process.Pid
			n.file, err = os.Open(fmt.Sprintf("/proc/%d/ns/pid", n.guard))
			if err != nil {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}
		}
		if err != nil {
			started <- err
			return
		}
		if _, err := ready.Read(make([]byte, 1)); err != nil {
			_ = cmd.Process.Kill()
			_ = n.file.Close()
			started <- fmt.Errorf("it ended at once: %w", err)
		} else {
			started <- nil
		}
		_ = cmd.Wait() // however it ended
		close(n.ended)
	}()
	if err := <-started; err != nil {
		_ = hold.Close()
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	return n, nil
}

// guard is what the first process of a namespace does: nothing, until its standard input ends, and the process that made it with that.
func guard() {
	// What programs send to process 1 is not for it. As SIGCHLD is ignored too, the kernel itself clears away the orphans that end.
	signal.Ignore()
	name(guardName)
	_, _ = os.Stdout.Write([]byte{'\n'}) // only now can no signal end it
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// name has ps, top and pkill know the process by a name, at most 15 bytes; else it would be that of the file, exe.
func name(s string) {
	_ = os.WriteFile("/proc/self/comm", []byte(s), 0) // whoever has no /proc has no ps either
}

// File is the namespace. It is valid until End.
func (n *Namespace) File() *os.File { return n.file }

// Guard is the pid of the namespace's first process.
func (n *Namespace) Guard() int { return n.guard }

// Ended is closed when the namespace has ended, and all its programs with it.
func (n *Namespace) Ended() <-chan struct{} { return n.ended }

// endPatience is how long End waits: a program whose parent, outside of the namespace, is stopped is not gone before that goes on.
const endPatience = 2 * time.Second

// End ends the namespace's programs and the namespace.
func (n *Namespace) End() {
	_ = n.hold.Close()
	select {
	case <-n.ended:
	case <-time.After(endPatience):
	}
	_ = n.file.Close()
}
