package internal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDecisions checks that each decision has a number of its own, a question as its title, an answer before its first
// section, and a row with number and question in the list.
func TestDecisions(t *testing.T) {
	files, err := filepath.Glob("../docs/decisions/[0-9]*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "there are no decisions")
	}
	list, err := os.ReadFile("../docs/decisions/README.md")
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, file := range files {
		name := filepath.Base(file)
		number, _, _ := strings.Cut(name, "-")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range decisionProblems(number, name, string(text), string(list)) {
			t.Errorf("%s: %s", name, problem)
		}
		if number == last {
			t.Errorf("%s: another decision has the same number", name)
		}
		last = number
	}
}

// decisionProblems returns what is wrong with a decision's page.
func decisionProblems(number, name, text, list string) (problems []string) {
	heading, rest, _ := strings.Cut(text, "\n")
	question, numbered := strings.CutPrefix(heading, "# "+number+": ")
	if !numbered || !strings.HasSuffix(question, "?") {
		problems = append(problems, `want a heading "# `+number+`: QUESTION?"`)
	}
	answer, _, _ := strings.Cut(rest, "\n#")
	if len(strings.Fields(answer)) < 10 {
		problems = append(problems, "want the answer before the first section")
	}
	if numbered && !strings.Contains(list, "\n| ["+number+"]("+name+") | "+question+" |\n") {
		problems = append(problems, "README.md has no row with this question")
	}
	return problems
}

// TestDecisionProblems breaks each rule once.
func TestDecisionProblems(t *testing.T) {
	const page = "# 001: Why?\n\nBecause of these ten words, which answer it at once.\n\n## Why\n"
	const list = "| |\n| [001](001-why.md) | Why? |\n"
	for _, c := range []struct{ name, page, list, want string }{
		{"a complete page", page, list, ""},
		{"another number", strings.Replace(page, "001", "002", 1), list, "heading"},
		{"no question", strings.Replace(page, "Why?", "Because", 1), strings.Replace(list, "Why?", "Because", 1), "heading"},
		{"no answer", strings.Replace(page, "Because of these ten words, which answer it at once.", "", 1), list, "answer"},
		{"another question in the list", page, strings.Replace(list, "Why?", "How?", 1), "no row"},
	} {
		got := strings.Join(decisionProblems("001", "001-why.md", c.page, c.list), "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
