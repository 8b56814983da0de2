package command

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// TestHelpFitsTerminal: the help of every command fits 80 columns, and shows examples.
func TestHelpFitsTerminal(t *testing.T) {
	n := 0
	var check func(path []string, c *cobra.Command)
	check = func(path []string, c *cobra.Command) {
		if c.Name() == "help" || c.Name() == "completion" || c.Hidden { // the first two are cobra's
			return
		}
		n++
		name := strings.Join(append([]string{"pausenet"}, path...), " ")
		help, stderr, code := command(append(path, "--help")...)
		if code != exitFine || stderr != "" {
			t.Errorf("%s --help: exit code %d, %s", name, code, stderr)
		}
		for line := range strings.Lines(help) {
			if width := utf8.RuneCountInString(strings.TrimRight(line, "\n")); width > defaultWidth {
				t.Errorf("%s --help has a line of %d columns: %s", name, width, line)
			}
		}
		if !strings.Contains(help, "\nExamples:\n") || c.Long == "" {
			t.Errorf("%s --help has no example, or no description", name)
		}
		for _, sub := range c.Commands() {
			check(append(path[:len(path):len(path)], sub.Name()), sub)
		}
	}
	check(nil, newRootCommand())
	if n < 40 {
		t.Errorf("%d commands, want at least 40", n)
	}
}

// TestHelpListsFlags: help shows a flag's value, default and optional value, and wraps its text.
func TestHelpListsFlags(t *testing.T) {
	help, _, _ := command("sweep", "--help")
	for _, want := range []string{
		"\n      --jobs number        number of points at a time (default: one per\n                           processor)\n",
		"\n  -o, --output format      output format: table, json or yaml (default table)\n",
		"\n      --force              overwrite results of other settings\n",
		"\n      --serve[=address]    serve the points to workers on other machines at this\n                           address, as host:port",
		"\n  -h, --help               print this help\n",
		"\n  merge       Merge the shards of a sweep\n",
	} {
		if !strings.Contains(help, want) {
			t.Errorf("sweep --help does not have %q:\n%s", want, help)
		}
	}
}
