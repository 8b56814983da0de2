//go:build linux

package lockstep

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Quantum sets the processor time after which a thread that makes no system call counts as polling its memory. The
// kernel accounts a running thread's time at its timer interrupts, every 1 to 10 ms.
const Quantum = 5 * time.Millisecond

// state describes what a thread does.
type state uint8

const (
	running state = iota // or about to, or waiting for a disk or a page
	waiting              // in a system call
	gone                 // ended, or stopped
)

// The files of a thread that are read.
const (
	schedstat = iota
	syscall
	stat
	filesOfThread
)

var fileNames = [filesOfThread]string{"schedstat", "syscall", "stat"}

// thread holds the last reading of a thread.
type thread struct {
	folder string
	files  [filesOfThread]int // descriptors plus 1; 0: not open
	state  state
	runs   uint64        // times that the scheduler started it
	spent  time.Duration // processor time
	since  time.Duration // value of spent at the start of its quantum
	fresh  bool          // since is set
}

// process holds the threads of a process, by their folders' names.
type process struct {
	tasks   string // folder of its threads
	threads map[string]*thread
	ran     bool // any of them may have run since the last scan
}

// threads reads the threads of a PID namespace from its /proc. Their files stay open: a scan reads all of them.
type threads struct {
	folder    string
	processes map[string]*process // by PID in the namespace
	open      int                 // files that are open
	most      int                 // that may be open
	buffer    [512]byte
}

// registers marks a thread that waits for its registration: CLOCK_REGISTERS of verbs/c/clock.h, the sixth argument of
// its system call.
var registers = []byte(" 0x706e636c ")

// initName is the process name of the namespace init.
const initName = "pausenet-init"

// newThreads returns the threads of the PID namespace with this namespace init. It fails if the init has no /proc of
// its namespace, as in some containers.
func newThreads(initPID int) (*threads, error) {
	folder := fmt.Sprintf("/proc/%d/root/proc/", initPID)
	comm, err := os.ReadFile(folder + "1/comm")
	if err != nil || string(bytes.TrimSpace(comm)) != initName {
		return nil, fmt.Errorf("lock step needs a /proc of the fabric's own PID namespace, which cannot be mounted here")
	}
	return openThreads(folder), nil
}

// openThreads returns the threads in a folder in the form of /proc. They keep at most half of the files that this
// process may open.
func openThreads(folder string) *threads {
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	return &threads{folder: folder, processes: map[string]*process{}, most: int(min(limit.Cur/2, 1<<16))}
}

func (t *threads) close() {
	for _, p := range t.processes {
		t.closeProcess(p)
	}
}

func (t *threads) closeProcess(p *process) {
	for _, at := range p.threads {
		t.closeThread(at)
	}
}

func (t *threads) closeThread(at *thread) {
	for _, fd := range at.files {
		if fd > 0 {
			_ = unix.Close(fd - 1)
			t.open--
		}
	}
}

// numbers returns the names in a folder that are numbers, except process 1, the namespace init.
func numbers(folder string) (list []string) {
	f, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	for _, name := range names {
		if name[0] >= '1' && name[0] <= '9' && name != "1" {
			list = append(list, name)
		}
	}
	return list
}

// read returns the content of a thread's file, until the next call; nil if it cannot be read.
func (t *threads) read(at *thread, file int) []byte {
	fd := at.files[file] - 1
	if fd < 0 {
		var err error
		if fd, err = unix.Open(at.folder+fileNames[file], unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return nil
		}
		if t.open < t.most {
			at.files[file] = fd + 1
			t.open++
		} else {
			defer unix.Close(fd)
		}
	}
	n, err := unix.Pread(fd, t.buffer[:], 0)
	if err != nil {
		return nil
	}
	return t.buffer[:n]
}

// list adds what is new in a folder to the known entries, removes what is no longer there, and reports whether there
// was any of both.
func list[T any](folder string, known map[string]*T, add func(name string) *T, remove func(*T)) (changed bool) {
	names := numbers(folder)
	for _, name := range names {
		if known[name] == nil {
			known[name], changed = add(name), true
		}
	}
	if len(names) == len(known) {
		return changed
	}
	for name, one := range known {
		if !slices.Contains(names, name) {
			remove(one)
			delete(known, name)
		}
	}
	return true
}

// listProcesses lists the processes, and reports whether any has begun or ended.
func (t *threads) listProcesses() bool {
	return list(t.folder, t.processes, func(pid string) *process {
		return &process{tasks: t.folder + pid + "/task/", threads: map[string]*thread{}}
	}, t.closeProcess)
}

