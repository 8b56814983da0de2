//go:build linux

package lockstep

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/vtime"
)

// fakeProc is a folder in the form of /proc.
type fakeProc struct {
	t      *testing.T
	folder string
}

func newFakeProc(t *testing.T) (*fakeProc, *threads) {
	f := &fakeProc{t, t.TempDir() + "/"}
	f.set("1", "1", "0 0 0", "running", "R") // the namespace init does not count
	return f, openThreads(f.folder)
}

// set sets what a thread's files say.
func (f *fakeProc) set(pid, tid, schedstat, syscall, state string) {
	f.t.Helper()
	folder := filepath.Join(f.folder, pid, "task", tid)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		f.t.Fatal(err)
	}
	for name, text := range map[string]string{
		"schedstat": schedstat + "\n", "syscall": syscall + "\n", "stat": tid + " (a) b) " + state + " 1 2\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
}

const inRead = "0 0x3 0x7ffd 0x8 0x0 0x0 0x0 0x7ffd 0x7f1a"

func TestAllWait(t *testing.T) {
	for _, c := range []struct {
		name, syscall, state string
		want                 bool
	}{
		{"sleeps in a call", inRead, "S", true},
		{"registers", "47 0x5 0x7ffd 0x40000000 0x0 0x0 0x706e636c 0x7ffd 0x7f1a", "S", false},
		{"runs", "running", "R", false},
		{"about to sleep, or preempted", "running", "S", false},
		{"waits for a disk", inRead, "D", false},
		{"waits for a page", "-1 0x7ffd 0x7f1a", "D", false},
		{"woken, not yet running", inRead, "R", false},
		{"stopped", "-1 0x7ffd 0x7f1a", "T", true},
		{"zombie", "-1 0x0 0x0", "Z", true},
	} {
		f, threads := newFakeProc(t)
		f.set("7", "7", "1000 0 5", inRead, "S")
		f.set("7", "8", "1000 0 5", c.syscall, c.state)
		if got, polls := threads.allWait(); got != c.want || polls {
			t.Errorf("%s: allWait %v, polls %v", c.name, got, polls)
		}
	}
}

func TestAllWaitWithoutProcesses(t *testing.T) {
	if _, threads := newFakeProc(t); true {
		if got, _ := threads.allWait(); !got {
			t.Error("no process runs, but it is not allWait")
		}
	}
}

// TestUnchanged checks that a thread counts as running if it ran between the two readings, though it sleeps in both.
func TestUnchanged(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(f *fakeProc)
		want   bool
	}{
		{"nothing", func(*fakeProc) {}, true},
		{"it ran and sleeps again", func(f *fakeProc) { f.set("7", "7", "2000 0 6", inRead, "S") }, false},
		{"it was woken", func(f *fakeProc) { f.set("7", "7", "1000 0 5", "running", "R") }, false},
		{"it was woken for another processor", func(f *fakeProc) { f.set("7", "7", "1000 0 5", inRead, "R") }, false},
		{"a new thread", func(f *fakeProc) { f.set("7", "9", "0 0 0", "running", "R") }, false},
		{"a process ended", func(f *fakeProc) { _ = os.RemoveAll(f.folder + "7") }, false},
	} {
		f, threads := newFakeProc(t)
		f.set("7", "7", "1000 0 5", inRead, "S")
		if got, _ := threads.allWait(); !got {
			t.Fatal("it sleeps, but it is not allWait")
		}
		c.change(f)
		if got := threads.unchanged(); got != c.want {
			t.Errorf("%s: unchanged %v", c.name, got)
		}
	}
}

