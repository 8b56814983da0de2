package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// largeFiles is how many files a package may have without a doc.go.
const largeFiles = 10

// mostFiles is how many it may have at all, but for the command line, which has a file a verb, and the controllers, one each.
const mostFiles = 30

// TestPackageDocs: a package says once what it is, and a large one in doc.go, where whoever comes looks first.
func TestPackageDocs(t *testing.T) {
	tree := os.DirFS("..")
	files, says := map[string]int{}, map[string][]string{}
	err := fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); name != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "results") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		if ast.IsGenerated(parsed) {
			return nil
		}
		files[path.Dir(file)]++
		if parsed.Doc != nil {
			says[path.Dir(file)] = append(says[path.Dir(file)], path.Base(file))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("found %d packages: the test looks in the wrong place", len(files))
	}
	for folder, n := range files {
		where := says[folder]
		switch {
		case len(where) != 1:
			t.Errorf("%s: %d files have a package comment, want one: %v", folder, len(where), where)
		case n > largeFiles && !strings.HasPrefix(folder, "cmd/pausenet") && !slices.Contains(where, "doc.go"):
			t.Errorf("%s: %d files, and the package comment is in %s: want it in doc.go", folder, n, where[0])
		case n > mostFiles && folder != "cmd/pausenet" && folder != "hostagent/cc":
			t.Errorf("%s: %d files, want at most %d: join what is one subject, or make what is another a package", folder, n, mostFiles)
		}
	}
}

// TestEngineDocNamesFiles: the engine's doc.go says of each of its files what is there, and of no other.
func TestEngineDocNamesFiles(t *testing.T) {
	const folder = "../orchestrator/engine"
	doc, err := os.ReadFile(path.Join(folder, "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, name := range regexp.MustCompile(`[a-z_]+\.go\b`).FindAllString(string(doc), -1) {
		named[name] = true
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && name != "doc.go" && !named[name] {
			t.Errorf("doc.go does not say what is in %s", name)
		}
		delete(named, name)
	}
	for name := range named {
		t.Errorf("doc.go speaks of %s, which there is not", name)
	}
}
