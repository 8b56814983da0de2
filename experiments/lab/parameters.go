package lab

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/pausenet/pausenet/internal/lazy"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// ParametersFile names the file with the values of an exercise that differ between students. A list is a choice by the
// student's name, and a text is a formula over the parameters before it.
const ParametersFile = "parameters.yaml"

// mostFormula limits the steps of a formula.
const mostFormula = 1000

// placeholder matches the parts of an exercise's files that a student's parameters replace: ${name}, ${2*size+1}.
var placeholder = lazy.Regexp(`\$\{([^{}\n]*)\}`)

// parameters holds the values of an exercise for one student.
type parameters struct {
	names   []string          // in the file's order
	written map[string]string // the drawn values as in the file, such as 25Gbps
	values  starlark.StringDict
}

// units of formulas, in the base units of figures: nanoseconds, bits per second and bytes.
var formulaUnits = map[string]float64{
	"ns": 1, "us": 1e3, "ms": 1e6, "B": 1, "KB": 1e3, "MB": 1e6, "Mbps": 1e6, "Gbps": 1e9,
}

// readParameters reads an exercise's parameters for a student. The student of no name has each list's first value. An
// exercise without the file has none.
func readParameters(exercise, student string, files fs.FS) (*parameters, error) {
	p := &parameters{written: map[string]string{}, values: starlark.StringDict{}}
	for name, factor := range formulaUnits {
		p.values[name] = starlark.Float(factor)
	}
	data, err := fs.ReadFile(files, ParametersFile)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	report := new(yamlspec.Report)
	if root := report.Parse(path.Join(exercise, ParametersFile), data); root != nil {
		root.Mapping().All(func(key, value *yamlspec.Value) { p.read(exercise, student, key, value) })
	}
	return p, report.Err()
}

func (p *parameters) read(exercise, student string, key, value *yamlspec.Value) {
	name := key.Raw()
	if !itemName().MatchString(name) || strings.Contains(name, "-") || p.values.Has(name) {
		key.Errorf("%q: name a parameter once, in lower case, such as host_rate", name)
		return
	}
	p.names = append(p.names, name)
	if !value.IsSequence() {
		x, err := p.evaluate(value.Raw())
		if err != nil {
			value.Errorf("%v", err)
			return
		}
		p.values[name] = starlark.Float(x)
		return
	}
	choices := few(value)
	if len(choices) == 0 {
		value.Errorf("a parameter needs at least one value")
		return
	}
	drawn := choices[draw(student, exercise, name, len(choices))]
	for _, choice := range choices {
		if kind, x := anyKind(choice.Raw()); kind == nil {
			choice.Errorf("%q: expected a number, a time, a rate or a size", choice.Raw())
		} else if choice == drawn {
			p.written[name], p.values[name] = choice.Raw(), starlark.Float(x)
		}
	}
}

// secret prefixes the names of parameters that students have to find out, and that no result shows.
const secret = "secret_"

// draw returns a student's choice among n values of a parameter.
func draw(student, exercise, name string, n int) int {
	if student = canonical(student); student == "" {
		return 0
	}
	sum := sha256.Sum256([]byte(student + "\x00" + exercise + "\x00" + name))
	return int(binary.BigEndian.Uint64(sum[:]) % uint64(n))
}

// canonical returns a student's name as parameters are drawn from it.
func canonical(student string) string {
	return strings.ToLower(strings.Join(strings.Fields(student), " "))
}

// evaluate returns the value of a formula.
func (p *parameters) evaluate(formula string) (float64, error) {
	thread := new(starlark.Thread)
	thread.SetMaxExecutionSteps(mostFormula)
	v, err := starlark.EvalOptions(&syntax.FileOptions{}, thread, "formula", strings.TrimSpace(formula), p.values)
	if err != nil {
		return 0, fmt.Errorf("formula %q: %w", formula, err)
	}
	x, ok := starlark.AsFloat(v)
	if !ok {
		return 0, fmt.Errorf("formula %q: expected a number", formula)
	}
	return x, nil
}

// fill replaces the placeholders of a text: a drawn parameter's name by the value as written, and a formula by its
// value in base units, with up to six significant digits.
func (p *parameters) fill(file, text string) (string, error) {
	var problem error
	filled := placeholder().ReplaceAllStringFunc(text, func(found string) string {
		formula := placeholder().FindStringSubmatch(found)[1]
		if written, drawn := p.written[formula]; drawn {
			return written
		}
		x, err := p.evaluate(formula)
		if err != nil && problem == nil {
			line := 1 + strings.Count(text[:strings.Index(text, found)], "\n")
			problem = fmt.Errorf("%s:%d: %w", file, line, err)
		}
		if rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64); err == nil {
			x = rounded
		}
		return number(x)
	})
	return filled, problem
}

// Parameters returns the student's parameters as results record them, by name.
func (e *Exercise) Parameters() map[string]string {
	shown := maps.Clone(e.parameters.written)
	maps.DeleteFunc(shown, func(name, _ string) bool { return strings.HasPrefix(name, secret) })
	return shown
}

// ParameterText returns the student's parameters in words, in the file's order; empty if there are none.
func (e *Exercise) ParameterText() string {
	var all []string
	for _, name := range e.parameters.names {
		if written, drawn := e.parameters.written[name]; drawn && !strings.HasPrefix(name, secret) {
			all = append(all, name+" "+written)
		}
	}
	return strings.Join(all, ", ")
}

// filled implements a file system in which the texts of an exercise have a student's parameters.
type filled struct {
	fs.FS
	parameters *parameters
}

// ReadFile reads a file, and fills it in if it is a text of the exercise.
func (f filled) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(f.FS, name)
	if err != nil || !slices.Contains([]string{".yaml", ".md"}, path.Ext(name)) {
		return data, err
	}
	text, err := f.parameters.fill(name, string(data))
	return []byte(text), err
}

// ReadDir lists a folder.
func (f filled) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(f.FS, name) }