// TestScans checks that later scans see which threads run, begin and end, however many files may stay open.
func TestScans(t *testing.T) {
	for _, most := range []int{0, 1, 4, 100} {
		f, threads := newFakeProc(t)
		threads.most = most
		f.set("7", "7", "1000 0 5", inRead, "S")
		f.set("8", "8", "1000 0 5", inRead, "S")
		for _, step := range []struct {
			name   string
			change func()
			want   bool
			count  int // threads of process 7
		}{
			{"first", func() {}, true, 1},
			{"nothing changed", func() {}, true, 1},
			{"it was woken", func() { f.set("7", "7", "1000 0 5", "running", "R") }, false, 1},
			{"it runs", func() { f.set("7", "7", "1500 0 6", "running", "R") }, false, 1},
			{"it sleeps, without another start", func() { f.set("7", "7", "2000 0 6", inRead, "S") }, true, 1},
			{"it has made a thread", func() {
				f.set("7", "7", "2500 0 7", inRead, "S")
				f.set("7", "9", "10 0 1", "running", "R")
			}, false, 2},
			{"the new one waits for a disk", func() { f.set("7", "9", "20 0 2", inRead, "D") }, false, 2},
			{"still", func() {}, false, 2},
			{"and then for data", func() { f.set("7", "9", "30 0 3", inRead, "S") }, true, 2},
			{"it ran, and waits for a disk", func() { f.set("7", "9", "40 0 4", inRead, "D") }, false, 2},
			{"it ended", func() {
				f.set("7", "7", "3000 0 8", inRead, "S")
				_ = os.RemoveAll(f.folder + "7/task/9")
			}, true, 1},
			{"another process", func() { f.set("10", "10", "0 0 0", "running", "R") }, false, 1},
			{"it ended, too", func() { _ = os.RemoveAll(f.folder + "10") }, true, 1},
		} {
			step.change()
			if got, _ := threads.allWait(); got != step.want || len(threads.processes["7"].threads) != step.count {
				t.Errorf("%s, %d files: %v, %d threads", step.name, most, got, len(threads.processes["7"].threads))
			}
			if threads.open > most {
				t.Errorf("%d files are open, more than %d", threads.open, most)
			}
		}
		if threads.close(); threads.open != 0 {
			t.Errorf("%d files are open in the end", threads.open)
		}
	}
}

// TestNumbersAgain checks that a thread with the number of one that has ended is read anew.
func TestNumbersAgain(t *testing.T) {
	f, threads := newFakeProc(t)
	defer threads.close()
	tasks := f.folder + "7/task"
	if err := os.MkdirAll(tasks, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		script string
		want   bool
	}{{"echo; exec sleep 100", true}, {"echo; while :; do :; done", false}, {"echo; exec sleep 100", true}} {
		program := exec.Command("sh", "-c", c.script)
		out, err := program.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := program.Start(); err != nil {
			t.Fatal(err)
		}
		_, _ = out.Read(make([]byte, 1)) // it has begun
		pid := strconv.Itoa(program.Process.Pid)
		link := filepath.Join(tasks, "7")
		_ = os.Remove(link)
		if err := os.Symlink("/proc/"+pid+"/task/"+pid, link); err != nil {
			t.Fatal(err)
		}
		got, _ := threads.allWait()
		for c.want && !got { // until sleep sleeps
			got, _ = threads.allWait()
		}
		if got != c.want {
			t.Errorf("%s: allWait %v", c.script, got)
		}
		_ = program.Process.Kill()
		_ = program.Wait()
	}
}

// TestPollingMemory checks that a thread that runs counts as waiting after Quantum of processor time, until something
// happens to its process.
func TestPollingMemory(t *testing.T) {
	f, threads := newFakeProc(t)
	at := func(spent time.Duration) (allWait, polls bool) {
		f.set("7", "7", strconv.FormatInt(int64(spent), 10)+" 0 5", "running", "R")
		return threads.allWait()
	}
	const start = 3 * time.Second
	for _, step := range []struct {
		spent   time.Duration
		restart string
		want    bool
	}{
		{start, "", false},
		{start + Quantum - 1, "", false},
		{start + Quantum, "", true},
		{start + Quantum + 1, "8", true},
		{start + Quantum + 2, "7", false},
		{start + 2*Quantum + 1, "", false},
		{start + 2*Quantum + 2, "", true},
	} {
		if step.restart != "" {
			threads.restart(step.restart)
		}
		if allWait, polls := at(step.spent); allWait != step.want || polls != step.want {
			t.Errorf("after %v: allWait %v, polls %v", step.spent, allWait, polls)
		}
	}
}

// register gives a thread a slot, with a deadline in virtual ns.
func register(t *testing.T, p *Programs, process, host int, deadline uint64) (slot int) {
	t.Helper()
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	slot, file, err := p.Register(process, host, event)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(file)
	p.page.slots[slot].deadline = deadline
	return slot
}

