//go:build linux

package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pausenet/pausenet/orchestrator/engine"
)

// TestHabits does the lines that users of Mininet and containerlab know.
func TestHabits(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", folder)
	t.Setenv("DISPLAY", "")
	t.Setenv("TMUX", "")
	s, out := newShell(t)
	for _, c := range []struct{ line, prints, fails string }{
		{"time ping h0 h1", `0% dropped \(2/2 received\)\n.*\ntook \S+s of wall-clock time, \S+s of virtual time\n`, ""},
		{"time noecho time h1 echo a", `a\ntook .*\ntook `, ""},
		{"time", "", "usage: time LINE"},
		{"time ping h0", "took ", "usage: ping HOST HOST"},
		{"noecho nodes", "hosts: h0", ""},
		{"pingpairfull", `^h0 -> h1=\S+us\nh1 -> h0=\S+us\n0% dropped`, ""},
		{"pingpair h0", "", "usage: pingpair"},
		{"switch spine0 stop", "", ""},
		{"links", `leaf0-eth5<->spine0-eth1 .* down\nleaf0-eth6<->spine1-eth1 .* up\n`, ""},
		{"ping h0 h5", `0% dropped`, ""}, // by spine1
		{"switch spine0 stop", "", `spine0 is already stopped \(start it with "switch spine0 start"\)`},
		{"link leaf0 spine0 up", "", `spine0 is stopped \(start it with "switch spine0 start"\)`},
		{"switch leaf0 stop", "", ""},
		{"switch spine0 start", "", ""},
		{"links", `leaf0-eth5<->spine0-eth1 .* down\n`, ""}, // leaf0's affair now
		{"switch leaf0 start", "", ""},
		{"switch leaf0 start", "", "leaf0 is not stopped"},
		{"links", `leaf0-eth5<->spine0-eth1 +40Gbps +1us +up\n`, ""},
		{"switch h0 stop", "", "h0 is a host"},
		{"switch leaf0", "", `usage: switch SWITCH stop\|start`},
		{"link leaf0 spine0 loss=1% rate=10Gbps", "", ""},
		{"links", `leaf0-eth5<->spine0-eth1 +10Gbps +1us +up loss=1% rate=10Gbps\n`, ""},
		{"link leaf0 spine0 normal", "", ""},
		{"ping h0 h5", `0% dropped`, ""},
		{"xterm h0 h99", "", `no node "h99"`},
		{"py 1+1", "", `unknown command "py": .*pausenet.up\(\).*pausenet.mininet`},
		{"capture leaf0", "", `unknown command "capture": use sudo pausenet capture`},
		{"ls -l", "", `unknown command or node "ls": to run a program, use h0 ls on a node, or sh ls outside of the fabric`},
		{"help px", `pausenet.up\(\)`, ""},
		{"iperfudp", "", "usage: iperfudp RATE"},
		{"iperfudp fast", "", "fast.*as in iperfudp 5Gbps"},
		{"iperfudp 100bps", "", "less than 1 bps by the wall clock"},
		{"quit now", "", "usage: quit"},
		{"links spine0", "", "usage: links"},
		{"dump h0", "", "usage: dump"},
		{"pingall h0", "", "usage: pingall"},
		{"top 5", "", "usage: top"},
	} {
		expect(t, s, c.line, c.prints, c.fails)
	}
	s.Fabric.Name = "test-habits" // which no window is opened for
	expect(t, s, "xterm h0", "", `no display .* tmux`)
	s.Fabric.Name = ""
	if done, err := s.Do("time quit"); !done || err != nil {
		t.Errorf("quit: %v, %v", done, err)
	}
	for line, want := range map[string][]string{
		"time pin":        {"time pingall ", "time pingallfull ", "time pingpair ", "time pingpairfull ", "time ping "},
		"switch sp":       {"switch spine0 ", "switch spine1 "},
		"switch leaf0 st": {"switch leaf0 stop ", "switch leaf0 start "},
		"noecho link l":   {"noecho link leaf0 ", "noecho link leaf1 "},
		"xterm h0 h": {
			"xterm h0 h1 ", "xterm h0 h2 ", "xterm h0 h3 ", "xterm h0 h4 ", "xterm h0 h5 ", "xterm h0 h6 ",
			"xterm h0 h7 ",
		},
		"iperfudp 1Gbps h": {
			"iperfudp 1Gbps h0 ", "iperfudp 1Gbps h1 ", "iperfudp 1Gbps h2 ", "iperfudp 1Gbps h3 ",
			"iperfudp 1Gbps h4 ", "iperfudp 1Gbps h5 ", "iperfudp 1Gbps h6 ", "iperfudp 1Gbps h7 ",
		},
	} {
		if got := s.Complete(line); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	out.Reset()
	if err := s.Lines(strings.NewReader("noecho nodes\n")); err != nil || strings.Contains(out.String(), "noecho") {
		t.Errorf("%v: %s", err, out)
	}
}

// expect runs a line and checks its output and its error by two patterns.
func expect(t *testing.T, s *Shell, line, prints, fails string) {
	t.Helper()
	out := s.Out.(fmt.Stringer)
	s.Out.(interface{ Reset() }).Reset()
	_, err := s.Do(line)
	if fails == "" && err != nil || fails != "" && (err == nil || !regexp.MustCompile(fails).MatchString(err.Error())) {
		t.Errorf("%s: %v, want %q", line, err, fails)
	}
	if !regexp.MustCompile(prints).MatchString(out.String()) {
		t.Errorf("%s prints\n%swant %q", line, out, prints)
	}
}

// TestCustom does commands of the user's own: lines with arguments, and programs.
func TestCustom(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", folder)
	commands := filepath.Join(folder, "pausenet", "commands")
	if err := os.MkdirAll(commands, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"probe":  "# ping between two hosts\nping $1 $2\nh1 sh -c 'v=$$$$; echo ${v:+set} $1'\n",
		"all":    "h1 echo $@.\n",
		"broken": "nodes\nlnk\n",
		"again":  "again\n",
		"nodes":  "never\n",
		".dot":   "never\n",
		"edit~":  "never\n",
	} {
		if err := os.WriteFile(filepath.Join(commands, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(commands, "mine"), []byte("#!/bin/sh\necho $1 on $PAUSENET_FABRIC.\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	s, _ := newShell(t)
	s.Fabric.Name = "test-custom"
	for _, c := range []struct{ line, prints, fails string }{
		{"probe h0 h5", `^h0 -> h5\nh5 -> h0\n(.*\n)+set h0\n$`, ""},
		{"probe h0", "", "probe takes 2 arguments, not 1"},
		{"probe h0 h1 h2", "", "probe takes 2 arguments, not 3"},
		{"all a b c", `^a b c\.\n$`, ""},
		{"broken", "hosts: ", `^broken: 1 of 2 lines failed: line 2: unknown command or node "lnk": did you mean "link"`},
		{"again", "", "more than 8 deep"},
		{"nodes", "hosts: ", ""},
		{"mine x", `^x on test-custom\.\n$`, ""},
		{"help", `(?m)^  probe +ping between two hosts$(\n.*)*pausenet.up\(\)`, ""},
		{"help probe", `^probe\n  ping between two hosts\n$`, ""},
		{"help mine", `your program .*/mine`, ""},
		{"prob h0 h1", "", `did you mean "probe"`},
		{"edit~", "", "unknown command or node"},
	} {
		expect(t, s, c.line, c.prints, c.fails)
	}
	if got, want := s.Complete("pro"), []string{"probe "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	s.Fabric.Name = ""
}

// TestIperfUDP measures the loss of datagrams, and how many arrive per second when the sender exceeds the link's rate.
func TestIperfUDP(t *testing.T) {
	needIperf(t)
	s, out := newShell(t)
	expect(t, s, "iperfudp 1Gbps h0 h5 1", `^h0 -> h5 UDP: sent \S+ Gbps of virtual time, received \S+ Gbps: \d+ of \d+ datagrams lost \(.* %\); jitter \S+ of virtual time\n$`, "")
	out.Reset()
	if _, err := s.Do("iperfudp 20Gbps h0 h5 1"); err != nil {
		t.Fatal(err)
	}
	_, rate, _ := strings.Cut(out.String(), "received ")
	rate, _, _ = strings.Cut(rate, " ")
	if received, err := strconv.ParseFloat(rate, 64); err != nil || received > 10 { // of the host's link
		t.Errorf("received %q Gbps:\n%s", rate, out)
	}
}

// TestIperfUDPWhileSlowdownRises delays the engine while datagrams are sent, until the slow-down rises. The reported
// sending rate is the requested one all the same.
func TestIperfUDPWhileSlowdownRises(t *testing.T) {
	needIperf(t)
	s, out := newShellAt(t, 0)
	rose := make(chan error, 1)
	go func() {
		for first := s.Fabric.Slowdown(); s.Fabric.Slowdown() == first; {
			if err := s.Fabric.Do(func(*engine.Engine) error { time.Sleep(20 * time.Millisecond); return nil }); err != nil {
				rose <- err
				return
			}
		}
		rose <- nil
	}()
	if _, err := s.Do("iperfudp 1Gbps h0 h5 2"); err != nil {
		t.Fatal(err)
	}
	if err := <-rose; err != nil {
		t.Fatal(err)
	}
	_, rate, _ := strings.Cut(out.String(), "UDP: sent ")
	rate, _, _ = strings.Cut(rate, " ")
	if sent, err := strconv.ParseFloat(rate, 64); err != nil || sent > 1.1 {
		t.Errorf("sent %q Gbps of 1:\n%s", rate, out)
	}
}
