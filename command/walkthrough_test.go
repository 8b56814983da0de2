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

// TestWalkthrough types the lines of docs/walkthrough.md and expects the output shown there, except for numbers.
func TestWalkthrough(t *testing.T) {
	testenv.NeedRoot(t)
	t.Parallel()
	for _, program := range []string{"ping", "iperf3", "tcpdump"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") == "" {
			t.Skipf("this test needs %s: apt-get install %s", program, program)
		}
	}
	document, err := os.ReadFile("../docs/walkthrough.md")
	if err != nil {
		t.Fatal(err)
	}
	_, session, _ := strings.Cut(string(document), "```\n")
	session, _, _ = strings.Cut(session, "```\n")
	typed, want := said(session)
	if len(typed) < 10 || typed[len(typed)-1] != "exit" {
		t.Fatalf("the session of docs/walkthrough.md is %q", typed)
	}
	dir, pausenet := program(t)
	cmd := exec.Command(pausenet, "up", "--name", "test-walkthrough", "--slowdown", "200")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(strings.Join(typed, "\n")+"\n")
	out, err := cmd.CombinedOutput()
	again, got := said(string(out))
	if !slices.Equal(again, typed) {
		t.Fatalf("%v: the lines done are %q\n%s", err, again, out)
	}
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
