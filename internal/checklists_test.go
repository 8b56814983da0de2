package internal

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named matches a file that a checklist names: by its path, or only by its name if no other file has it.
var named = regexp.MustCompile("`([A-Za-z0-9_./-]+\\.(?:go|h|c|md|py|yaml))`")

// TestChecklists checks that every file that a checklist names exists, and is the only one if it is named without a
// folder. NAME stands for new files, and files of the repository's root are named without a folder. CONTRIBUTING.md
// leads to each checklist.
func TestChecklists(t *testing.T) {
	there := map[string][]string{} // paths by name
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case !entry.IsDir():
			there[base] = append(there[base], name)
		case name != "." && strings.HasPrefix(base, "."): // tools keep their own files there
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../docs/contributing/*.md")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, page := range append(pages, "../CONTRIBUTING.md", "../docs/architecture.md") {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(data), -1) {
			name := m[1]
			if strings.Contains(name, "NAME") {
				continue
			}
			files++
			if _, err := os.Stat(path.Join("..", name)); err == nil {
				continue
			}
			switch paths := there[name]; {
			case len(paths) == 0:
				t.Errorf("%s names %s, which does not exist", page, name)
			case len(paths) > 1:
				t.Errorf("%s names %s, which may be any of %s: name its folder", page, name, strings.Join(paths, ", "))
			}
		}
	}
	contributing, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if !strings.Contains(string(contributing), "("+strings.TrimPrefix(page, "../")+")") {
			t.Errorf("CONTRIBUTING.md does not lead to %s", page)
		}
	}
	if files < 100 || len(pages) < 9 {
		t.Errorf("got %d files in %d checklists: is this the repository?", files, len(pages))
	}
}
