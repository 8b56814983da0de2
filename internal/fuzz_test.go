package internal

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFuzzList: make fuzz runs every fuzz function that there is, and none that there is not.
func TestFuzzList(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(makefile), "\nFUZZ = ")
	list, _, ends := strings.Cut(list, "\n\n")
	if !found || !ends {
		t.Fatal("the Makefile has no list FUZZ")
	}
	listed := strings.Fields(strings.ReplaceAll(list, "\\", ""))
	if !slices.IsSorted(listed) {
		t.Error("the Makefile's FUZZ is not sorted")
	}
	function := regexp.MustCompile(`(?m)^func (Fuzz\w*)\(`)
	var there []string
	err = fs.WalkDir(os.DirFS(".."), ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (file == "results" || strings.HasPrefix(entry.Name(), ".") && file != "."):
			return fs.SkipDir
		case !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		source, err := os.ReadFile("../" + file)
		for _, name := range function.FindAllStringSubmatch(string(source), -1) {
			there = append(there, path.Dir(file)+":"+name[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range there {
		if !slices.Contains(listed, f) {
			t.Errorf("%s is not in the Makefile's FUZZ", f)
		}
	}
	for _, f := range listed {
		if !slices.Contains(there, f) {
			t.Errorf("the Makefile's FUZZ has %s, and there is no such function", f)
		}
	}
}
