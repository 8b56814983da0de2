//go:build linux

package lockstep

import (
	"bytes"
	"fmt"
	"iter"
	"os"
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

// thread holds the last reading of a thread.
type thread struct {
	process string // its PID in the namespace
	state   state
	runs    uint64        // times that the scheduler started it
	spent   time.Duration // processor time
	since   time.Duration // value of spent at the start of its quantum
	fresh   bool          // since is set
	seen    uint64        // number of the scan
}

// threads reads the threads of a PID namespace from its /proc.
type threads struct {
	folder string
	all    map[int]*thread
	scans  uint64
	buffer [512]byte
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
	return &threads{folder: folder, all: map[int]*thread{}}, nil
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

// read returns the content of a small file, until the next call; nil if it cannot be read.
func (t *threads) read(name string) []byte {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, t.buffer[:])
	if err != nil {
		return nil
	}
	return t.buffer[:n]
}

// task names a thread's folder in /proc and its process.
type task struct{ folder, process string }

// tasks iterates over the IDs and tasks of all threads.
func (t *threads) tasks() iter.Seq2[int, task] {
	return func(yield func(int, task) bool) {
		for _, pid := range numbers(t.folder) {
			all := t.folder + pid + "/task/"
			for _, tid := range numbers(all) {
				number, _ := strconv.Atoi(tid)
				if !yield(number, task{all + tid + "/", pid}) {
					return
				}
			}
		}
	}
}

// allWait reports whether all threads wait, except for threads that poll their memory. polls reports whether there are
// such threads. allWait is true only if all others waited at one moment: it reads all threads twice, and the scheduler
// started none of those that wait between the readings.
func (t *threads) allWait() (allWait, polls bool) {
	t.scans++
	allWait = true
	for number, in := range t.tasks() {
		at := t.all[number]
		if at == nil {
			at = &thread{process: in.process}
			t.all[number] = at
		}
		at.seen = t.scans
		at.spent, at.runs = usage(t.read(in.folder + "schedstat"))
		switch at.state = t.stateOf(in.folder); {
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
	for number, at := range t.all {
		if at.seen != t.scans {
			delete(t.all, number)
		}
	}
	return allWait && t.unchanged(), polls
}

// unchanged reports whether no thread that waited at the scan has run since, or is about to: the scheduler counts a
// start only when it happens. The file syscall does not show that a processor has still to take a thread that another
// woke.
func (t *threads) unchanged() bool {
	found := 0
	for number, in := range t.tasks() {
		at := t.all[number]
		if at == nil {
			return false
		}
		found++
		if at.state != waiting {
			continue
		}
		if stateIn(t.read(in.folder+"stat"), true) != waiting {
			return false
		}
		if _, runs := usage(t.read(in.folder + "schedstat")); runs != at.runs {
			return false
		}
	}
	return found == len(t.all)
}

// restart gives each running thread of a process another Quantum.
func (t *threads) restart(process string) {
	for _, at := range t.all {
		if at.process == process {
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

// stateOf reads a thread's state from its folder. Only the file syscall (proc_pid_syscall(5)) shows whether the thread
// is still on a processor, and only the file stat whether it waits for a disk, or has been woken.
func (t *threads) stateOf(folder string) state {
	call := t.read(folder + "syscall")
	if bytes.Contains(call, registers) || len(call) > 0 && call[0] == 'r' { // "running"
		return running
	}
	inCall := len(call) > 0 && call[0] != '-' // -1: in none
	return stateIn(t.read(folder+"stat"), inCall)
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
