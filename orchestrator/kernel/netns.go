//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// onOwnThread runs f on an operating-system thread of its own, which ends with f: f may change the thread's namespace
// and need not change it back.
func onOwnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if unix.Gettid() == unix.Getpid() {
			// Go parks the main thread instead of ending it, in whatever namespace it is. Hold it while another thread works.
			done <- onOwnThread(f)
			runtime.UnlockOSThread()
			return
		}
		done <- f()
	}()
	return <-done
}

// newNamespace creates an anonymous network namespace and leaves the calling thread in it. It lives as long as
// something refers to it, so a killed process leaves nothing behind.
func newNamespace() (netns.NsHandle, error) {
	ns, err := netns.New()
	if err != nil {
		return netns.None(), fmt.Errorf("create a network namespace: %w", err)
	}
	// No stray frame may enter the fabric: without IPv6 there is no router solicitation, no multicast report.
	// This is for the interfaces there are and for those to come: it sets "default" too.
	if err := writeExisting("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1"); err != nil {
		ns.Close()
		return netns.None(), fmt.Errorf("disable IPv6: %w", err)
	}
	return ns, nil
}

// NewNamespace makes an anonymous network namespace, prepared by a thread in it. It lives as long as something refers
// to it.
func NewNamespace(prepare func() error) (ns netns.NsHandle, err error) {
	err = onOwnThread(func() error {
		if ns, err = newNamespace(); err != nil {
			return err
		}
		if err := prepare(); err != nil {
			return errors.Join(err, ns.Close())
		}
		return nil
	})
	return ns, err
}

// In calls f on a thread in a network namespace, given as a file descriptor.
func In(namespace int, f func() error) error {
	return onOwnThread(func() error {
		if err := unix.Setns(namespace, unix.CLONE_NEWNET); err != nil {
			return err
		}
		return f()
	})
}

// ownProc returns a descriptor of a procfs that is mounted nowhere. It can be written where a container has its
// /proc/sys read-only. It needs CAP_SYS_ADMIN, and in a user namespace a whole /proc.
var ownProc = sync.OnceValues(func() (int, error) {
	context, err := unix.Fsopen("proc", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(context)
	if err := unix.FsconfigCreate(context); err != nil {
		return -1, err
	}
	return unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, 0)
})

// writeExisting writes to a file of procfs. It ignores a file that does not exist (no IPv6 in this kernel).
func writeExisting(path, content string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == unix.EROFS {
		if own, failed := ownProc(); failed == nil {
			fd, err = unix.Openat(own, strings.TrimPrefix(path, "/proc/"), unix.O_WRONLY|unix.O_CLOEXEC, 0)
		}
	}
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte(content)); err != nil {
		return &os.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}
