package lab

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/lazy"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// fileName matches valid names of an exercise's files, without folders.
var fileName = lazy.Regexp(`^[a-z0-9][a-z0-9_-]{0,39}\.[a-z]{1,5}$`)

// itemName matches valid names of answers and runs.
var itemName = lazy.Regexp(`^[a-z][a-z0-9_-]{0,39}$`)

// Limits of an exercise. A check should take a minute.
const (
	mostItems = 100
	mostSeeds = 20
)

// reader reads exercise.yaml.
type reader struct {
	e *Exercise
}

// Read reads the exercise in a folder, with the parameters of no student. The error holds every mistake with its
// position.
func Read(name string, files fs.FS) (*Exercise, error) { return readFor(name, "", files, false) }

// For returns the exercise with a student's parameters.
func (e *Exercise) For(student string) (*Exercise, error) {
	return readFor(e.Name, student, e.source, e.hidden)
}

// readFor reads an exercise for a student, and with hidden the teacher's hidden.yaml in the same folder.
func readFor(name, student string, source fs.FS, hidden bool) (*Exercise, error) {
	drawn, err := readParameters(name, student, source)
	if err != nil {
		return nil, err
	}
	texts := filled{source, drawn}
	data, err := fs.ReadFile(texts, ExerciseFile)
	if err != nil {
		return nil, err
	}
	e, err := Parse(name, path.Join(name, ExerciseFile), data)
	if err != nil {
		return nil, err
	}
	e.Student, e.Files, e.source, e.hidden, e.parameters = student, texts, source, hidden, drawn
	if hidden {
		if err := e.addHidden(); err != nil {
			return nil, err
		}
	}
	return e, e.complete()
}

// complete returns an error for files that the folder lacks.
func (e *Exercise) complete() error {
	need := []string{TextFile}
	for _, file := range e.Started() {
		need = append(need, StartFolder+"/"+file)
	}
	for i := range e.Runs {
		if e.changed(e.Runs[i].Scenario) == nil {
			need = append(need, ownFolder+"/"+e.Runs[i].Scenario)
		}
	}
	if e.Counted != nil {
		need = append(need, ownFolder+"/"+e.Counted.Scenario)
	}
	for _, file := range need {
		if _, err := fs.Stat(e.Files, file); err != nil {
			return fmt.Errorf("exercise %s has no file %s, which %s names", e.Name, file, ExerciseFile)
		}
	}
	return nil
}

func (e *Exercise) changed(file string) *ChangedScenario {
	return lists.Find(e.Changed, func(c *ChangedScenario) bool { return c.File == file })
}

// controller returns the files that may hold the controller of a run; nil: it is not the student's.
func (e *Exercise) controller(cc string) []string {
	for _, names := range e.Controllers {
		if slices.Contains(names, cc) {
			return names
		}
	}
	return nil
}

func (e *Exercise) question(name string) *Question {
	return lists.Find(e.Answers, func(q *Question) bool { return q.Name == name })
}

func (e *Exercise) check(name string) *Check {
	return lists.Find(e.Checks, func(c *Check) bool { return name != "" && c.Name == name })
}

func (e *Exercise) run(name string) *Run {
	return lists.Find(e.Runs, func(r *Run) bool { return r.Name == name })
}

// Parse reads exercise.yaml. It opens no other files.
func Parse(name, file string, data []byte) (*Exercise, error) {
	report := new(yamlspec.Report)
	root := report.Parse(file, data)
	d := &reader{e: &Exercise{Name: name, Seeds: map[string][]uint64{}, parameters: new(parameters)}}
	if root != nil {
		d.exercise(root)
	}
	if err := report.Err(); err != nil {
		return nil, err
	}
	return d.e, nil
}

func (d *reader) exercise(root *yamlspec.Value) {
	m := d.e.keys().Decode(root)
	d.submitted(m.Get("hand_in"))
	for _, item := range few(m.Get("give")) {
		var file string
		if item.String(&file) && !fileName().MatchString(file) {
			item.Errorf("%q: name a file of %s/ in lower case, such as fabric.yaml", file, StartFolder)
		}
		d.e.Given = append(d.e.Given, file)
	}
	d.runs(m.Get("runs"))
	if v := written(m.Get("counters")); v != nil {
		d.e.Counted = &Run{Name: "counters"}
		d.e.Counted.keys().Decode(v)
		if !slices.Contains(d.e.Given, CountersFile) {
			v.Errorf("counters need %s in give", CountersFile)
		}
	}
	d.seeds(m.Get("seeds"))
	for _, item := range few(m.Get("checks")) {
		d.check(item)
	}
	for _, item := range few(m.Get("score")) {
		d.score(item)
	}
	checkPoints(m.Get("wrong"), d.e.Wrong)
}

// few returns the items of a list, and reports a list that is too long.
func few(v *yamlspec.Value) []*yamlspec.Value {
	if v == nil {
		return nil
	}
	items := v.Items()
	if len(items) > mostItems {
		v.Errorf("%d items exceed the maximum of %d", len(items), mostItems)
		return nil
	}
	return items
}

// entries calls each for the entries of a mapping with names as keys, which it checks.
func (d *reader) entries(v *yamlspec.Value, names *regexp.Regexp, example string,
	each func(name string, key, value *yamlspec.Value),
) {
	if v == nil {
		return
	}
	n := 0
	v.Mapping().All(func(key, value *yamlspec.Value) {
		if n++; n > mostItems {
			if n == mostItems+1 {
				key.Errorf("more than %d entries", mostItems)
			}
			return
		}
		if name := key.Raw(); names.MatchString(name) {
			each(name, key, value)
		} else {
			key.Errorf("%q is not a valid name: write one such as %s", name, example)
		}
	})
}

