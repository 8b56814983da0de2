//go:build linux

package command

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pausenet/pausenet/internal/testenv"
)

// terminal represents a terminal of tmux's.
type terminal struct {
	*testing.T
	socket string
}

func (t *terminal) tmux(args ...string) string {
	t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", t.socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// screen returns the text on the terminal, with the lines scrolled off it.
func (t *terminal) screen() string { return t.tmux("capture-pane", "-p", "-J", "-S", "-", "-t", "lab") }

// see waits for a text after the text seen so far.
func (t *terminal) see(text string) {
	t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		if strings.Contains(t.screen(), text) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the terminal does not show %q:\n%s", text, t.screen())
		}
	}
}

// interrupt types Ctrl-C until a text appears after the last occurrence of another. One Ctrl-C may not be enough: a
// line that is shown as typed may not have started, and a program that fg continues may not own the terminal yet.
// Whether the terminal shows ^C depends on that, too.
func (t *terminal) interrupt(after, text string) {
	t.Helper()
	shown := func() bool {
		screen := t.screen()
		return strings.Contains(screen[max(strings.LastIndex(screen, after), 0):], text)
	}
	for deadline := time.Now().Add(timeout); !shown(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("Ctrl-C does not have the terminal show %q:\n%s", text, t.screen())
		}
		t.tmux("send-keys", "-t", "lab", "C-c")
	}
}

// prompt waits for a prompt that is the last on the screen: an earlier one is not enough.
func (t *terminal) prompt() {
	t.Helper()
	for deadline := time.Now().Add(timeout); !strings.HasSuffix(strings.TrimRight(t.screen(), " \n"),
		"\npausenet>"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no prompt:\n%s", t.screen())
		}
	}
}

// enter types a line at a prompt, on a cleared screen, so that all text seen afterwards belongs to this line. The
// screen's old text moves to the history when the key is read, not when it is typed.
func (t *terminal) enter(line string) {
	t.Helper()
	t.prompt()
	t.tmux("send-keys", "-t", "lab", "C-l")
	for deadline := time.Now().Add(timeout); strings.TrimSpace(t.tmux("capture-pane", "-p", "-t",
		"lab")) != "pausenet>"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the screen is not cleared:\n%s", t.screen())
		}
	}
	t.tmux("clear-history", "-t", "lab")
	t.tmux("send-keys", "-t", "lab", "-l", line)
	t.tmux("send-keys", "-t", "lab", "Enter")
}

// newTerminal returns a terminal with a shell in it, and the path of pausenet.
func newTerminal(t *testing.T, programs ...string) (lab *terminal, pausenet string) {
	t.Helper()
	testenv.NeedRoot(t)
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("this test needs %s: apt-get install %s", program, program)
			}
			t.Skipf("this test needs %s: apt-get install %s", program, program)
		}
	}
	_, pausenet = program(t)
	lab = &terminal{T: t, socket: filepath.Join(testenv.ShortDir(t), "tmux")}
	lab.tmux("new-session", "-d", "-s", "lab", "-x", "180", "-y", "50", "sh")
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", lab.socket, "kill-server").Run() })
	return lab, pausenet
}

