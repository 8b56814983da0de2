//go:build linux

package command

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"github.com/rogpeppe/go-internal/testscript"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"exits":    exits,
	"tmpfs":    tmpfs,
	"start":    start,
	"signal":   signalTo,
	"group":    signalToGroup,
	"child":    signalToChild,
	"await":    await,
	"until":    until,
	"contains": contains,
	"holds":    holds,
	"gone":     gone,
	"flood":    flood,
	"endflood": endFlood,
}

// timeout limits how long a script waits for something short, on a machine that is busy with other work.
const timeout = testenv.Hung

// started holds a script's processes by name.
type started map[string]*process

type process struct {
	cmd        *exec.Cmd
	done       chan struct{} // closed when it has ended
	programs   []ebpf.ProgramID
	namespaces []string // links such as net:[4026532177]
}

type startedKey struct{}

// setupScript gives a script $OPEN, a folder that anybody may use, with pausenet in it. It links this test's program
// there: a copy for each script would write gigabytes.
func setupScript(env *testscript.Env) error {
	open, err := os.MkdirTemp("", "pausenet-open")
	if err != nil {
		return err
	}
	env.Defer(func() { os.RemoveAll(open) })
	env.Setenv("OPEN", open)
	switches, err := filepath.Abs("../experiments/scenario/sonic/testdata")
	if err != nil {
		return err
	}
	env.Setenv("SONIC", switches)
	if err := os.Chmod(open, 0o777); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// What the script leaves in the background ends with it, however it ends.
	mark := identity(os.Getpid()) + " " + filepath.Base(env.WorkDir)
	env.Setenv(testVariable, mark)
	env.Defer(func() { endStarted(func(value string) bool { return value == mark }) })
	all := started{}
	env.Values[startedKey{}] = all
	env.Values[floodKey{}] = new([]net.Conn)
	env.Defer(func() {
		for _, p := range all {
			_ = p.cmd.Process.Kill()
			<-p.done
		}
	})
	if err := os.Chmod(self, 0o755); err != nil {
		return err
	}
	return testenv.PlaceProgram(filepath.Join(open, "pausenet"))
}

func need(ts *testscript.TestScript, neg bool, args []string, least int, usage string) {
	if neg || len(args) < least {
		ts.Fatalf("usage: %s", usage)
	}
}

// invariants matches the message of a verdict about a broken invariant.
var invariants = regexp.MustCompile(`conserved|arrives?\b|accounts are|dealt with|in order, exactly once|as they were sent|paused port|lossless class|` +
	`all priorities|managers agree|lose nothing|plane works|counts agree|no pass`)

// checkCode returns an error if an exit code, or the output printed before it, is not as wanted. "0|late" means 0, or 1
// if the machine was too slow: a fabric that fell behind the clock for a moment has a verdict of FAIL, but breaks no
// invariant.
func checkCode(code int, wanted, printed string) error {
	if got := strconv.Itoa(code); wanted != "0|late" {
		if got != wanted {
			return fmt.Errorf("exit code %s, want %s", got, wanted)
		}
		return nil
	}
	switch invariant := invariants.FindString(printed); {
	case invariant != "":
		return fmt.Errorf("an invariant is broken: %s", invariant)
	case code == 0:
		return nil
	case code != 1, strings.Contains(printed, "checks: broken") && !strings.Contains(printed, "could not keep up") &&
		!strings.Contains(printed, "that programs sent") &&
		!strings.Contains(printed, "a program sent") && !strings.Contains(printed, "half of the events were"):
		return fmt.Errorf("exit code %d, and not for a machine that is late", code)
	}
	return nil
}

// exits runs a command that ends with the given code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "exits code command args...")
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if err := checkCode(code, args[0], ts.ReadFile("stdout")+ts.ReadFile("stderr")); err != nil {
		ts.Fatalf("%v", err)
	}
}

// tmpfs mounts an empty file system of a size.
func tmpfs(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "tmpfs folder size")
	at := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(at, 0o755))
	ts.Check(unix.Mount("tmpfs", at, "tmpfs", 0, "size="+args[1]))
	ts.Defer(func() { ts.Check(unix.Unmount(at, unix.MNT_DETACH)) })
}

