//go:build linux

package verbs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/hostagent/qp"
	"github.com/pausenet/pausenet/internal/testenv"
)

// TestFind looks for memory by right and wrong keys, addresses and rights.
func TestFind(t *testing.T) {
	own, other := &domain{}, &domain{}
	c := &connection{regions: map[uint32]*region{
		7: {pd: own, address: 0x1000, length: 0x100, base: 0x9000, access: accessLocalWrite | accessRemoteRead},
		8: {pd: own, address: 0, length: 1 << 63, base: 1 << 63},
	}}
	for _, k := range []struct {
		pd                 *domain
		key                uint32
		address, n, access uint64
		at                 uint64
		ok                 bool
	}{
		{own, 7, 0x9000, 0x100, accessRemoteRead, 0x1000, true},
		{own, 7, 0x90ff, 1, 0, 0x10ff, true},
		{own, 7, 0x9100, 0, 0, 0x1100, true},
		{own, 7, 0x90ff, 2, 0, 0, false},
		{own, 7, 0x8fff, 1, 0, 0, false},
		{own, 7, 0x9001, ^uint64(0), 0, 0, false},
		{own, 7, 0x9000, 1, accessRemoteWrite, 0, false},
		{other, 7, 0x9000, 1, 0, 0, false},
		{own, 6, 0x9000, 1, 0, 0, false},
		{own, 8, ^uint64(0), 1, 0, 1<<63 - 1, true},
		{own, 8, ^uint64(0), 2, 0, 0, false},
	} {
		at, err := c.find(k.pd, k.key, k.address, k.n, k.access)
		if (err == nil) != k.ok || at != k.at || err != nil && !errors.Is(err, errAccess) {
			t.Errorf("key %d, %#x, %d bytes, access %d: %#x, %v", k.key, k.address, k.n, k.access, at, err)
		}
	}
}

// TestMemory reads and writes this process's own memory, and refuses every other kind of file.
func TestMemory(t *testing.T) {
	fd, err := unix.Open("/proc/self/mem", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := isMemory(fd, os.Getpid()); err != nil {
		t.Fatal(err)
	}
	m := &addressSpace{fd}
	there := make([]byte, 1<<16)
	at := uint64(uintptr(unsafe.Pointer(&there[0])))
	if err := m.write(at+100, []byte("lossless")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 8)
	if err := m.read(at+100, got); err != nil || string(got) != "lossless" {
		t.Fatalf("%q, %v", got, err)
	}
	for _, wrong := range []uint64{0, 1 << 62, 1 << 63, ^uint64(0)} {
		if err := m.read(wrong, got); !errors.Is(err, errAccess) {
			t.Errorf("read at %#x: %v", wrong, err)
		}
	}
	ended := exec.Command("sleep", "60")
	if err := ended.Start(); err != nil {
		t.Fatal(err)
	}
	of, err := unix.Open(fmt.Sprintf("/proc/%d/mem", ended.Process.Pid), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(of)
	_ = ended.Process.Kill()
	_ = ended.Wait()
	if err := isMemory(of, 0); err != nil {
		t.Fatal(err)
	}
	m = &addressSpace{of}
	if err := errors.Join(m.read(at, got), m.write(at, got)); !errors.Is(err, qp.ErrEnded) || errors.Is(err, errAccess) {
		t.Errorf("the memory of a program that has ended: %v", err)
	}
	for _, path := range []string{"/dev/zero", "/proc/self/maps", "/proc/self/stat", "/proc/version", t.TempDir()} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if isMemory(int(f.Fd()), 0) == nil {
			t.Errorf("%s was taken for a process's memory", path)
		}
		f.Close()
	}
	only, err := unix.Open("/proc/self/mem", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(only)
	if isMemory(only, os.Getpid()) == nil {
		t.Error("a file that cannot be written was taken")
	}
}

// TestMemoryOfNamespaces: a process in nested PID namespaces has the number 1 in the inner one, which the first process
// of the outer one has there.
func TestMemoryOfNamespaces(t *testing.T) {
	testenv.NeedRoot(t)
	top := exec.Command("unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
		"sh", "-c", "unshare --pid --fork --kill-child sleep 60; true")
	if err := top.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = top.Process.Kill(), top.Wait() })
	child := func(of int, name string) (process int) {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", of))
			if _, err := fmt.Sscan(string(text), &process); err != nil {
				continue
			}
			if comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", process)); string(comm) == name+"\n" {
				return process
			}
		}
		t.Fatalf("process %d has no child %s", of, name)
		return 0
	}
	outer := child(top.Process.Pid, "sh")
	process := child(child(outer, "unshare"), "sleep")
	for path, want := range map[string]error{
		fmt.Sprintf("/proc/%d/mem", process):               nil,
		fmt.Sprintf("/proc/%[1]d/task/%[1]d/mem", process): nil,
		fmt.Sprintf("/proc/%d/root/proc/3/mem", outer):     nil, // by the outer namespace's /proc
		fmt.Sprintf("/proc/%d/root/proc/1/mem", outer):     errOther,
		fmt.Sprintf("/proc/%d/mem", outer):                 errOther,
		"/proc/self/mem":                                   errOther,
	} {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := isMemory(fd, process); !errors.Is(err, want) {
			t.Errorf("%s as the memory of process %d: %v, want %v", path, process, err, want)
		}
		unix.Close(fd)
	}
}