// TestTerminal runs a session at a terminal: bring-up, pingall, iperf, incast, a link down, Ctrl-C, a shell on a host,
// exit.
func TestTerminal(t *testing.T) {
	t.Parallel()
	lab, pausenet := newTerminal(t, "tmux", "iperf3")
	lab.tmux("send-keys", "-t", "lab", "-l", pausenet+" up --name tmux-lab --slowdown 500; echo code $?")
	lab.tmux("send-keys", "-t", "lab", "Enter")
	lab.see("help lists the commands")
	lab.enter("pingall")
	lab.see("0% dropped (56/56 received)")
	lab.enter("iperf h0 h7 2")
	lab.see("Gbps of virtual time")
	lab.enter("incast 4 h0 64KB")
	lab.see("4 flows: slowdown mean")
	lab.enter("link leaf0 spine0 down")
	lab.enter("pingall")
	lab.see("0% dropped (56/56 received)")
	lab.enter("h1 ping h2")
	lab.see("icmp_seq=2")
	lab.tmux("send-keys", "-t", "lab", "C-c")
	lab.see("packets transmitted")
	lab.enter("h1 test -t 1 && test -t 2 && echo the terminal it 'has'")
	lab.see("the terminal it has")
	lab.enter("sh test -t 1 && echo so does 'sh'")
	lab.see("so does sh")
	lab.enter("h5 sleep 1000 > /dev/null &") // what enter waits for next is the prompt
	// A shell on a host has a prompt and job control, and pausenet its terminal again when it ends, or is killed.
	lab.enter("h1 env PS1=h1:_ bash --norc --noprofile")
	typed := func(line, see string) {
		lab.tmux("send-keys", "-t", "lab", "-l", line)
		lab.tmux("send-keys", "-t", "lab", "Enter")
		lab.see(see)
	}
	lab.see("\nh1:_") // its prompt, and not the line that begins it
	typed("echo $((6*7)) h2; getent hosts h2; stty size", "50 180")
	lab.see("42 h2")
	lab.see("fd00::a00:3")
	typed("sh -c 'echo started; exec sleep 1000'", "\nstarted")
	lab.tmux("send-keys", "-t", "lab", "C-z")
	lab.see("Stopped")
	typed("fg", "fg\nsh -c")
	lab.interrupt("fg\nsh -c", "h1:_")
	typed("exit", "h1:_exit\nexit\npausenet>")
	lab.enter("h1 env PS1=h1:_ bash --norc --noprofile")
	lab.see("\nh1:_")
	typed("kill -9 $$", "\nh1:_kill -9 $$") // what enter waits for next is the prompt
	lab.enter("exi\t")
	lab.see("checks: ")
	lab.see("code ")
	if screen := lab.screen(); strings.Contains(screen, "conserved") || strings.Contains(screen, "panic") {
		t.Errorf("an invariant does not hold:\n%s", screen)
	}
}

// TestFoldsAtTheTerminalsWidth checks that pausenet breaks its own output between words at a terminal: errors,
// warnings, and the texts of up, the shell and the verdict. Lines that only the terminal has broken are joined first.
func TestFoldsAtTheTerminalsWidth(t *testing.T) {
	t.Parallel()
	lab, pausenet := newTerminal(t, "tmux")
	const width = 60
	lab.tmux("resize-window", "-t", "lab", "-x", strconv.Itoa(width))
	typed := func(line, see string) {
		lab.tmux("send-keys", "-t", "lab", "-l", "clear; "+line)
		lab.tmux("send-keys", "-t", "lab", "Enter")
		lab.see(see)
	}
	folds := func(of string) {
		lab.Helper()
		for line := range strings.Lines(lab.screen()) {
			if line = strings.TrimSpace(line); len(line) > width && !strings.Contains(line, pausenet) {
				t.Errorf("%s: %q is wider than the terminal", of, line)
			}
		}
	}
	typed(pausenet+" validate incast --set switch.pfc.xoff=1KB,; echo code $?", "code 2")
	folds("an error")
	typed(pausenet+" validate incast --set switch.pfc.headroom=1KB; echo code $?", "code 0")
	folds("a warning")
	typed(pausenet+" up --name tmux-folds --slowdown 500; echo code $?", "help lists")
	lab.prompt()
	lab.tmux("send-keys", "-t", "lab", "-l", "help")
	lab.tmux("send-keys", "-t", "lab", "Enter")
	lab.see("Python")
	lab.prompt()
	lab.tmux("send-keys", "-t", "lab", "-l", "exit")
	lab.tmux("send-keys", "-t", "lab", "Enter")
	lab.see("code 0")
	folds("a live fabric")
}

// TestSuspend checks that Ctrl-Z stops the fabric with the program that it is running, and that fg continues both.
func TestSuspend(t *testing.T) {
	t.Parallel()
	lab, pausenet := newTerminal(t, "tmux")
	shell := func(line string) {
		lab.tmux("send-keys", "-t", "lab", "-l", line)
		lab.tmux("send-keys", "-t", "lab", "Enter")
	}
	shell("export PAUSENET_NAME=tmux-suspend PAUSENET_SLOWDOWN=500")
	shell(pausenet) // which is up, for root at a terminal
	lab.see("help lists the commands")
	lab.enter("h1 sh -c 'echo started; exec sleep 1000'")
	lab.see("\nstarted")
	lab.tmux("send-keys", "-t", "lab", "C-z")
	lab.see("Stopped")
	shell("fg")
	lab.see("fg\n" + pausenet)
	lab.interrupt("fg\n"+pausenet, "pausenet>")
	lab.tmux("send-keys", "-t", "lab", "Enter")
	lab.enter("exit")
	lab.see("checks: ")
}

