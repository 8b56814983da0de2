package internal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDecisions: decisions are numbered, no two alike; each has its number in its heading and its row in the list.
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
		if number == last || !strings.HasPrefix(string(text), "# "+number+": ") {
			t.Errorf("%s: the number is given twice, or the heading has another", name)
		}
		last = number
		if !strings.Contains(string(list), "\n| ["+number+"]("+name+") | ") {
			t.Errorf("README.md of docs/decisions has no row for %s", name)
		}
	}
}
