//go:build linux

package shell

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newShell returns a shell of a small fabric with three flows of a scenario, and the shell's output.
func newShell(t testing.TB) (*Shell, *bytes.Buffer) {
	t.Helper()
	return newShellAt(t, 200)
}

// newShellAt does the work of newShell for a fabric with a slow-down. 0 means one that fits the machine, and rises.
func newShellAt(t testing.TB, slowdown float64) (*Shell, *bytes.Buffer) {
	t.Helper()
	testenv.NeedRoot(t)
	const loaded = `
topology: small
flows:
  - {tag: there, from: h0, to: h5, size: 20KB}
  - {tag: there, from: h1, to: h6, size: 20KB}
  - {tag: back, from: h5, to: h0, size: 20KB}
`
	reread := func(sets []string) (*scenario.Scenario, error) {
		return scenario.Reading{Live: true, Sets: sets}.Parse("lab.yaml", []byte(loaded))
	}
	s, err := reread(nil)
	if err != nil {
		t.Fatal(err)
	}
	made, err := live.NewSetup(s, "dcqcn")
	if err != nil {
		t.Fatal(err)
	}
	f, err := live.BringUp(made, live.Options{Slowdown: slowdown, Seed: 1, Reread: reread})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		v, err := f.Close()
		if err != nil {
			t.Error(err)
		}
		for _, reason := range v.Reasons {
			if !strings.Contains(reason, "machine") && !strings.Contains(reason, "round trip") &&
				!strings.Contains(reason, "programs sent") && !strings.Contains(reason, "a program sent") {
				t.Error(reason)
			}
		}
	})
	out := &bytes.Buffer{}
	return &Shell{Fabric: f, Out: out}, out
}

func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		"":                           nil,
		" \t":                        nil,
		"# all of it":                nil,
		"a b\tc":                     {"a", "b", "c"},
		"a 'b c' \"d 'e\"":           {"a", "b c", "d 'e"},
		"a # b":                      {"a"},
		"a#b c":                      {"a#b", "c"},
		"a ''":                       {"a", ""},
		"x'y z'w":                    {"xy zw"},
		"set s.w={a: 1, b: 2}":       {"set", "s.w={a:", "1,", "b:", "2}"},
		"h1 sh -c \"echo '# no'\"\r": {"h1", "sh", "-c", "echo '# no'"},
	} {
		if got, err := split(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", line, got, err, want)
		}
	}
	for _, line := range []string{"'", "a \"b", "a 'b\""} {
		if got, err := split(line); err == nil {
			t.Errorf("%q: %q", line, got)
		}
	}
}

// TestNodeShell checks that a node's folder, variables and jobs survive between lines, each node has its own, and a shell
// that ended starts again.
func TestNodeShell(t *testing.T) {
	s, _ := newShell(t)
	var err error
	if s.Programs, err = os.Create(filepath.Join(t.TempDir(), "printed")); err != nil {
		t.Fatal(err)
	}
	defer s.Programs.Close()
	defer s.Close()
	for _, c := range []struct{ line, prints string }{
		{"h0 pwd -P", ""}, // without a shell, like today: this process's folder
		{"h0 cd /usr/lib", ""},
		{"h0 pwd", "/usr/lib\n"},
		{"h0 export A='one two'", ""},
		{"h0 B=$A-3", ""},
		{"h0 echo \"$A\" $B", "one two one two-3\n"},
		{"h0 echo h1 'a  b' \"it's\"", "10.0.0.2 a  b it's\n"}, // names are addresses, as before
		{"h1 echo \"<$A>\"; pwd | grep -c usr", "<>\n0\n"},
		{"h0 sleep 1000 & echo started", "started\n"},
		{"h0 jobs | grep -c 'sleep 1000'", "1\n"},
		{"h0 kill $!; wait", ""},
		{"h0 jobs", ""},
		{"h0 cd /nonexistent 2>/dev/null; echo $?", "1\n"},
		{"h0 if", "*"}, // a mistake of syntax does not end it
		{"h0 echo $B", "one two-3\n"},
		{"h0 { cat <&3; } 2>/dev/null || echo closed", "closed\n"},
		{"h0 exit", ""},
		{"h0 echo \"<$A>\"", "<>\n"},
	} {
		before, err := s.Programs.Seek(0, 2)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Do(c.line); err != nil {
			t.Errorf("%s: %v", c.line, err)
		}
		all, err := os.ReadFile(s.Programs.Name())
		if err != nil {
			t.Fatal(err)
		}
		if got := string(all[before:]); got != c.prints && c.prints != "*" && c.line != "h0 pwd -P" {
			t.Errorf("%s prints %q, want %q", c.line, got, c.prints)
		}
	}
	if _, err := s.Do("h0 kill -9 $$"); err == nil || !strings.Contains(err.Error(), "the shell on h0 has ended: signal: killed") {
		t.Errorf("a killed shell: %v", err)
	}
}

