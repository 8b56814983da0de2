//go:build linux

package pidns

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/testenv"
)

const timeout = testenv.Hung

// in starts a command in a namespace, on a thread of its own among the namespace init's mounts, and calls then while
// that thread lives.
func in(n *Namespace, cmd *exec.Cmd, then func() error) error {
	return with(n, AllCapabilities, cmd, then)
}

func with(n *Namespace, capabilities Capabilities, cmd *exec.Cmd, then func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := n.EnterMounts()
		if err == nil {
			err = Start(int(n.File().Fd()), cmd, capabilities, NoRoot, "")
		}
		if err == nil {
			err = then()
		}
		done <- err
	}()
	return <-done
}

func namespace(t *testing.T) *Namespace {
	t.Helper()
	testenv.NeedRoot(t)
	n, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.End)
	return n
}

// output returns the output of a shell's script in a namespace.
func output(t *testing.T, n *Namespace, script string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := in(n, cmd, cmd.Wait); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, &out)
	}
	return out.String()
}

// marked returns the processes, without zombies, that have a variable in their environment.
func marked(variable string) (pids []int) {
	all, _ := os.ReadDir("/proc")
	for _, p := range all {
		pid, err := strconv.Atoi(p.Name())
		if environ, _ := os.ReadFile("/proc/" + p.Name() + "/environ"); err == nil &&
			bytes.Contains(environ, []byte(variable)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func awaitEnd(t *testing.T, variable string) {
	t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(time.Millisecond) {
		pids := marked(variable)
		if len(pids) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes %v are left", pids)
		}
	}
}

// TestInside: programs see those of their namespace alone, whose first process is the namespace init, by the pids that
// they have there.
func TestInside(t *testing.T) {
	n := namespace(t)
	got := output(t, n, `cat /proc/1/comm; echo /proc/[0-9]*; echo $$ $PPID; readlink /proc/self/ns/pid; sleep 1000 >/dev/null 2>&1 & kill $! && echo killed`)
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != 5 || lines[0] != initName || lines[4] != "killed" {
		t.Fatal(got)
	}
	own := strings.Fields(lines[2])
	if want := "/proc/1 /proc/" + own[0]; lines[1] != want || own[1] != "0" {
		t.Errorf("processes are %q, want %q; parent %s", lines[1], want, own[1])
	}
	if outer, err := os.Readlink("/proc/self/ns/pid"); err != nil || lines[3] == outer {
		t.Errorf("%v: the namespace is the outer one, %s", err, outer)
	}
	if who, err := os.ReadFile("/proc/1/comm"); err != nil || strings.TrimSpace(string(who)) == initName {
		t.Errorf("%v: the machine's own /proc shows %s", err, who)
	}
}

// TestOrphans: what ends without a parent does not stay as a zombie, and what programs send to process 1 does it no
// harm.
func TestOrphans(t *testing.T) {
	n := namespace(t)
	output(t, n, "for s in TERM INT HUP QUIT USR1 CHLD KILL STOP; do kill -$s 1; done; sh -c 'sleep 0.01 & :'")
	var got string
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); {
		if got = output(t, n, "exec cat /proc/[0-9]*/comm"); got == initName+"\ncat\n" {
			return
		}
	}
	t.Errorf("left are %q", got)
}

// daemons holds a script that leaves programs in the background, in sessions and groups of their own.
const daemons = `(setsid sleep 1000 &) >/dev/null 2>&1; setsid sh -c 'sleep 1001 & exec sleep 1002' >/dev/null 2>&1 & echo started; exec sleep 1003`

// begin starts daemons in a namespace, marked, and waits for them. wait waits for the one in the foreground.
func begin(t *testing.T, n *Namespace, variable string) (wait func() error) {
	t.Helper()
	cmd := exec.Command("sh", "-c", daemons)
	cmd.Env = append(os.Environ(), variable)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- in(n, cmd, func() error {
			_, _ = bufio.NewReader(out).ReadString('\n')
			close(started)
			return cmd.Wait()
		})
	}()
	select {
	case <-started:
	case err := <-ended:
		t.Fatal(err)
	}
	for deadline := time.Now().Add(timeout); len(marked(variable)) < 4; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d processes are there", len(marked(variable)))
		}
	}
	return func() error { return <-ended }
}