// listThreads lists the threads of a process, and reports whether any has begun or ended.
func (t *threads) listThreads(p *process) bool {
	return list(p.tasks, p.threads, func(tid string) *thread {
		return &thread{folder: p.tasks + tid + "/"}
	}, t.closeThread)
}

// refresh reads what a thread does, and reports whether it may have run since it was last read.
func (t *threads) refresh(at *thread) (ran bool) {
	text := t.read(at, schedstat)
	if text == nil { // another thread may have its number already
		at.state = gone
		return true
	}
	spent, runs := usage(text)
	if at.state == waiting && runs == at.runs {
		return false // unchanged reads whether it still waits
	}
	at.spent, at.runs = spent, runs
	at.state = t.stateOf(at)
	return true
}

// refreshProcess reads what the threads of a process do. It lists them only if one may have run: no other makes
// threads.
func (t *threads) refreshProcess(p *process) {
	p.ran = len(p.threads) == 0
	for tid, at := range p.threads {
		if t.refresh(at) {
			p.ran = true
		}
		if at.state == gone {
			t.closeThread(at)
			delete(p.threads, tid)
		}
	}
	if !p.ran {
		return
	}
	t.listThreads(p)
	for _, at := range p.threads {
		t.refresh(at)
	}
}

// allWait reports whether all threads wait, except for threads that poll their memory. polls reports whether there are
// such threads. allWait is true only if all others waited at one moment: it reads all threads twice, and the scheduler
// started none of those that wait between the readings.
func (t *threads) allWait() (allWait, polls bool) {
	allWait = true
	t.listProcesses()
	for _, p := range t.processes {
		t.refreshProcess(p)
		for _, at := range p.threads {
			switch {
			case at.state != running:
				at.fresh = false
			case !at.fresh:
				at.fresh, at.since, allWait = true, at.spent, false
			case at.spent-at.since < Quantum:
				allWait = false
			default:
				polls = true
			}
		}
	}
	return allWait && t.unchanged(), polls
}

// unchanged reports whether no thread that waited at the scan has run since, or is about to: the scheduler counts a
// start only when it happens. The file syscall does not show that a processor has still to take a thread that another
// woke.
func (t *threads) unchanged() bool {
	if t.listProcesses() {
		return false
	}
	for _, p := range t.processes {
		if p.ran && t.listThreads(p) {
			return false
		}
		for _, at := range p.threads {
			if at.state != waiting {
				continue
			}
			if stateIn(t.read(at, stat), true) != waiting {
				return false
			}
			if _, runs := usage(t.read(at, schedstat)); runs != at.runs {
				return false
			}
		}
	}
	return true
}

// restart gives each running thread of a process another Quantum.
func (t *threads) restart(pid string) {
	if p := t.processes[pid]; p != nil {
		for _, at := range p.threads {
			at.fresh = false
		}
	}
}

// inner returns a process's PID in its own PID namespace; empty if it cannot be read.
func inner(pid int) string {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range bytes.Lines(status) {
		if list, ok := bytes.CutPrefix(line, []byte("NSpid:")); ok {
			fields := bytes.Fields(list)
			return string(fields[len(fields)-1])
		}
	}
	return ""
}

// usage reads a thread's schedstat: its processor time, and how often the scheduler has started it.
func usage(text []byte) (spent time.Duration, runs uint64) {
	fields := bytes.Fields(text)
	if len(fields) < 3 {
		return 0, 0
	}
	ns, _ := strconv.ParseUint(string(fields[0]), 10, 64)
	runs, _ = strconv.ParseUint(string(fields[2]), 10, 64)
	return time.Duration(ns), runs
}

// stateOf reads a thread's state. Only the file syscall (proc_pid_syscall(5)) shows whether the thread is still on a
// processor, and only the file stat whether it waits for a disk, or has been woken.
func (t *threads) stateOf(at *thread) state {
	call := t.read(at, syscall)
	if bytes.Contains(call, registers) || len(call) > 0 && call[0] == 'r' { // "running"
		return running
	}
	inCall := len(call) > 0 && call[0] != '-' // -1: in none
	return stateIn(t.read(at, stat), inCall)
}

// stateIn returns the state in a thread's stat.
func stateIn(stat []byte, inCall bool) state {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 || i+2 >= len(stat) {
		return gone
	}
	switch stat[i+2] {
	case 'Z', 'X', 'T', 't':
		return gone
	case 'S':
		if inCall {
			return waiting
		}
	}
	return running
}
