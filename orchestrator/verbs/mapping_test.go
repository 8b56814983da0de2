//go:build linux

package verbs_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/verbs"
)

var initialised = [64]byte{1} // lies in a private mapping of this test's file

// TestRegionMapping registers memory of each kind: memory for which a file server could keep the engine waiting is
// refused.
func TestRegionMapping(t *testing.T) {
	_, server := idle(t, small(t))
	c := server.Program(t, 0)
	defer c.End()
	_, pd := c.Ask(nil, verbs.OpAllocPD)
	mapped := func(fd, flags int) uint64 {
		t.Helper()
		b, err := unix.Mmap(fd, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, flags)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Munmap(b) })
		return uint64(uintptr(unsafe.Pointer(&b[0])))
	}
	inMemory, err := unix.MemfdCreate("region", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inMemory)
	file, err := os.CreateTemp(".", "region")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	for _, fd := range []int{inMemory, int(file.Fd())} {
		if err := unix.Ftruncate(fd, 1<<16); err != nil {
			t.Fatal(err)
		}
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &fs); err != nil {
		t.Fatal(err)
	}
	ofFile := unix.EMEDIUMTYPE
	if fs.Type == unix.TMPFS_MAGIC {
		ofFile = 0
	}
	for _, k := range []struct {
		name    string
		address uint64
		want    unix.Errno
	}{
		{"anonymous memory", mapped(-1, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS), 0},
		{"shared anonymous memory", mapped(-1, unix.MAP_SHARED|unix.MAP_ANONYMOUS), 0},
		{"memfd", mapped(inMemory, unix.MAP_SHARED), 0},
		{"a program's variable", uint64(uintptr(unsafe.Pointer(&initialised[0]))), 0},
		{"a file", mapped(int(file.Fd()), unix.MAP_SHARED), ofFile},
		{"nothing", 1 << 12, unix.EFAULT},
	} {
		if status, _ := c.Ask(nil, verbs.OpRegMR, pd[0], k.address, 64, k.address, 1); status != k.want {
			t.Errorf("%s: %v, want %v", k.name, status, k.want)
		}
	}
}

// TestMemoryOfAnother: a program opens a device with its own memory, and not with its child's, whose mappings nobody
// checks.
func TestMemoryOfAnother(t *testing.T) {
	_, server := idle(t, small(t))
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	for process, want := range map[int]unix.Errno{child.Process.Pid: unix.EINVAL, os.Getpid(): 0} {
		fd, err := unix.Open(fmt.Sprintf("/proc/%d/mem", process), unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		c := server.Connect(t, 0)
		if status, _ := c.Ask([]int{fd}, verbs.OpOpen, verbs.ProtocolVersion, 0); status != want {
			t.Errorf("memory of process %d, of %d: %v, want %v", process, os.Getpid(), status, want)
		}
		c.End()
	}
}

// TestFileSystem finds devices of /proc/PID/maps in /proc/PID/mountinfo.
func TestFileSystem(t *testing.T) {
	const mounts = `22 28 0:21 / /proc rw,nosuid shared:12 - proc proc rw
28 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw
96 28 0:52 / /mnt/remote rw,nosuid - fuse.sshfs h:/ rw
`
	for device, want := range map[string]string{"103:02": "ext4", "00:34": "fuse.sshfs", "00:01": "", "x": ""} {
		if got := verbs.FileSystem([]byte(mounts), device); got != want {
			t.Errorf("device %s: %q, want %q", device, got, want)
		}
	}
}

// TestManyQueues makes completion queues until the host has no more: each is a mapping of the server's process, of
// which others need some.
func TestManyQueues(t *testing.T) {
	_, server := idle(t, small(t))
	c := server.Program(t, 0)
	made := 0
	for ; made < 1<<16; made++ {
		if status, _ := c.Ask(nil, verbs.OpCreateCQ, 1, 0, 0); status != 0 {
			break
		}
	}
	if made == 0 || made > 4096 {
		t.Errorf("a host's program made %d completion queues", made)
	}
	c.End()
	if !server.Clean() {
		t.Error("something is left")
	}
}
