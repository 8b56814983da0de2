package internal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDecisions: decisions are numbered from 001 without a gap, no two alike; each has its number in its heading and its row in the list.
func TestDecisions(t *testing.T) {
	files, err := filepath.Glob("../docs/decisions/[0-9]*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "there are no decisions")
	}
	list, err := os.ReadFile("../docs/decisions/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		number, name := fmt.Sprintf("%03d", i+1), filepath.Base(file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(name, number+"-") || !strings.HasPrefix(string(text), "# "+number+": ") {
			t.Errorf("%s stands where %s is due: a number is given twice, or left out, or the heading has another", name, number)
		}
		if !strings.Contains(string(list), "\n| ["+number+"]("+name+") | ") {
			t.Errorf("README.md of docs/decisions has no row for %s", name)
		}
	}
}