// ended reports whether the command has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// start runs a command in the background. Its output is written to name.out and name.err.
func start(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "start name command args...")
	p := &process{cmd: exec.Command(args[1], args[2:]...), done: make(chan struct{})}
	p.cmd.Dir = ts.MkAbs(".")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"), "TMPDIR="+ts.Getenv("TMPDIR"),
		testVariable+"="+ts.Getenv(testVariable), timeoutVariable+"="+ts.Getenv(timeoutVariable))
	out, err := os.Create(ts.MkAbs(args[0] + ".out"))
	ts.Check(err)
	defer out.Close()
	errs, err := os.Create(ts.MkAbs(args[0] + ".err"))
	ts.Check(err)
	defer errs.Close()
	p.cmd.Stdout, p.cmd.Stderr = out, errs
	ts.Check(p.cmd.Start())
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	ts.Value(startedKey{}).(started)[args[0]] = p
}

func find(ts *testscript.TestScript, name string) *process {
	p := ts.Value(startedKey{}).(started)[name]
	if p == nil {
		ts.Fatalf("nothing was started as %s", name)
	}
	return p
}

// signalTo sends a started command a signal, such as TERM.
func signalTo(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "signal name signal")
	n := unix.SignalNum("SIG" + args[1])
	if n == 0 {
		ts.Fatalf("unknown signal %s", args[1])
	}
	ts.Check(find(ts, args[0]).cmd.Process.Signal(n))
}

// signalToGroup sends a started command and its children a signal, as a terminal does.
func signalToGroup(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "group name signal")
	ts.Check(syscall.Kill(-find(ts, args[0]).cmd.Process.Pid, unix.SignalNum("SIG"+args[1])))
}

// signalToChild sends the one child process of a started command a signal.
func signalToChild(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "child name signal")
	children, err := childrenOf(find(ts, args[0]).cmd.Process.Pid)
	if ts.Check(err); len(children) != 1 {
		ts.Fatalf("%s has the children %v", args[0], children)
	}
	ts.Check(syscall.Kill(children[0], unix.SignalNum("SIG"+args[1])))
}

// childrenOf returns the child processes of a process.
func childrenOf(parent int) (children []int, err error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	for _, path := range stats {
		stat, _ := os.ReadFile(path)
		// pid (name) state parent; the name may have anything in it.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				return nil, err
			}
			children = append(children, pid)
		}
	}
	return children, nil
}

// contains waits for a file to have a text in it.
func contains(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "contains file text")
	name, _, _ := strings.Cut(args[0], ".")
	p := ts.Value(startedKey{}).(started)[name]
	wait(ts, args[0]+" has "+args[1], func() bool {
		ended := p != nil && p.ended() // asked first: what it wrote before it ended is there then
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && strings.Contains(string(data), args[1]) {
			return true
		}
		if ended {
			errs, _ := os.ReadFile(ts.MkAbs(name + ".err"))
			ts.Fatalf("%s has ended without %q in %s\n%s", name, args[1], args[0], errs)
		}
		return false
	})
}

// await waits until a started command has ended with the given code. Code -1 means that a signal ended it.
func await(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "await name code")
	p := find(ts, args[0])
	select {
	case <-p.done:
	case <-time.After(timeout):
		ts.Fatalf("%s has not ended after %v", args[0], timeout)
	}
	out, _ := os.ReadFile(ts.MkAbs(args[0] + ".out"))
	errs, _ := os.ReadFile(ts.MkAbs(args[0] + ".err"))
	if err := checkCode(p.cmd.ProcessState.ExitCode(), args[1], string(out)+string(errs)); err != nil {
		ts.Fatalf("%s: %v\n%s", args[0], err, errs)
	}
}

func wait(ts *testscript.TestScript, what string, done func() bool) {
	for deadline := time.Now().Add(timeout); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("not after %v: %s", timeout, what)
		}
	}
}

