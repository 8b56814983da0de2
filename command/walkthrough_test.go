//go:build linux

package command

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
)

var (
	number = regexp.MustCompile(`\b\d+(\.\d+)?((ns|us|ms|s)\b| [KMG]?bps)?`)
	blanks = regexp.MustCompile(`\s+`)
)

// said returns the output for each line typed in a session, without numbers and spacing. Flows of one size may end in
// any order. The number of answers that a ping waits for depends on timing, and so does the number in flight (pipe).
func said(session string) (typed []string, answers [][]string) {
	for line := range strings.Lines(session) {
		line = strings.TrimSpace(line)
		if command, found := strings.CutPrefix(line, "pausenet> "); found {
			typed, answers = append(typed, command), append(answers, nil)
		} else if n := len(answers); n > 0 && line != "" {
			line = blanks.ReplaceAllString(number.ReplaceAllString(line, "#"), " ")
			line = strings.TrimSuffix(strings.Replace(line, "# retransmissions", "# retransmission", 1), ", pipe #")
			if !strings.HasPrefix(line, "# bytes from ") || !slices.Contains(answers[n-1], line) {
				answers[n-1] = append(answers[n-1], line)
			}
		}
	}
	for _, lines := range answers {
		slices.Sort(lines)
	}
	return typed, answers
}

// pageSession returns the session in a page, after a text: the lines typed, and their output.
func pageSession(t *testing.T, page, after string) (typed []string, want [][]string) {
	document, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, session, _ := strings.Cut(string(document), after)
	session, _, _ = strings.Cut(session, "```\n")
	if typed, want = said(session); len(typed) < 10 {
		t.Fatalf("the session of %s is %q", page, typed)
	}
	return typed, want
}

// typeLines types lines in the shell that a command opens, and returns their output, and the whole as it was.
func typeLines(t *testing.T, lines []string, dir string, command ...string) (got [][]string, whole string) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(strings.Join(lines, "\n")+"\n")
	out, err := cmd.CombinedOutput()
	typed, got := said(string(out))
	if !slices.Equal(typed, lines) {
		t.Fatalf("%v: the lines done are %q\n%s", err, typed, out)
	}
	return got, string(out)
}

// TestDemo types the lines of examples/demo, and expects flows, PAUSE frames and the run as in docs/demo.md, and the
// ingress pipeline where tc shows it.
func TestDemo(t *testing.T) {
	testenv.NeedRoot(t)
	t.Parallel()
	lines, err := os.ReadFile("../examples/demo")
	if err != nil {
		t.Fatal(err)
	}
	typed, want := pageSession(t, "../docs/demo.md", "$ sudo")
	if text := strings.Join(typed, "\n") + "\n"; text != string(lines) {
		t.Fatalf("docs/demo.md has the lines\n%s", text)
	}
	dir, pausenet := program(t)
	for i := range typed { // the fabric of this test has another name
		typed[i] = strings.NewReplacer("bin/pausenet", pausenet, "demo-", "test-demo-", "--fabric demo", "--fabric test-demo").
			Replace(typed[i])
	}
	got, whole := typeLines(t, typed, dir, pausenet, "up", "incast", "--cc", "none", "--plane", "kernel", "--slowdown", "500",
		"--name", "test-demo", "--netns-names")
	for i, line := range typed {
		if got, want := strings.Join(got[i], "\n"), strings.Join(want[i], "\n"); (line == "start" ||
			strings.Contains(line, " counters ")) && got != want {
			t.Errorf("%s: got\n%s\ndocs/demo.md has\n%s", line, got, want)
		}
	}
	for _, shown := range []string{
		"demo-h4 test-demo-s0", "s0-eth5@if6 +UP", "dev s0-eth5 parent ffff:fff1 ingress_block 1", "name pausenet_ingres",
		`s0-eth4( +0){3} +[1-9]`, "kernel and wasm have equal fingerprints",
	} {
		if !regexp.MustCompile(shown).MatchString(whole) {
			t.Errorf("%q is not in\n%s", shown, whole)
		}
	}
}

// TestWalkthrough types the lines of docs/walkthrough.md and expects the output shown there, except for numbers.
func TestWalkthrough(t *testing.T) {
	testenv.NeedRoot(t)
	t.Parallel()
	for _, program := range []string{"ping", "iperf3", "tcpdump"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") == "" {
			t.Skipf("this test needs %s: apt-get install %s", program, program)
		}
	}
	dir, pausenet := program(t)
	typed, want := pageSession(t, "../docs/walkthrough.md", "```\n")
	if typed[len(typed)-1] != "exit" {
		t.Fatalf("the session of docs/walkthrough.md is %q", typed)
	}
	got, _ := typeLines(t, typed, dir, pausenet, "up", "--name", "test-walkthrough", "--slowdown", "200")
	for i := range typed[:len(typed)-1] { // a busy machine has another verdict
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("%s: got\n  %s\nthe document has\n  %s", typed[i], strings.Join(got[i], "\n  "),
				strings.Join(want[i], "\n  "))
		}
	}
	if text := strings.Join(got[len(got)-1], "\n"); !strings.Contains(text, "checks: ") ||
		strings.Contains(text, "conserved") {
		t.Error(text)
	}
}