// TestRing fills a completion queue whose program reports a wrong read position.
func TestRing(t *testing.T) {
	s, err := newShared("test", ringHeader+16*ringEntry)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := unix.Ftruncate(s.fd, 0); err == nil {
		t.Error("a program can take the memory away")
	}
	own, theirs, err := newChannel()
	if err != nil {
		t.Fatal(err)
	}
	defer own.close()
	defer unix.Close(theirs)
	q := &queue{shared: s, size: 16, cookie: 99, channel: own, armed: armedSolicited}
	for i := range uint64(16) {
		if !q.push(&completion{id: i, status: 3, qp: 5}) {
			t.Fatalf("no room for entry %d", i)
		}
	}
	if q.push(&completion{id: 16}) {
		t.Error("a full queue took one more")
	}
	atomic.StoreUint32(q.word(ringHeader/2), 1<<31) // nonsense
	q.push(&completion{})
	if id := binary.NativeEndian.Uint64(s.memory[ringHeader+15*ringEntry:]); id != 15 {
		t.Errorf("the last entry is of %d", id)
	}
	q.notify(false)
	q.notify(true)
	q.notify(true)
	var b [64]byte
	if n, err := unix.Read(theirs, b[:]); err != nil || n != 8 || binary.NativeEndian.Uint64(b[:]) != 99 {
		t.Errorf("the channel had %d bytes, %v", n, err)
	}
	if _, _, err := unix.Recvfrom(theirs, b[:], unix.MSG_DONTWAIT); err != unix.EAGAIN {
		t.Errorf("the channel was notified twice: %v", err)
	}
	p := &page{shared: s}
	p.completed()
	if atomic.LoadUint32(p.word(0)) != 1 {
		t.Error("the page does not count")
	}
}

// TestArm requests events while completions wait that the program has, or has not, read: as on mlx5, one that waits
// raises the event.
func TestArm(t *testing.T) {
	s, err := newShared("test", ringHeader+16*ringEntry)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	own, theirs, err := newChannel()
	if err != nil {
		t.Fatal(err)
	}
	defer own.close()
	defer unix.Close(theirs)
	q := &queue{shared: s, size: 16, channel: own}
	push := func(solicited bool) { q.push(&completion{}); q.notify(solicited) }
	read := func(n uint32) { atomic.StoreUint32(q.word(ringHeader/2), n) }
	for _, step := range []struct {
		name string
		do   func()
		want bool // an event
	}{
		{"a request on an empty queue", func() { q.arm(armedAlways) }, false},
		{"the next completion", func() { push(false) }, true},
		{"a completion without a request", func() { push(false) }, false},
		{"a request with two unread", func() { q.arm(armedAlways) }, true},
		{"a request for solicited ones, with others unread", func() { q.arm(armedSolicited) }, false},
		{"a completion that is not solicited", func() { push(false) }, false},
		{"a solicited one", func() { push(true) }, true},
		{"a request for solicited ones, with one unread", func() { read(3); q.arm(armedSolicited) }, true},
		{"the same after it was read", func() { read(4); push(false); q.arm(armedSolicited) }, false},
		{"a request for all", func() { q.arm(armedAlways) }, true},
		{"a request after all were read", func() { read(5); q.arm(armedAlways) }, false},
	} {
		step.do()
		_, _, err := unix.Recvfrom(theirs, make([]byte, 64), unix.MSG_DONTWAIT)
		if got := err == nil; got != step.want {
			t.Errorf("%s: an event: %v, want %v", step.name, got, step.want)
		}
	}
}

// TestQuotaOfProcesses reserves what 240 processes of a host need with UCX's defaults: completion queues for sends and
// receives, and 4096 receives, of each of RC and UD.
func TestQuotaOfProcesses(t *testing.T) {
	const depth = 4096
	q := quota{left: ofHost(8)}
	process := holdings{ring: 4 * (ringHeader + int(ringSize(depth))*ringEntry), work: 2 * (depth + 256)}
	for n := range 240 {
		if !q.take(process) {
			t.Fatalf("nothing is left for process %d", n)
		}
	}
}