// TestVerbs runs lines and checks their output or error.
func TestVerbs(t *testing.T) {
	s, out := newShell(t)
	for _, c := range []struct{ line, prints, fails string }{
		{"nodes", "hosts: h0 h1", ""},
		{"net", "leaf0-eth5:spine0-eth1", ""},
		{"links", "leaf0-eth5<->spine0-eth1", ""},
		{"intfs", "leaf0: lo,leaf0-eth1", ""},
		{"dump", "XOFF 320KB, XON 318KB, headroom ", ""},
		{"ping h0 h1", "0% dropped (2/2 received)", ""},
		{"ping h0 h0", "", "h0 appears twice"},
		{"flow h0 h5 10KB", "h0 -> h5 10KB: FCT", ""},
		{"flow h0 h5 10KB &", "", ""},
		{"flow h0", "", "usage: flow FROM TO SIZE"},
		{"flow h0 h5 10KB qps=4", "h0 -> h5 10KB: FCT", ""},
		{"flow h0 h5 10KB qps=0", "", "qps=0: expected 1 to 128 QPs"},
		{"flow h0 h5 10KB qps=x", "", "qps=x: expected 1 to 128 QPs"},
		{"flow h0 h5 10KB priority=4", "", "unknown option priority=4: expected cc=NAME or qps=N"},
		{"set switch.load_balancing.mode=spray", "", "load_balancing.mode stays as it is while a fabric works: " +
			"bring it up with --set switch.load_balancing.mode="},
		{"flow h0 h5 ten", "", "ten"},
		{"flow h0 h0 10KB", "", "name two hosts"},
		{"flow h0 leaf0 10KB", "", "leaf0 is a switch"},
		{"flow h0 h5 10KB cc=hpcc", "", "bring it up with --cc hpcc"},
		{"incast 3 h0 10KB", "3 flows: slowdown mean", ""},
		{"incast 3 h0 10KB qps=2", "3 flows: slowdown mean", ""},
		{"incast 9 h0 10KB", "", "expected 1 to 7"},
		{"start", "3 flows: slowdown mean", ""},
		{"start back", "h5 -> h0 20KB: FCT", ""},
		{"start forth", "", "expected there, back"},
		{"top", "virtual time", ""},
		{"top now", "", "usage: top"},
		{"link leaf0 spine0 loss=1%", "", ""},
		{"link leaf0 spine0 normal", "", ""},
		{"link leaf0 spine0", "", "usage: link A [B]"},
		{"link leaf0 h5 down", "", "no link between leaf0 and h5"},
		{"host h3 receive=1Gbps", "", ""},
		{"host h3 normal", "", ""},
		{"host h3", "", "usage: host HOST"},
		{"set leaf0.pfc.watchdog={detect: 1ms, restore: 2ms}", "", ""},
		{"set leaf0.pfc.watchdog={detect: 1ms, restor: 2ms}", "", "restor"},
		{"set leaf0.pfc.watchdog=off", "", ""},
		{"set leaf0", "", "NODE.SETTING=VALUE"},
		{"h1 echo h2", "10.0.0.3", ""},
		{"h1 echo h2 | tr 2 x", "hx", ""}, // as it is written: /etc/hosts has the names
		{"h1", "", "h1 COMMAND"},
		{"sh echo $((6*7))", "42", ""},
		{`sh printf '%s.' "a b" c`, "a b.c.", ""},
		{"help", "link A [B] down|up|FAULT", ""},
		{"help link", "reroute=never", ""},
		{"help lnk", "", `did you mean "link"?`},
		{"lnk", "", `did you mean "link"?`},
		{"'", "", "unclosed quote"},
		{"source /nowhere", "", "no such file"},
		{"source /dev/zero", "", "is a device, not a file"},
	} {
		out.Reset()
		_, err := s.Do(c.line)
		if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%s: %v, want %q", c.line, err, c.fails)
		}
		if !strings.Contains(out.String(), c.prints) {
			t.Errorf("%s prints\n%swant %q", c.line, out, c.prints)
		}
	}
	for i := range verbs {
		if v := &verbs[i]; v.help == "" {
			t.Errorf("%s has no help", v.name)
		}
	}
	if done, err := s.Do("exit"); !done || err != nil {
		t.Errorf("exit: %v, %v", done, err)
	}
}

