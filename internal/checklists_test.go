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

// named is a file that a checklist names: by its path, or by its name alone where the package may move.
var named = regexp.MustCompile("`([A-Za-z0-9_./-]+\\.(?:go|h|c|md|py|yaml))`")

// TestChecklists: every file that a checklist sends a reader to is there. NAME stands for what is new.
func TestChecklists(t *testing.T) {
	there := map[string]bool{}
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			there[path.Base(name)] = true
		}
		return err
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
			found := there[name]
			if strings.Contains(name, "/") {
				_, err := os.Stat(path.Join("..", name))
				found = err == nil
			}
			if !found {
				t.Errorf("%s names %s, which there is none of", page, name)
			}
		}
	}
	if files < 60 || len(pages) != 5 {
		t.Errorf("%d files in %d checklists", files, len(pages))
	}
}