func openPrograms(t *testing.T) *Programs {
	t.Helper()
	_, threads := newFakeProc(t)
	p, err := newPrograms(threads)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// woken returns how often a slot's eventfd was written.
func woken(p *Programs, slot int) uint64 {
	var b [8]byte
	_, _ = unix.Read(p.owners[slot].event, b[:])
	return binary.NativeEndian.Uint64(b[:])
}

// TestWakesInOrder checks that threads are woken by time, then by host, then by slot, with the clock at their time.
func TestWakesInOrder(t *testing.T) {
	p := openPrograms(t)
	for _, d := range []struct {
		host     int
		deadline uint64
	}{{2, 300}, {1, 300}, {3, 200}, {1, 300}, {1, 0}, {0, 1 << 63}} {
		register(t, p, 7, d.host, d.deadline)
	}
	now := 100 * vtime.Nanosecond
	for _, want := range []struct {
		slot int
		at   vtime.Time
	}{{2, 200}, {1, 300}, {3, 300}, {0, 300}} {
		at, slot := p.Next(now)
		if slot != want.slot || at != want.at*vtime.Nanosecond {
			t.Fatalf("next is slot %d at %v, want %d at %d ns", slot, at, want.slot, want.at)
		}
		now = at
		p.Wake(slot, now, 450*vtime.Nanosecond)
		if n := woken(p, slot); n != 1 || p.page.now != uint64(want.at) || p.page.slots[slot].deadline != 0 {
			t.Errorf("slot %d: woken %d times, clock %d, deadline %d", slot, n, p.page.now, p.page.slots[slot].deadline)
		}
	}
	if at, slot := p.Next(now); slot != -1 || at != vtime.Never || p.page.quiet != 450 {
		t.Errorf("next is slot %d at %v, quiet until %d", slot, at, p.page.quiet)
	}
}

// TestWrote checks that data wakes the threads of the process that poll for it, and no others.
func TestWrote(t *testing.T) {
	p := openPrograms(t)
	polls, sleeps, other := register(t, p, 7, 0, 900), register(t, p, 7, 0, 800), register(t, p, 8, 0, 700)
	p.page.slots[polls].polls, p.page.slots[other].polls = 1, 1
	p.Wrote(7)
	if at, slot := p.Next(500 * vtime.Nanosecond); slot != polls || at != 500*vtime.Nanosecond {
		t.Errorf("next is slot %d at %v", slot, at)
	}
	p.Wake(polls, 500*vtime.Nanosecond, vtime.Never)
	if _, slot := p.Next(500 * vtime.Nanosecond); slot != other {
		t.Errorf("next is slot %d, want %d", slot, other)
	}
	p.Release(other)
	if _, slot := p.Next(500 * vtime.Nanosecond); slot != sleeps {
		t.Errorf("next is slot %d, want %d", slot, sleeps)
	}
	if again := register(t, p, 9, 0, 600); again != other {
		t.Errorf("the freed slot is %d, the next one %d", other, again)
	}
}

// TestBusy checks that time stands still while a request waits for its reply.
func TestBusy(t *testing.T) {
	p := openPrograms(t)
	slot := register(t, p, 7, 0, 0)
	p.page.slots[slot].busy = 1
	if p.AllWait() {
		t.Error("a request waits, but it is allWait")
	}
	p.page.slots[slot].busy = 0
	if !p.AllWait() {
		t.Error("no process runs, but it is not allWait")
	}
}

// TestLayout compares the shared memory with verbs/c/clock.h.
func TestLayout(t *testing.T) {
	text, err := os.ReadFile("../../verbs/c/clock.h")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`CLOCK_SLOTS = (\d+)`).FindSubmatch(text)
	if m == nil || string(m[1]) != strconv.Itoa(Slots) {
		t.Errorf("CLOCK_SLOTS is %s there, %d here", m, Slots)
	}
	if !regexp.MustCompile(`CLOCK_REGISTERS = ` + string(bytes.TrimSpace(registers)) + ` `).Match(text) {
		t.Errorf("clock.h does not have CLOCK_REGISTERS = %s", registers)
	}
	var s slot
	var p page
	got := [...]uintptr{
		unsafe.Sizeof(s), unsafe.Offsetof(s.polls), unsafe.Offsetof(s.busy), unsafe.Offsetof(s.calls),
		unsafe.Offsetof(s.waits), unsafe.Offsetof(p.epoch), unsafe.Offsetof(p.quiet), unsafe.Offsetof(p.slots),
	}
	if want := [...]uintptr{32, 8, 12, 16, 20, 8, 16, 64}; got != want {
		t.Errorf("sizes and offsets %v, want %v", got, want)
	}
	for i, assertion := range []string{
		`sizeof(struct clock_slot) == 32`, `offsetof(struct clock_slot, polls) == 8`, `offsetof(struct clock_slot, busy) == 12`,
		`offsetof(struct clock_slot, calls) == 16`,
		`offsetof(struct clock_slot, waits) == 20`, `offsetof(struct clock_page, epoch) == 8`,
		`offsetof(struct clock_page, quiet) == 16`, `offsetof(struct clock_page, slots) == 64`,
	} {
		if !regexp.MustCompile(`_Static_assert\(` + regexp.QuoteMeta(assertion)).Match(text) {
			t.Errorf("clock.h does not assert %q (%d)", assertion, i)
		}
	}
}