// TestBackground checks that the results of background flows are printed per line once all of its flows have ended, and
// that unfinished flows are listed when the input ends.
func TestBackground(t *testing.T) {
	s, out := newShell(t)
	if err := s.Lines(strings.NewReader("incast 3 h0 1MB &\nflow h1 h2 1MB &\nwait\nincast 2 h0 20GB &\nnodes\n")); err != nil {
		t.Fatal(err)
	}
	// Whichever ends first, and whether it ends before wait is read or while it waits: both are reported before the
	// next line is.
	waited, after, ok := strings.Cut(out.String(), "pausenet> incast 2 h0 20GB &\n")
	if !ok || !strings.Contains(waited, "pausenet> wait\n") {
		t.Fatalf("the lines are not in\n%s", out)
	}
	for _, want := range []string{
		"\nincast 3 h0 1MB & has ended:\nh", " -> h0 1MB: FCT ", "\n3 flows: slowdown mean ",
		"\nflow h1 h2 1MB & has ended:\nh1 -> h2 1MB: FCT ",
	} {
		if !strings.Contains(waited, want) {
			t.Errorf("no %q before the line after wait in\n%s", want, out)
		}
	}
	if want := "\nincast 2 h0 20GB &: 2 of 2 flows still running (wait waits for them)\n"; !strings.Contains(after, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
	// The prompt tells of them, too, without wait.
	out.Reset()
	s.background = nil
	if _, err := s.Do("flow h3 h4 10KB &"); err != nil {
		t.Fatal(err)
	}
	f := s.background[0]
	r := <-f.ended
	f.ended <- r
	s.tell()
	if !strings.HasPrefix(out.String(), "flow h3 h4 10KB & has ended:\nh3 -> h4 10KB: FCT ") || len(s.background) != 0 {
		t.Errorf("%d left; printed\n%s", len(s.background), out)
	}
}

func needIperf(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("iperf3"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("this test needs iperf3: apt-get install iperf3")
		}
		t.Skip("this test needs iperf3: apt-get install iperf3")
	}
}

// TestIperf checks that iperf ends when it is interrupted, as from a shell in another terminal, and leaves no server on
// the host. It also checks that iperf refuses a test that would not end or would use no link.
func TestIperf(t *testing.T) {
	needIperf(t)
	s, out := newShell(t)
	for line, fails := range map[string]string{
		"iperf h0 h5 0":  "expected at least 1",
		"iperf h0 h5 -1": "expected at least 1",
		"iperf h0 h0":    "name two hosts",
		"iperf h0":       "usage: iperf",
	} {
		if _, err := s.Do(line); err == nil || !strings.Contains(err.Error(), fails) {
			t.Errorf("%s: %v; want %q", line, err, fails)
		}
	}
	for _, after := range []time.Duration{0, 400 * time.Millisecond} { // before there is a server, and while data flows
		interrupted := make(chan struct{})
		s.Interrupted = interrupted
		time.AfterFunc(after, func() { close(interrupted) })
		if _, err := s.Do("iperf h0 h5 3600"); err == nil || !strings.Contains(err.Error(), "interrupted") {
			t.Errorf("interrupted after %v: %v", after, err)
		}
	}
	s.Interrupted = make(chan struct{})
	if _, err := s.Do("iperf h0 h5 1"); err != nil {
		t.Errorf("after one that was interrupted: %v", err)
	}
	if !strings.Contains(out.String(), "h0 -> h5 TCP: ") {
		t.Errorf("no rate:\n%s", out)
	}
}