// until waits for a file to have as many bytes, while a started command writes it.
func until(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, "until name file bytes")
	p := find(ts, args[0])
	least, err := strconv.ParseInt(args[2], 10, 64)
	ts.Check(err)
	wait(ts, args[1]+" has "+args[2]+" bytes", func() bool {
		select {
		case <-p.done:
			errs, _ := os.ReadFile(ts.MkAbs(args[0] + ".err"))
			ts.Fatalf("%s has ended: %v\n%s", args[0], p.cmd.ProcessState, errs)
		default:
		}
		info, err := os.Stat(ts.MkAbs(args[1]))
		return err == nil && info.Size() >= least
	})
}

// holds notes the BPF programs and network namespaces that a started command holds; it must hold some.
func holds(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "holds name")
	p := find(ts, args[0])
	proc := fmt.Sprintf("/proc/%d", p.cmd.Process.Pid)
	infos, err := filepath.Glob(proc + "/fdinfo/*")
	ts.Check(err)
	for _, f := range infos {
		info, _ := os.ReadFile(f)
		if _, id, ok := strings.Cut(string(info), "prog_id:\t"); ok {
			var n ebpf.ProgramID
			_, err := fmt.Sscan(id, &n)
			ts.Check(err)
			p.programs = append(p.programs, n)
		}
	}
	own, err := os.Readlink("/proc/self/ns/net")
	ts.Check(err)
	for _, link := range netLinks(proc) {
		if link != own {
			p.namespaces = append(p.namespaces, link)
		}
	}
	if len(p.programs) < 2 || len(p.namespaces) < 3 {
		ts.Fatalf("%s holds programs %v and namespaces %v", args[0], p.programs, p.namespaces)
	}
}

// netLinks returns the network namespaces that processes are in, or hold by a descriptor.
func netLinks(proc string) []string {
	var links []string
	for _, pattern := range []string{"/fd/*", "/task/*/ns/net"} {
		files, _ := filepath.Glob(proc + pattern)
		for _, f := range files {
			if to, err := os.Readlink(f); err == nil && strings.HasPrefix(to, "net:") {
				links = append(links, to)
			}
		}
	}
	return links
}

// gone waits until nothing is left of a command's processes and namespaces. That covers its BPF programs: in a fabric
// of this size, clsact attaches them to interfaces in the namespaces, so they last as long as one of these.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "gone name")
	p := find(ts, args[0])
	wait(ts, fmt.Sprintf("programs %v are unloaded", p.programs), func() bool {
		for _, id := range p.programs {
			prog, err := ebpf.NewProgramFromID(id)
			if err == nil {
				prog.Close()
				return false
			}
			if !errors.Is(err, os.ErrNotExist) {
				ts.Fatalf("program %d: %v", id, err)
			}
		}
		return true
	})
	if err := p.cmd.Process.Signal(syscall.Signal(0)); !errors.Is(err, os.ErrProcessDone) {
		ts.Fatalf("%s still runs: %v", args[0], err)
	}
	// By the mark, not by the inode: the kernel gives a namespace's number to the next one, of a test beside this.
	// Who looks for leftovers at the same time, as other packages' tests do, has each open for a moment.
	wait(ts, fmt.Sprintf("no process holds a namespace of %s", args[0]), func() bool {
		left, err := kernel.FindLeftovers()
		if err != nil {
			ts.Fatalf("%v", err)
		}
		return !slices.ContainsFunc(left, func(l kernel.Leftover) bool { return l.Owner == p.cmd.Process.Pid })
	})
}

type floodKey struct{}

// flood opens connections to the metrics of a fabric, whose address is in its output.
func flood(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "flood file connections")
	_, rest, _ := strings.Cut(ts.ReadFile(args[0]), "metrics at http://")
	address, _, found := strings.Cut(rest, "/metrics")
	count, err := strconv.Atoi(args[1])
	ts.Check(err)
	if !found {
		ts.Fatalf("%s names no metrics", args[0])
	}
	conns := ts.Value(floodKey{}).(*[]net.Conn)
	for range count {
		conn, err := net.Dial("tcp", address)
		if errors.Is(err, unix.ECONNRESET) {
			continue
		}
		ts.Check(err)
		*conns = append(*conns, conn)
	}
}

// endFlood closes the connections.
func endFlood(ts *testscript.TestScript, neg bool, args []string) {
	conns := ts.Value(floodKey{}).(*[]net.Conn)
	for _, conn := range *conns {
		conn.Close()
	}
	*conns = nil
}
