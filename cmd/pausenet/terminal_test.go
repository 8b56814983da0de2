//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pausenet/pausenet/internal/testenv"
)

// terminal is a terminal of tmux's.
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

// screen is what the terminal shows, and has shown.
func (t *terminal) screen() string { return t.tmux("capture-pane", "-p", "-J", "-S", "-", "-t", "lab") }

// see waits for a text after what has been seen so far.
func (t *terminal) see(text string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if strings.Contains(t.screen(), text) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the terminal does not show %q:\n%s", text, t.screen())
		}
	}
}

// enter types a line, once there is a prompt, on a screen that has been cleared.
func (t *terminal) enter(line string) {
	t.Helper()
	t.see("pausenet>")
	t.tmux("send-keys", "-t", "lab", "C-l")
	t.tmux("clear-history", "-t", "lab")
	t.tmux("send-keys", "-t", "lab", "-l", line)
	t.tmux("send-keys", "-t", "lab", "Enter")
}

// TestTerminal is a session at a terminal: bring-up, pingall, iperf, incast, a link down, Ctrl-C, a shell on a host, exit.
func TestTerminal(t *testing.T) {
	testenv.NeedRoot(t)
	for _, program := range []string{"tmux", "iperf3"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("this test needs %s: apt-get install %s", program, program)
			}
			t.Skipf("this test needs %s: apt-get install %s", program, program)
		}
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pausenet := filepath.Join(dir, "pausenet") // testscript.Main goes by the name
	if err := os.Symlink(self, pausenet); err != nil {
		t.Fatal(err)
	}
	lab := &terminal{T: t, socket: filepath.Join(dir, "tmux")}
	lab.tmux("new-session", "-d", "-s", "lab", "-x", "180", "-y", "50", "sh")
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", lab.socket, "kill-server").Run() })
	lab.tmux("send-keys", "-t", "lab", "-l", pausenet+" up --name tmux-lab --slowdown 500; echo code $?")
	lab.tmux("send-keys", "-t", "lab", "Enter")
	lab.see("help prints the verbs")
	lab.enter("pingall")
	lab.see("0% dropped (56/56 received)")
	lab.enter("iperf h0 h7 2")
	lab.see("Gb/s of virtual time")
	lab.enter("incast 4 h0 64KB")
	lab.see("4 flows: slowdown mean")
	lab.enter("link leaf0 spine0 down")
	lab.enter("pingall")
	lab.see("0% dropped (56/56 received)")
	lab.enter("h1 ping h2")
	lab.see("icmp_seq=2")
	lab.tmux("send-keys", "-t", "lab", "C-c")
	lab.see("packets transmitted")
	lab.enter("h1 sh")
	time.Sleep(200 * time.Millisecond) // the shell has no prompt that could be waited for
	lab.tmux("send-keys", "-t", "lab", "-l", "PS1=h1#; echo $((6*7)) h2; getent hosts h2; exit")
	lab.tmux("send-keys", "-t", "lab", "Enter")
	lab.see("42 h2")
	lab.see("10.0.0.3")
	lab.enter("exi\t")
	lab.see("verdict: ")
	lab.see("code ")
	if screen := lab.screen(); strings.Contains(screen, "conserved") || strings.Contains(screen, "panic") {
		t.Errorf("a law does not hold:\n%s", screen)
	}
}