// TestEnd: with the namespace its programs end, however far from their parents, and none can start any more.
func TestEnd(t *testing.T) {
	for name, end := range map[string]func(n *Namespace){
		"end":     (*Namespace).End,
		"killed":  func(n *Namespace) { _ = unix.Kill(n.InitPID(), unix.SIGKILL) },
		"stopped": func(n *Namespace) { _ = unix.Kill(n.InitPID(), unix.SIGSTOP); _ = unix.Kill(n.InitPID(), unix.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			n := namespace(t)
			variable := fmt.Sprintf("PIDNS_TEST=end-%s-%d", name, os.Getpid())
			wait := begin(t, n, variable)
			later := &Namespace{file: duplicate(t, n.File()), mounts: duplicate(t, n.mounts), root: duplicate(t, n.root)}
			defer later.close()
			end(n)
			var exit *exec.ExitError
			if err := wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
				t.Errorf("the program in the foreground: %v", err)
			}
			awaitEnd(t, variable)
			select {
			case <-n.Ended():
			case <-time.After(timeout):
				t.Error("it does not say that it has ended")
			}
			cmd := exec.Command("true")
			if err := in(later, cmd, cmd.Wait); !errors.Is(err, ErrEnded) {
				t.Errorf("a program after the end: %v", err)
			}
		})
	}
}

