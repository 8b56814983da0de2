package internal

import (
	"bytes"
	"errors"
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

// largeFiles is how many files a package may have without a doc.go that says what is in which.
const largeFiles = 8

// mostLines is the number of lines that a hand-written file may have: a longer one holds more than one subject.
const mostLines = 600

// folder is a package: its files, without tests and generated ones, and those of them that have a package comment.
type folder struct {
	files, says []string
	lines       map[string]int // of each file
}

// folders are the packages of the repository by their paths.
func folders(t *testing.T, tree fs.FS) map[string]*folder {
	t.Helper()
	all := map[string]*folder{}
	err := fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); file == "results" || name == "testdata" || name != "." && strings.HasPrefix(name, ".") {
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
		in := all[path.Dir(file)]
		if in == nil {
			in = &folder{lines: map[string]int{}}
			all[path.Dir(file)] = in
		}
		in.files = append(in.files, path.Base(file))
		in.lines[path.Base(file)] = bytes.Count(source, []byte("\n"))
		if parsed.Doc != nil {
			in.says = append(in.says, path.Base(file))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("found %d packages: the test looks in the wrong place", len(all))
	}
	return all
}

// TestPackageDocs: a package says once what it is, and a large one in doc.go, where whoever comes looks first.
func TestPackageDocs(t *testing.T) {
	for where, in := range folders(t, os.DirFS("..")) {
		n := len(in.files)
		switch {
		case len(in.says) != 1:
			t.Errorf("%s: %d files have a package comment, want one: %v", where, len(in.says), in.says)
		case n > largeFiles && !slices.Contains(in.says, "doc.go"):
			t.Errorf("%s: %d files, and the package comment is in %s: want it in doc.go", where, n, in.says[0])
		}
		for _, file := range in.files {
			if lines := in.lines[file]; lines > mostLines {
				t.Errorf("%s: %d lines, want at most %d (split the file by subject)", path.Join(where, file), lines, mostLines)
			}
		}
	}
}

// whereWhatIs is the line of a doc.go that the list of a package's files follows.
const whereWhatIs = "// Files:\n"

// TestDocsNameFiles: the doc.go of a large package says once of each of its files what is there, and of no other.
// There, spec_*.go stands for all files whose names are like it, and NAME.go for those that define a congestion control
// of their name.
func TestDocsNameFiles(t *testing.T) {
	tree := os.DirFS("..")
	for where, in := range folders(t, tree) {
		doc, err := fs.ReadFile(tree, path.Join(where, "doc.go"))
		if errors.Is(err, fs.ErrNotExist) { // what TestPackageDocs is about
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_, list, found := strings.Cut(string(doc), whereWhatIs)
		if !found {
			if len(in.files) > largeFiles {
				t.Errorf("%s: %d files, and doc.go has no list %q of them", where, len(in.files), whereWhatIs)
			}
			continue
		}
		list = regexp.MustCompile(`^(//\n|//   .*\n)*`).FindString(list)
		named := map[string][]string{}
		for _, name := range regexp.MustCompile(`[\w*]+\.go\b`).FindAllString(list, -1) {
			meant := 0
			for _, file := range in.files {
				if means(t, tree, name, path.Join(where, file)) {
					named[file] = append(named[file], name)
					meant++
				}
			}
			if meant == 0 {
				t.Errorf("%s: doc.go speaks of %s, which there is not", where, name)
			}
		}
		for _, file := range in.files {
			if by := named[file]; file != "doc.go" && len(by) != 1 {
				t.Errorf("%s: doc.go says %d times what is in %s, want once: %v", where, len(by), file, by)
			}
		}
	}
}

// means says whether a name in a list stands for a file.
func means(t *testing.T, tree fs.FS, name, file string) bool {
	t.Helper()
	if name != "NAME.go" {
		matched, err := path.Match(name, path.Base(file))
		if err != nil {
			t.Fatal(err)
		}
		return matched
	}
	source, err := fs.ReadFile(tree, file)
	if err != nil {
		t.Fatal(err)
	}
	controller := strings.ReplaceAll(strings.TrimSuffix(path.Base(file), ".go"), "_", "-")
	return regexp.MustCompile(`(Name: *|Spec\()"` + controller + `"`).Match(source)
}