func (d *reader) submitted(v *yamlspec.Value) {
	m := v.Mapping()
	d.entries(m.Get("answers"), itemName(), "peak_queue", func(name string, _, value *yamlspec.Value) {
		q := Question{Name: name}
		kind := "number"
		q.keys(&kind).Decode(value)
		q.Sentence = kind == "sentence"
		if q.Sentence && q.Predicted {
			value.Errorf("a sentence cannot be predicted: remove predict")
		}
		q.Kind = map[string]measure.Kind{
			"number": measure.KindCount, "time": measure.KindTime, "rate": measure.KindRate,
			"size": measure.KindSize,
		}[kind]
		d.e.Answers = append(d.e.Answers, q)
	})
	d.entries(m.Get("scenarios"), fileName(), "fabric.yaml", func(file string, key, value *yamlspec.Value) {
		c := ChangedScenario{File: file}
		if path.Ext(file) != ".yaml" || file == AnswersFile || file == LabFile {
			key.Errorf("name a scenario's file in lower case, such as fabric.yaml")
		}
		for _, item := range few(value) {
			var where string
			if item.String(&where) {
				if why := unsafePath(where); why != "" {
					item.Errorf("%s", why)
				}
				c.May = append(c.May, where)
			}
		}
		d.e.Changed = append(d.e.Changed, c)
	})
	evidence := func(key, example string) (all []string) {
		for _, item := range few(m.Get(key)) {
			var file string
			if item.String(&file) && (!fileName().MatchString(file) || path.Ext(file) != path.Ext(example)) {
				item.Errorf("%q: name a file like %s", file, example)
			}
			all = append(all, file)
		}
		return all
	}
	d.e.Pictures, d.e.Outputs = evidence("pictures", "queue.png"), evidence("outputs", "client.txt")
	for _, item := range few(m.Get("controllers")) {
		var names []string
		for _, name := range few(item) {
			var file string
			if !name.String(&file) {
				continue
			}
			switch {
			case !fileName().MatchString(file) || path.Ext(file) != ".star" && path.Ext(file) != ".wasm":
				name.Errorf("%q: name a controller's file like control.star or control.wasm", file)
			case slices.Contains(names, file) || d.e.controller(file) != nil:
				name.Errorf("%s is listed twice", file)
			}
			names = append(names, file)
		}
		if len(names) > 0 {
			d.e.Controllers = append(d.e.Controllers, names)
		}
	}
}

// unsafePath returns the reason why students must not change a value of a scenario. Values there may name files, and
// a submission must not name files of the grading machine.
func unsafePath(where string) string {
	parts := strings.Split(where, ".")
	root := parts[0]
	switch {
	case slices.Contains(parts, ""):
		return fmt.Sprintf("%q is not a path: write one such as switch.pfc.xoff", where)
	case where == "topology.rate" || where == "topology.delay", root == "switch" || root == "host" || root == "duration" ||
		root == "seed":
		return ""
	case root == "cc" && len(parts) >= 3 && !strings.HasPrefix(parts[1], "lstm"), root == "flows" && len(parts) >= 3,
		root == "faults":
		return ""
	}
	return fmt.Sprintf("students must not change %q, because values there may name files: allow paths in switch, host, "+
		"faults and flows, topology.rate, topology.delay, and cc.NAME.CONSTANT", where)
}

func (d *reader) runs(v *yamlspec.Value) {
	d.entries(v, itemName(), "before", func(name string, key, value *yamlspec.Value) {
		r := Run{Name: name}
		if d.e.run(name) != nil || name == boundName {
			key.Errorf("run %s already exists", name)
		}
		m := r.keys().Decode(value)
		file := m.Get("scenario")
		if r.Scenario != "" && !fileName().MatchString(r.Scenario) {
			file.Errorf("%q: a scenario must be a file of %s/ or of hand_in, such as fabric.yaml", r.Scenario, ownFolder)
		}
		if with := m.Get("with"); r.With != "" && (d.e.changed(r.With) == nil || d.e.changed(r.Scenario) != nil) {
			with.Errorf("%q: with must name a scenario of hand_in, and scenario another file, which gets the former's values",
				r.With)
		}
		d.e.Runs = append(d.e.Runs, r)
	})
}

// seeds reads the seeds of a scenario's runs, by its file.
func (d *reader) seeds(v *yamlspec.Value) {
	d.entries(v, fileName(), "fabric.yaml", func(file string, key, value *yamlspec.Value) {
		if !slices.ContainsFunc(d.e.Runs, func(r Run) bool { return r.Scenario == file }) {
			key.Errorf("no run uses %s", file)
		}
		var seeds []uint64
		for _, item := range few(value) {
			seed, err := scenario.ParseSeed(item.Raw())
			if err != nil {
				item.Errorf("%v", err)
			} else if slices.Contains(seeds, seed) {
				item.Errorf("seed %d is listed twice", seed)
			}
			seeds = append(seeds, seed)
		}
		if len(seeds) == 0 || len(seeds) > mostSeeds {
			value.Errorf("%d seeds: list 1 to %d", len(seeds), mostSeeds)
		}
		d.e.Seeds[file] = seeds
	})
}

// checkPoints reports points that are no whole hundredths.
func checkPoints(v *yamlspec.Value, p Points) {
	if p*100 != Points(int(p*100)) {
		v.Errorf("points must be from 0 to 1000, with at most two decimals")
	}
}