func duplicate(t *testing.T, file *os.File) *os.File {
	t.Helper()
	fd, err := unix.Dup(int(file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "namespace")
}

// TestCapabilities: a program has the capabilities that it was given and gets no others, whoever it becomes.
func TestCapabilities(t *testing.T) {
	n := namespace(t)
	for _, capabilities := range []Capabilities{
		CapabilitiesOf(unix.CAP_NET_RAW, unix.CAP_CHOWN, unix.CAP_BPF), 0, AllCapabilities,
	} {
		var out bytes.Buffer
		cmd := exec.Command("sh", "-c", "cat /proc/self/status")
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := with(n, capabilities, cmd, cmd.Wait); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		had, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range []string{"CapBnd", "CapPrm", "CapEff", "CapInh", "CapAmb"} {
			want := capabilitiesIn(t, string(had), set) & capabilities
			if got := capabilitiesIn(t, out.String(), set); got != want {
				t.Errorf("of capabilities %v, %s is %v, want %v", capabilities, set, got, want)
			}
		}
	}
}

// capabilitiesIn returns a set of /proc/PID/status.
func capabilitiesIn(t *testing.T, status, set string) Capabilities {
	t.Helper()
	_, rest, _ := strings.Cut(status, "\n"+set+":")
	line, _, _ := strings.Cut(rest, "\n")
	p, err := parseCapabilities(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("%s: %v in\n%s", set, err, status)
	}
	return p
}

// TestConfined: with CAP_SYS_ADMIN, but not all capabilities, a program and its children can do nothing of it that reaches
// beyond the node.
func TestConfined(t *testing.T) {
	n := namespace(t)
	var out bytes.Buffer
	cmd := exec.Command("sh", "-c", `grep CapEff /proc/self/status; for c in "unshare -n" "unshare -U" "mount -t tmpfs x /mnt" \
		"hostname other" "nsenter -t 1 -n"; do $c true 2>/dev/null && echo "$c"; done; (sleep 0; echo forked)`)
	cmd.Stdout = &out
	if err := with(n, CapabilitiesOf(unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN), cmd, cmd.Wait); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("CapEff:\t%016x\nforked\n", 1<<unix.CAP_SYS_ADMIN|1<<unix.CAP_NET_ADMIN); out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// TestMounts: mounts of programs do not propagate to the machine, their /proc is not the machine's, and their first
// process has no network.
func TestMounts(t *testing.T) {
	n := namespace(t)
	folder := t.TempDir()
	got := output(t, n, "mount -t tmpfs inside "+folder+" && touch "+folder+"/file && ls "+folder+
		"; nsenter -t 1 -n ip -o -4 addr")
	if want := "file\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("on the machine there are %v, %v", left, err)
	}
}

// TestChroot: in a plain chroot mounts cannot be had, and the error says what to do.
func TestChroot(t *testing.T) {
	if _, there := os.LookupEnv("PIDNS_CHROOT"); there {
		_, err := New()
		t.Fatal(err)
	}
	testenv.NeedRoot(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The folder is no mount point, though all in it are.
	script := `for f in /*; do if [ -d $f ]; then mkdir $0$f; mount --rbind $f $0$f; fi; done; exec chroot $0 "$1" -test.run=^TestChroot$`
	cmd := exec.Command("sh", "-ec", script, t.TempDir(), self)
	cmd.Env = append(os.Environ(), "PIDNS_CHROOT=1")
	cmd.SysProcAttr = &unix.SysProcAttr{Unshareflags: unix.CLONE_NEWNS} // which makes its mounts private
	if out, err := cmd.CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "start the namespace init: / is not a mount point, as in a plain chroot "+
			"(before chroot FOLDER, run mount --bind") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestMistakes: what cannot be run is an error of Start, as it is of exec.Cmd's.
func TestMistakes(t *testing.T) {
	n := namespace(t)
	folder := t.TempDir()
	for path, want := range map[string]error{
		"nosuchprogram": exec.ErrNotFound, folder: unix.EACCES,
		folder + "/none": unix.ENOENT,
	} {
		cmd := exec.Command(path)
		if err := in(n, cmd, cmd.Wait); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

// TestRole runs in the processes that TestKilled starts: such a process makes a namespace or uses one, of which it has
// the namespace init, and waits.
func TestRole(t *testing.T) {
	initPID, there := os.LookupEnv("PIDNS_ROLE")
	if !there {
		t.Skip("a part of TestKilled")
	}
	n := &Namespace{}
	var err error
	if initPID == "" {
		n, err = New()
	} else {
		n.initPID, err = strconv.Atoi(initPID)
		err = errors.Join(err, n.open())
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", daemons)
	cmd.Stdout = os.Stdout
	t.Fatal(in(n, cmd, cmd.Wait))
}

// TestKilled: if the process that made a namespace is killed, all programs in it end, even if the namespace init is
// stopped. If another process that runs a program in it is killed, only that program ends.
func TestKilled(t *testing.T) {
	n := namespace(t)
	for _, c := range []struct {
		name, initPID string
		left          int
	}{
		{"maker", "", 0},
		{"maker-stopped", "", 0},
		{"user", strconv.Itoa(n.InitPID()), 3}, // the daemons
	} {
		t.Run(c.name, func(t *testing.T) {
			variable := fmt.Sprintf("PIDNS_TEST=%s-%d", c.name, os.Getpid())
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestRole$")
			cmd.Env = append(os.Environ(), "PIDNS_ROLE="+c.initPID, variable)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "started"; {
				t.Log(lines.Text())
			}
			all := 5 // the process, four programs
			if c.initPID == "" {
				all = 6 // and the namespace init
			}
			for deadline := time.Now().Add(timeout); len(marked(variable)) < all; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("processes are %v", marked(variable))
				}
			}
			if c.name == "maker-stopped" {
				for _, pid := range marked(variable) {
					if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); strings.TrimSpace(string(name)) == initName {
						_ = unix.Kill(pid, unix.SIGSTOP)
					}
				}
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			for deadline := time.Now().Add(timeout); len(marked(variable)) != c.left; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("left are %v, want %d", marked(variable), c.left)
				}
			}
		})
	}
	n.End()
	awaitEnd(t, fmt.Sprintf("PIDNS_TEST=user-%d", os.Getpid()))
}