// TestAttachedTerminal attaches a shell to a fabric in the background, watches it, and leaves it up, with a terminal
// that is as it was before.
func TestAttachedTerminal(t *testing.T) {
	t.Parallel()
	lab, pausenet := newTerminal(t, "tmux")
	up := exec.Command(pausenet, "up", "--name", "tmux-attached", "--detach", "--slowdown", "500", "--cc", "none")
	up.Env = append(os.Environ(), detachedVariable+"=1") // the process in the background itself
	out, err := up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = up.Process.Signal(syscall.SIGTERM)
		_ = up.Wait() // whether the machine could follow is not asked for
		forgetFabric("tmux-attached")
	})
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != upLine; {
		t.Log(lines.Text())
	}
	shell := func(line string) {
		lab.tmux("send-keys", "-t", "lab", "-l", line)
		lab.tmux("send-keys", "-t", "lab", "Enter")
	}
	key := func(name string) { lab.tmux("send-keys", "-t", "lab", name) }
	shell("export XDG_STATE_HOME=" + t.TempDir() + "; B=$(stty -a); " + pausenet +
		" shell tmux-attached; test \"$B\" = \"$(stty -a)\" && echo terminal 'sane'")
	lab.see("attached to tmux-attached")
	lab.enter("incast 4 h7 100MB &")
	lab.enter("host h7 pfc-storm on")
	for _, end := range []string{"q", "C-c"} {
		lab.enter("top")
		lab.see("q quits; rates are of virtual time")
		lab.see("leaf1-eth4      h7")
		lab.see("4 flows open")
		key(end)
	}
	lab.enter("set switch.pfc.watchdog={detect: 100us, restore: 100us}")
	for deadline := time.Now().Add(timeout); !strings.Contains(lab.screen(),
		"storm leaf1-eth4 (to h7)"); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no storm is reported:\n%s", lab.screen())
		}
		key("Enter") // it is reported before the next prompt
	}
	lab.enter("host h7 norm\t")
	lab.enter("flow h0 h1 1GB")
	lab.interrupt("flow h0 h1 1GB", "1 of 1 flows still running")
	lab.enter("iperf h0 h7 1000")
	lab.interrupt("iperf h0 h7 1000", "interrupted")
	lab.enter("h1 echo from h2")
	lab.see("from 10.0.0.3")
	lab.enter("exit")
	lab.see("terminal sane")
	shell(pausenet + " shell tmux-attached")
	lab.see("attached to")
	lab.prompt()
	lab.tmux("send-keys", "-t", "lab", "C-l")
	key("Up")
	key("Up")
	lab.see("pausenet> h1 echo from h2") // of the session before
	key("C-c")
	lab.prompt()
	shell("top")
	lab.see("flows open")
	key("q")
	lab.tmux("kill-server")
}

// TestTypedAhead checks that lines typed or pasted during another command all run after it, in order.
func TestTypedAhead(t *testing.T) {
	t.Parallel()
	lab, pausenet := newTerminal(t, "tmux")
	started, over := filepath.Join(filepath.Dir(lab.socket), "started"), filepath.Join(filepath.Dir(lab.socket), "over")
	lab.tmux("send-keys", "-t", "lab", "-l", pausenet+" up --name tmux-ahead --slowdown 500; echo code $?")
	lab.tmux("send-keys", "-t", "lab", "Enter")
	lab.see("help lists the commands")
	lab.enter("sh touch " + started + "; until [ -e " + over + " ]; do sleep 0.02; done")
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(started); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the line is not done:\n%s", lab.screen())
		}
	}
	for _, word := range []string{"one", "two", "three", "four"} {
		lab.tmux("send-keys", "-t", "lab", "-l", "sh echo [$((6*7))"+word+"]")
		lab.tmux("send-keys", "-t", "lab", "Enter")
	}
	if err := os.WriteFile(over, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lab.see("[42four]")
	last := 0
	for _, word := range []string{"one", "two", "three", "four"} {
		at := strings.Index(lab.screen(), "[42"+word+"]")
		if at <= last {
			t.Fatalf("%s is not done, or not in its turn:\n%s", word, lab.screen())
		}
		last = at
	}
	// Pasted at the prompt, at once.
	lab.tmux("set-buffer", "sh echo [$((6*8))five]\nsh echo [$((6*8))six]\nsh echo [$((6*8))seven]\n")
	lab.tmux("paste-buffer", "-t", "lab")
	for _, word := range []string{"five", "six", "seven"} {
		lab.see("[48" + word + "]")
	}
	lab.enter("exit")
	lab.see("code ")
}
