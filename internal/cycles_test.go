package internal

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostCycle bounds the files of a package that call each other in a cycle. Whoever reads one of them has to read
// them all.
const mostCycle = 5

// cycles bounds the packages that have a larger cycle. Lower a bound when files come apart, and never raise one.
var cycles = map[string]int{
	"controllerfile/star": 6, "experiments/scenario": 14, "experiments/sweep/cluster": 6, "hostagent": 11,
	"orchestrator/engine": 9, "topologies/spec": 6,
}

// TestFileCycles checks that calls between the files of a package mostly go one way: no cycle of files grows. A call of
// an interface's method counts as none, and neither does the use of a type, a constant or a variable.
func TestFileCycles(t *testing.T) {
	list := exec.Command("go", "list", "-pgo=off", "-export", "-deps", "-json=ImportPath,Standard,Dir,GoFiles,CgoFiles,Export", "../...")
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	type listed struct {
		ImportPath, Dir, Export string
		Standard                bool
		GoFiles                 []string
	}
	var own []listed
	exports := map[string]string{}
	for packages := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module+"/") {
			own = append(own, p)
		}
	}
	positions := token.NewFileSet()
	imports := importer.ForCompiler(positions, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	calls, within := 0, 0
	for _, p := range own {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		uses, err := fileCalls(positions, imports, p.ImportPath, p.Dir, p.GoFiles)
		if err != nil {
			t.Fatal(err)
		}
		largest, inCycles := largestCycle(uses)
		for _, of := range uses {
			calls += len(of)
		}
		within += inCycles
		if bound := max(mostCycle, cycles[name]); len(largest) > bound {
			t.Errorf("%s: %d files call each other in a cycle, more than %d: %s", name, len(largest), bound,
				strings.Join(largest, ", "))
		} else if bound > mostCycle && len(largest) < bound {
			t.Errorf("%s: its largest cycle has %d files: lower its bound", name, len(largest))
		}
	}
	t.Logf("%d packages; calls between %d pairs of files, %d of them within cycles", len(own), calls, within)
}

// fileCalls returns the other files of a package whose functions each file calls or passes on. Generated files do not
// count.
func fileCalls(positions *token.FileSet, imports types.Importer, pkg, dir string, names []string,
) (map[string]map[string]bool, error) {
	var files []*ast.File
	uses := map[string]map[string]bool{}
	for _, name := range names {
		file, err := parser.ParseFile(positions, filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
		if !ast.IsGenerated(file) {
			uses[name] = map[string]bool{}
		}
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: imports}
	if _, err := config.Check(pkg, positions, files, &info); err != nil {
		return nil, err
	}
	base := func(at token.Pos) string { return filepath.Base(positions.Position(at).Filename) }
	for ident, of := range info.Uses {
		function, ok := of.(*types.Func)
		if !ok || function.Pkg() == nil || function.Pkg().Path() != pkg {
			continue
		}
		if of := function.Signature().Recv(); of != nil && types.IsInterface(of.Type()) {
			continue
		}
		from, to := base(ident.Pos()), base(function.Origin().Pos())
		if from != to && uses[from] != nil && uses[to] != nil {
			uses[from][to] = true
		}
	}
	return uses, nil
}

// largestCycle returns the files of the largest cycle, none without any, and the number of references within cycles.
func largestCycle(uses map[string]map[string]bool) (largest []string, within int) {
	reached := map[string]map[string]bool{}
	for name := range uses {
		seen, queue := map[string]bool{}, []string{name}
		for len(queue) > 0 {
			for other := range uses[queue[0]] {
				if !seen[other] {
					seen[other] = true
					queue = append(queue, other)
				}
			}
			queue = queue[1:]
		}
		reached[name] = seen
	}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		var cycle []string
		for _, other := range slices.Sorted(maps.Keys(uses)) {
			if reached[name][other] && reached[other][name] {
				cycle = append(cycle, other)
				if uses[name][other] {
					within++
				}
			}
		}
		if len(cycle) > len(largest) {
			largest = cycle
		}
	}
	return largest, within
}