// TestInterrupt checks that Ctrl-C ends a line's wait: for answers to pings that do not arrive, and for a flow. The
// wait command then waits for that flow, and stop ends it.
func TestInterrupt(t *testing.T) {
	s, out := newShell(t)
	interrupt := func(line, want string) {
		t.Helper()
		interrupted := make(chan struct{})
		s.Interrupted = interrupted
		time.AfterFunc(50*time.Millisecond, func() { close(interrupted) })
		if _, err := s.Do(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
	interrupt("flow h0 h5 100GB", "1 of 1 flows still running")
	if len(s.background) != 1 || s.background[0].left != 1 {
		t.Errorf("wait would wait for %v", s.background)
	}
	interrupt("wait", "flow h0 h5 100GB: 1 of 1 flows still running")
	s.Interrupted = nil
	for _, line := range []string{"stop", "wait", "stop", "switch leaf1 stop"} {
		if _, err := s.Do(line); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); !regexp.MustCompile(`(?m)^flow h0 h5 100GB has ended:\nh0 -> h5 .*B of 100GB, stopped: FCT .*\nno flow is running\n`).MatchString(got) {
		t.Errorf("of the stopped flow:\n%s", got)
	}
	if _, err := s.Do("stop h0"); err == nil || !strings.Contains(err.Error(), "expected a flow's number") {
		t.Error(err)
	}
	interrupt("pingall", live.ErrInterrupted.Error())
	s.background = nil
}

func TestComplete(t *testing.T) {
	s, _ := newShell(t)
	for line, want := range map[string][]string{
		"pi":                     {"pingall ", "pingallfull ", "pingpair ", "pingpairfull ", "ping "},
		"leaf":                   {"leaf0 ", "leaf1 "},
		"link leaf0 sp":          {"link leaf0 spine0 ", "link leaf0 spine1 "},
		"link leaf0 spine0 d":    {"link leaf0 spine0 down ", "link leaf0 spine0 delay="},
		"host h3 pf":             {"host h3 pfc-storm "},
		"host h3 pfc-storm o":    {"host h3 pfc-storm on ", "host h3 pfc-storm off "},
		"host le":                nil,
		"set l":                  {"set leaf0.", "set leaf1."},
		"set leaf0.pfc.xo":       {"set leaf0.pfc.xoff=", "set leaf0.pfc.xon=", "set leaf0.pfc.xoff_to_xon="},
		"start ":                 {"start there ", "start back ", "start & "},
		"flow h0 h5 1MB cc=dcqc": {"flow h0 h5 1MB cc=dcqcn "},
		"flow h0 h5 1MB q":       {"flow h0 h5 1MB qps="},
		"flow h7":                {"flow h7 "},
		"h1 ping -c 1 h7":        {"h1 ping -c 1 h7 "},
		"help no":                {"help nodes ", "help noecho "},
		"nowhere ":               nil,
		"source shell_test.g":    {"source shell_test.go "},
		"link leaf9 ":            nil,
	} {
		if got := s.Complete(line); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// TestLongLine checks that a line that is too long to be read is reported by its number, and counts as failed.
func TestLongLine(t *testing.T) {
	long := strings.Repeat("a", 1<<16) + "\nsecond\n"
	for text, want := range map[string]string{
		"good\n" + long:           "1 of 2 lines failed: line 2: longer than 65535 bytes; this line and those after it were not run",
		"bad\n" + long:            "2 of 2 lines failed, first line 1: bad",
		strings.Repeat("a", 5000): "",
	} {
		var out bytes.Buffer
		s := &session{
			out: &out, tell: func() {}, farewell: func() {}, ended: func() bool { return false },
			do: func(line string) (bool, error) {
				if line == "bad" {
					return false, errors.New(line)
				}
				return false, nil
			},
		}
		err := s.lines(strings.NewReader(text), &Tally{})
		if got := fmt.Sprint(err); got != want && (err != nil || want != "") {
			t.Errorf("%q, want %q", got, want)
		}
		if said := strings.Contains(out.String(), "line 2: longer"); said != (want != "") {
			t.Errorf("printed %.100q", out.String())
		}
	}
}

// TestHistory checks that lines are available in the next session, that a line entered twice is stored once, and that
// the number of lines is limited.
func TestHistory(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	h := openHistory()
	for _, line := range []string{"nodes", "nodes", "net"} {
		h.add(line)
	}
	if h := openHistory(); !slices.Equal(h.lines, []string{"nodes", "net"}) {
		t.Errorf("%q", h.lines)
	}
	path := filepath.Join(dir, "pausenet", "history")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("x\n", 2*mostHistory)+"last\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h = openHistory()
	if n := len(h.lines); n != mostHistory || h.lines[n-1] != "last" {
		t.Errorf("%d lines", n)
	}
	if data, err := os.ReadFile(path); err != nil || bytes.Count(data, []byte("\n")) != mostHistory {
		t.Errorf("the file was not cut: %v", err)
	}
	t.Setenv("XDG_STATE_HOME", "/proc/nowhere")
	openHistory().add("nodes") // and goes on without
}

// FuzzLine does lines on a fabric, but those that run programs or wait: they are done or refused, and the fabric lives.
func FuzzLine(f *testing.F) {
	for _, line := range []string{
		"flow h0 h5 1KB cc=dcqcn &", "incast 3 h1 1KB &", "link leaf0 spine0 down reroute=1us",
		"link leaf0 spine0 loss=1% delay=5us rate=1Gbps ber=1e-9",
		"link leaf1 spine1 normal", "host h3 receive=1Gbps xoff=1KB", "host h3 pfc-storm on 3,4 interval=9us",
		"set leaf0.pfc.xoff=32KB",
		"set switch.pfc.watchdog={detect: 1us, restore: 1us, action: forward}", "help link", "start back &", "dump",
		"set leaf0.ecn={kmin: 1KB}", "links 'a' # b",
	} {
		f.Add(line)
	}
	s, out := newShell(f)
	f.Fuzz(func(t *testing.T, line string) {
		words, _ := split(line)
		_ = s.Complete(line)
		for len(words) > 0 && isBefore(words[0]) {
			line = behind(line)
			words, _ = split(line)
		}
		if len(words) == 0 {
			return
		}
		switch words[0] {
		case "sh", "source", "iperf", "iperfudp", "pingall", "pingallfull", "pingpair", "pingpairfull", "ping", "top", "exit",
			"quit", "xterm":
			return
		case "flow", "incast", "start":
			line += " &"
			if len(words) > 3 && len(words[3]) > 3 { // GBs would outlive the test
				return
			}
		}
		if s.Fabric.Plan.NodeByName(words[0]) != nil {
			return
		}
		out.Reset()
		_, _ = s.Do(line)
	})
}

// TestNodeCommand checks that hosts' names become addresses: of IPv4, or of IPv6 for a command that needs it. The name
// of the program itself stays, and so does text for a shell.
func TestNodeCommand(t *testing.T) {
	address := func(name string) string {
		return map[string]string{"h5": "10.0.0.6", "leaf0": ""}[name]
	}
	for line, want := range map[string]string{
		"h1 ping h5":           "ping 10.0.0.6",
		"h1 ping -6 -c 1 h5":   "ping -6 -c 1 fd00::a00:6",
		"h1 traceroute6 h5":    "traceroute6 fd00::a00:6",
		"h1 ping leaf0":        "ping leaf0",
		"h1 h5":                "h5",
		"h1 ping -6 h5 | tail": "sh -c ping -6 h5 | tail",
	} {
		if got := strings.Join(nodeCommand(strings.Fields(line)[1:], line, address), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
