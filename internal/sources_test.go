package internal

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// unknownSources are documents that a reader of the repository cannot open: a number is from a paper, a standard, a
// public program, or a derivation beside the test.
var unknownSources = []string{
	"algorithm" + " notes", "algorithms" + ".md", "wire" + ".md", "spec/" + "scenarios.md", "check/" + "vectors",
	"the seeds'" + " s", "../" + "shared",
}

// document is a page of docs that a comment names, and what stands in it.
var document = regexp.MustCompile(`\bdocs/(?:[a-z0-9-]+/)*[a-z0-9-]+\.md`)

// TestSources reads every text of the repository: sources are named that a reader can find.
func TestSources(t *testing.T) {
	files := 0
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if entry.IsDir() {
			if name != "." && (strings.HasPrefix(base, ".") || name == "bin" || name == "results" || base == "rapid") {
				return fs.SkipDir
			}
			return nil
		}
		switch path.Ext(name) {
		case ".go", ".c", ".h", ".md", ".py", ".yaml", ".txtar", ".sh", "":
		default:
			return nil
		}
		data, err := os.ReadFile(path.Join("..", name))
		if err != nil {
			return err
		}
		files++
		for _, unknown := range unknownSources {
			if strings.Contains(string(data), unknown) {
				t.Errorf("%s cites %q: name the paper and its section, the standard and its clause, or a derivation in testdata",
					name, unknown)
			}
		}
		for _, page := range document.FindAllString(string(data), -1) {
			if _, err := os.Stat(path.Join("..", page)); err != nil {
				t.Errorf("%s names %s, which there is none of", name, page)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 300 {
		t.Errorf("%d files were read: is this the repository?", files)
	}
}
