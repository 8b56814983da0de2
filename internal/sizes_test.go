package internal

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	mostCyclomatic = 30 // of a function, without tests
	// of a line, in characters, without raw strings and struct tags, which cannot be split
	mostColumns     = 120
	mostTestColumns = 140 // of a line of tests
)

// columns returns the number of characters that a line of a file may have.
func columns(name string) int {
	if strings.HasSuffix(name, "_test.go") {
		return mostTestColumns
	}
	return mostColumns
}

// TestSizes: lines and functions that are written by hand are small enough to read.
func TestSizes(t *testing.T) {
	checked := 0
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := path.Base(name); name != "." && (base[0] == '.' || base == "results" || base == "testdata" ||
				base == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		source, err := os.ReadFile(path.Join("..", name))
		if err != nil {
			return err
		}
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, name, source, parser.ParseComments)
		if err != nil || ast.IsGenerated(file) {
			return err
		}
		checked++
		for i, line := range strings.Split(withoutRaw(positions, file, string(source)), "\n") {
			if n := utf8.RuneCountInString(line); n > columns(name) && !strings.HasPrefix(line, "//\t") {
				t.Errorf("%s:%d has %d characters, more than %d", name, i+1, n, columns(name))
			}
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && !strings.HasSuffix(name, "_test.go") {
				if n := cyclomatic(f); n > mostCyclomatic {
					t.Errorf("%s: %s has a cyclomatic complexity of %d, more than %d: split it", positions.Position(f.Pos()),
						f.Name.Name, n, mostCyclomatic)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 500 {
		t.Errorf("checked %d files: the test looks in the wrong place", checked)
	}
}

// withoutRaw returns the source without the text of its raw strings and struct tags. Their line breaks stay.
func withoutRaw(positions *token.FileSet, file *ast.File, source string) string {
	var b strings.Builder
	end := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING && s.Value[0] == '`' {
			b.WriteString(source[end:positions.Position(s.Pos()).Offset])
			end = positions.Position(s.End()).Offset
			b.WriteString(strings.Repeat("\n", strings.Count(s.Value, "\n")))
		}
		return true
	})
	return b.String() + source[end:]
}

// cyclomatic returns the number of independent paths through a function (McCabe 1976): 1, and 1 for each branch and
// each && and ||. Function literals count apart.
func cyclomatic(f *ast.FuncDecl) int {
	n := 1
	if f.Body == nil {
		return n
	}
	ast.Inspect(f.Body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncLit:
			return false
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if node.List != nil {
				n++
			}
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

// TestClosures: a package compiles no more than it needs, its own imports and theirs counted: hand-written lines of
// this module, and packages of others, the standard library apart. Lower a limit when a change makes room; raise one
// only for a feature that the package cannot do without.
func TestClosures(t *testing.T) {
	for _, want := range []struct {
		path           string
		lines, foreign int
	}{
		{"orchestrator/engine", 27_500, 0},
		{"experiments/runner", 55_200, 19},
		{"experiments/scenario", 37_800, 18},
	} {
		lines, foreign := closure(t, want.path)
		if lines > want.lines || foreign > want.foreign {
			t.Errorf("%s compiles %d lines and %d packages of others, more than %d and %d", want.path, lines, foreign,
				want.lines, want.foreign)
		}
		t.Logf("%s: %d lines, %d packages of others", want.path, lines, foreign)
	}
}

// closure returns what compiling a package takes: lines of this module's Go files, and the number of packages of
// others.
func closure(t *testing.T, path string) (lines, foreign int) {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Dir,GoFiles,CgoFiles", "../"+path)
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for packages := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir   string
			Standard          bool
			GoFiles, CgoFiles []string
		}
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			return lines, foreign
		} else if err != nil {
			t.Fatal(err)
		}
		switch {
		case p.Standard:
		case !strings.HasPrefix(p.ImportPath, module):
			foreign++
		default:
			for _, name := range append(p.GoFiles, p.CgoFiles...) {
				source, err := os.ReadFile(filepath.Join(p.Dir, name))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.HasPrefix(source, []byte("// Code generated")) {
					lines += bytes.Count(source, []byte("\n"))
				}
			}
		}
	}
}
