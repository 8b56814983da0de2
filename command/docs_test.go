package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/pausenet/pausenet/internal/testenv"
)

// documented matches a command of a document's session, with its output.
var documented = regexp.MustCompile(`(?m)^\$ (?:bin/)?pausenet ((?:run|report|sweep|validate|rerun|bound|show|why|compare host\S*) .*)\n((?:[^$` + "`" + `\n].*\n|\n)*)`)

// made matches a command that writes a file for later commands.
var made = regexp.MustCompile(`(?m)^\$ (?:bin/)?pausenet (cc new \S+)`)

// evaluated matches a command that reads the results of the document's runs, with its output.
var evaluated = regexp.MustCompile(`(?m)^\$ (awk .*)\n((?:[^$` + "`" + `].*\n)*)`)

// TestDocumentedRuns checks that runs, sweeps, validations, bounds, flows' times and resolved settings print what the
// documents show, but for the wall-clock time and the plane.
func TestDocumentedRuns(t *testing.T) {
	testenv.WholeScenario(t)
	t.Parallel()
	_, pausenet := program(t)
	runs, evaluations := 0, 0
	for _, document := range []string{
		"../README.md", "../docs/scenarios.md", "../docs/faults.md", "../docs/lab.md",
		"../docs/why.md", "../docs/experiment.md", "../docs/reports.md", "../docs/compare.md",
	} {
		data, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for _, session := range made.FindAllStringSubmatch(string(data), -1) {
			c := exec.Command(pausenet, strings.Fields(session[1])...)
			c.Dir = dir
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%s: pausenet %s: %v\n%s", document, session[1], err, out)
			}
		}
		for _, session := range documented.FindAllStringSubmatch(string(data), -1) {
			arguments, lines := strings.Fields(session[1]), lasting
			if arguments[0] == "validate" || arguments[0] == "rerun" {
				lines = everyLine
			}
			printed := lines(session[2])
			if len(printed) == 0 && arguments[0] != "run" { // whose results a later command may read
				continue
			}
			runs++
			if name, isFile := strings.CutSuffix(arguments[1], ".yaml"); isFile {
				if err := os.WriteFile(filepath.Join(dir, arguments[1]), []byte(scenarioOf(t, string(data), name)),
					0o600); err != nil {
					t.Fatal(err)
				}
			}
			if arguments[0] == "run" || arguments[0] == "sweep" {
				arguments = append(arguments, "--plane", "wasm")
			}
			c := exec.Command(pausenet, arguments...)
			c.Dir = dir
			out, _ := c.CombinedOutput() // a deadlock's verdict is FAIL, and is shown
			got := "\n" + strings.Join(lines(string(out)), "\n") + "\n"
			for _, line := range printed {
				if !strings.Contains(got, "\n"+line+"\n") {
					t.Errorf("%s: pausenet %s does not print\n%s\nbut%s", document, session[1], line, got)
				}
			}
		}
		for _, session := range evaluated.FindAllStringSubmatch(string(data), -1) {
			evaluations++
			c := exec.Command("sh", "-c", session[1])
			c.Dir = dir
			if out, err := c.Output(); string(out) != session[2] {
				t.Errorf("%s: %s prints\n%s%v, not\n%s", document, session[1], out, err, session[2])
			}
		}
	}
	if runs < 8 || evaluations < 2 {
		t.Errorf("%d runs, and %d looks into their results, in the documents", runs, evaluations)
	}
}

// TestDocumentedDeadlock checks that a live fabric prints the deadlock that docs/faults.md shows, except for the times.
func TestDocumentedDeadlock(t *testing.T) {
	testenv.NeedRoot(t)
	t.Parallel()
	_, pausenet := program(t)
	data, err := os.ReadFile("../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	_, session, found := strings.Cut(string(data), "$ sudo bin/pausenet up deadlock --slowdown 500\n")
	session, _, _ = strings.Cut(session, "```")
	times := regexp.MustCompile(`\b[0-9.]+[um]s\b`)
	var typed, printed []string
	for line := range strings.Lines(session) {
		if verb, ok := strings.CutPrefix(line, "pausenet> "); ok {
			typed = append(typed, verb)
		} else {
			printed = append(printed, times.ReplaceAllString(line, "T"))
		}
	}
	if !found || len(typed) != 2 || len(printed) != 3 {
		t.Fatalf("docs/faults.md: %q print %q", typed, printed)
	}
	c := exec.Command(pausenet, "up", "deadlock", "--slowdown", "500", "--name", "docs-deadlock")
	c.Stdin = strings.NewReader(strings.Join(typed, "") + "wait\n")
	out, _ := c.CombinedOutput() // start fails, as the fabric is deadlocked
	got := times.ReplaceAllString(string(out), "T")
	for _, line := range printed {
		if !strings.Contains(got, "\n"+line) {
			t.Errorf("docs/faults.md: a deadlock does not print\n%sbut\n%s", line, got)
		}
	}
}

// TestCommandsAreDocumented checks that the tables of docs/commands.md have each verb, and each option of run.
func TestCommandsAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, c := range newRootCommand().Commands() {
		if c.Hidden {
			continue
		}
		if !regexp.MustCompile("(?m)^\\|[^|]*`" + c.Name() + "\\b").MatchString(strings.ReplaceAll(page, `\|`, "/")) {
			t.Errorf("docs/commands.md does not have %s", c.Name())
		}
		if c.Name() != "run" {
			continue
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !f.Hidden && f.Name != "json" && !strings.Contains(page, "| `--"+f.Name) {
				t.Errorf("docs/commands.md does not have run's --%s", f.Name)
			}
		})
	}
}

// lasting returns those lines of a run's tables and findings that are the same on every machine, with one blank between
// words.
func lasting(printed string) (lines []string) {
	for line := range strings.Lines(printed) {
		words := strings.Fields(line)
		if !strings.HasPrefix(line, "  ") || len(words) == 0 || words[0] == "report:" {
			continue
		}
		if last := words[len(words)-1]; len(words) > 11 && (last == "wall" || wall.MatchString(last)) {
			words = words[:len(words)-1]
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// everyLine returns the lines that are not blank, their words one blank apart.
func everyLine(printed string) (lines []string) {
	for line := range strings.Lines(printed) {
		if words := strings.Fields(line); len(words) > 0 {
			lines = append(lines, strings.Join(words, " "))
		}
	}
	return lines
}

// wall matches a wall-clock time in a table.
var wall = regexp.MustCompile(`^[0-9.]+s$`)

// scenarioOf returns the scenario of a document with this name, by its key or in its first line.
func scenarioOf(t *testing.T, document, name string) string {
	t.Helper()
	for _, part := range strings.Split(document, "```yaml\n")[1:] {
		text, _, _ := strings.Cut(part, "```")
		if strings.Contains(text, "\nname: "+name+"\n") || strings.HasPrefix(text, "# "+name+".yaml") {
			return text
		}
	}
	t.Fatalf("no scenario %s", name)
	return ""
}
