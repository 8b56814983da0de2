package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/experiments/ccbench"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/search"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/workers"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

// DefaultScenarios lists the scenarios of a comparison that names none: short ones that differ in what they ask of a
// congestion control.
var DefaultScenarios = []string{"incast", "dcon-burst", "tcd-victims", "rccc-incast", "qp-scaling", "link-failure"}

// Subject holds what a user compares, as given on the command line.
type Subject struct {
	A, B      string
	Scenarios []string // built-ins' names or files' paths
	// Over names a folder of scenarios, a sweep, whose combinations of values are scenarios, a family of package search,
	// which has another scenario under each seed, or Bench.
	Over       string
	Controller string   // for sides that name none; empty: the scenario's first
	Sets       []string // of both sides
	Quick      bool
	Seeds      []uint64 // empty: the sweep's, or 1 to 40
	Memory     int64    // as in scenario.Reading
	Plane      plane.Opener
	Jobs       int
	NoPrograms bool // refuse programs as sides
}

// defaultSeeds is the number of seeds of a comparison that names none.
const defaultSeeds = 40

// kind tells what a side is.
type kind string

const (
	ofProgram    kind = "program"
	ofScenario   kind = "scenario"
	ofSetting    kind = "setting"
	ofController kind = "congestion control"
)

// side represents an alternative.
type side struct {
	kind kind
	text string
}

// parseSide decides what a user means by an alternative.
func parseSide(text string) (side, error) {
	_, builtin := scenario.BuiltinSource(text)
	switch {
	case strings.TrimSpace(text) == "":
		return side{}, errors.New("an alternative is empty (name a controller, a setting, a scenario or a program)")
	case isProgram(text):
		return side{ofProgram, text}, nil
	case strings.Contains(text, "=") && !scenario.IsFile(text):
		path, values, _ := strings.Cut(text, "=")
		all, err := sweep.ParseValues(values)
		if err != nil {
			return side{}, fmt.Errorf("%s: %w", text, err)
		}
		if len(all) > 1 {
			return side{}, fmt.Errorf("%s has %d values, but a side of a comparison has one (compare two of them: %s=%s %s=%s)",
				text, len(all), path, all[0], path, all[1])
		}
		return side{ofSetting, text}, nil
	case controllerfile.Is(text):
		return side{ofController, text}, nil
	case builtin == nil, files.IsStream(text):
		return side{ofScenario, text}, nil
	case scenario.LooksLikePath(text):
		if _, err := os.Stat(text); os.IsNotExist(err) {
			return side{}, fmt.Errorf("%s: no such file (name a controller, a setting, a scenario or a program)", text)
		}
		return side{ofScenario, text}, nil
	}
	return side{ofController, text}, nil
}

// isProgram reports whether a path is an executable file, and none that pausenet reads.
func isProgram(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || controllerfile.Is(path) || isYAML(path) {
		return false
	}
	return info.Mode()&0o111 != 0 || runtime.GOOS == "windows" && strings.EqualFold(filepath.Ext(path), ".exe")
}

func isYAML(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".yaml" || ext == ".yml"
}

// source represents a scenario to run: a built-in's name or a file's path, and settings.
type source struct {
	name string // within the comparison
	path string
	sets []string
	text func(seed uint64) (string, error) // generates the scenario; nil: it has the path

	family bool // text differs from seed to seed
}

// read reads the scenario of a seed.
func (f *source) read(reading scenario.Reading, seed uint64) (*scenario.Scenario, error) {
	if f.text == nil {
		return reading.Load(f.path)
	}
	text, err := f.text(seed)
	if err != nil {
		return nil, err
	}
	return reading.Parse(f.path, []byte(text))
}

// Bench holds the name under which Subject.Over has the public scenarios of bench cc.
const Bench = "cc"

// Cases returns the cases of the subject, and the seeds. Each error is a user's mistake.
func (s *Subject) Cases() ([]Case, []uint64, error) {
	a, err := parseSide(s.A)
	b, errB := parseSide(s.B)
	if err = errors.Join(err, errB); err != nil {
		return nil, nil, err
	}
	for _, of := range []side{a, b} {
		if of.kind == ofProgram && s.NoPrograms {
			return nil, nil, fmt.Errorf("%s is a program, which may not run here (compare controllers, settings or scenarios)",
				of.text)
		}
	}
	for _, kind := range []kind{ofProgram, ofScenario} {
		if (a.kind == kind) != (b.kind == kind) {
			if b.kind == kind {
				a, b = b, a
			}
			return nil, nil, fmt.Errorf("%s is a %s, but %s is a %s: compare two of a kind", a.text, kind, b.text, b.kind)
		}
	}
	for _, path := range append([]string{s.A, s.B}, s.Scenarios...) {
		if files.IsStream(path) {
			return nil, nil, fmt.Errorf("%s is a stream, which can be read once, but each side reads its scenario: "+
				"write it to a file first", path)
		}
	}
	sources, seeds, err := s.sources(a.kind)
	if err != nil {
		return nil, nil, err
	}
	for i := range sources {
		if slices.ContainsFunc(sources[:i], func(o source) bool { return o.name == sources[i].name }) {
			return nil, nil, fmt.Errorf("two scenarios are named %s: rename one of the files", sources[i].name)
		}
	}
	cases := make([]Case, len(sources))
	for i := range sources {
		cases[i].Name, cases[i].Family = sources[i].name, sources[i].family
		for k, of := range []side{a, b} {
			if cases[i].Runs[k], err = s.run(of, sources[i], seeds[0]); err != nil {
				return nil, nil, err // other scenarios would repeat most mistakes
			}
		}
	}
	return cases, seeds, nil
}

// sources returns the scenarios and seeds of a comparison of sides of this kind.
func (s *Subject) sources(of kind) (all []source, seeds []uint64, err error) {
	seeds = s.Seeds
	for _, path := range s.Scenarios {
		all = append(all, source{name: scenarioName(path), path: path, sets: s.Sets})
	}
	if s.Over != "" {
		more, own, err := s.over()
		if err != nil {
			return nil, nil, err
		}
		all = append(all, more...)
		if len(seeds) == 0 {
			seeds = own
		}
	}
	switch {
	case of == ofScenario && len(all) > 0:
		return nil, nil, fmt.Errorf("%s and %s are scenarios: leave out the others, or name two controllers or settings "+
			"before them", s.A, s.B)
	case of == ofScenario:
		all = []source{{name: scenarioName(s.A), sets: s.Sets}} // each side has its own path
	case len(all) == 0:
		for _, name := range DefaultScenarios {
			all = append(all, source{name: name, path: name, sets: s.Sets})
		}
	}
	if len(seeds) == 0 {
		for seed := range uint64(defaultSeeds) {
			seeds = append(seeds, seed+1)
		}
	}
	return all, seeds, nil
}

// scenarioName returns a scenario's name for people: a built-in's, or a file's without the extension.
func scenarioName(path string) string {
	if isYAML(path) {
		return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	return path
}

// over returns the scenarios of a folder or a sweep, and the sweep's seeds.
func (s *Subject) over() (all []source, seeds []uint64, err error) {
	if info, err := os.Stat(s.Over); err == nil && info.IsDir() {
		entries, err := os.ReadDir(s.Over)
		if err != nil {
			return nil, nil, err
		}
		for _, entry := range entries { // sorted by name
			if isYAML(entry.Name()) && !entry.IsDir() {
				path := filepath.Join(s.Over, entry.Name())
				all = append(all, source{name: scenarioName(path), path: path, sets: s.Sets})
			}
		}
		if len(all) == 0 {
			return nil, nil, fmt.Errorf("--over %s: the folder has no scenario's file (NAME.yaml)", s.Over)
		}
		return all, nil, nil
	}
	if s.Over == Bench {
		for _, d := range ccbench.Generate(ccbench.PublicSeed) {
			text := d.Text
			all = append(all, source{
				name: d.Name, path: d.Name + ".yaml", sets: s.Sets, text: func(uint64) (string, error) { return text, nil },
			})
		}
		return all, nil, nil
	}
	if family, err := readFamily(s.Over); family != nil || err != nil {
		if err != nil {
			return nil, nil, fmt.Errorf("--over: %w", err)
		}
		return []source{{name: family.Name, path: family.File, sets: s.Sets, text: family.Member, family: true}}, nil, nil
	}
	swept, err := sweep.Load(s.Over)
	if err != nil {
		return nil, nil, fmt.Errorf("--over: %w", err)
	}
	swept.Quick = s.Quick
	seeds, swept.Seeds, swept.Controllers = swept.Seeds, nil, nil
	points, err := swept.Points(s.Jobs)
	if err != nil {
		return nil, nil, fmt.Errorf("--over %s: %w", s.Over, err)
	}
	for i := range points {
		p := &points[i]
		own := source{name: p.Folder, path: p.Scenario, sets: slices.Concat(p.Sets, s.Sets)}
		if len(swept.Varying()) == 0 {
			own.name = scenarioName(p.Scenario)
		}
		if !slices.ContainsFunc(all, func(o source) bool { return o.name == own.name }) { // once for all controllers
			all = append(all, own)
		}
	}
	return all, seeds, nil
}

// readFamily reads a family of package search; nil: the file is none.
func readFamily(path string) (*search.Family, error) {
	if !isYAML(path) {
		return nil, nil
	}
	filename, data, err := scenario.ReadSpec(path)
	if err != nil || !new(yamlspec.Report).Parse("", data).Has("search") {
		return nil, nil // sweep.Load reports what is wrong
	}
	return search.Parse(filename, data)
}

// run returns how to run a scenario with a side.
func (s *Subject) run(of side, from source, seed uint64) (Run, error) {
	controller := s.Controller
	switch of.kind {
	case ofSetting:
		from.sets = append(slices.Clip(from.sets), of.text)
	case ofController:
		controller = of.text
	case ofScenario:
		from.path = of.text
	case ofProgram:
		return s.program(of.text, from), nil
	}
	reading := scenario.Reading{Memory: s.Memory, Quick: s.Quick, Sets: from.sets, Controllers: []string{controller}}
	loaded, err := from.read(reading, seed)
	if err != nil {
		return Run{}, err
	}
	names, err := loaded.ControllerNames([]string{cmp.Or(controller, loaded.Controllers[0])})
	if err != nil {
		return Run{}, fmt.Errorf("scenario %s: %w", from.name, err)
	}
	if len(names) != 1 {
		return Run{}, fmt.Errorf("%s means %d congestion controls, but a side of a comparison has one", controller,
			len(names))
	}
	if err := scenario.Check(loaded, names, seed); err != nil {
		return Run{}, err
	}
	o := runner.Options{Controller: names[0], Plane: s.Plane, Processors: workers.Share(0, s.Jobs)}
	return Run{
		Make: func(ctx context.Context, seed uint64) (*measure.Summary, error) {
			own, s := o, loaded
			if own.Seed = seed; from.text != nil {
				var err error
				if s, err = from.read(reading, seed); err != nil {
					return nil, err
				}
			}
			return runner.Watch(ctx, s, own, runner.Watching{})
		},
		Command: func(seed uint64) []string { return s.command("pausenet", from, cmp.Or(controller, names[0]), seed) },
		Text:    from.text,
	}, nil
}

// command returns the command that makes a run.
func (s *Subject) command(program string, from source, controller string, seed uint64) []string {
	args := []string{program, "run", from.path, "--seed", strconv.FormatUint(seed, 10)}
	if controller != "" {
		args = append(args, "--cc", controller)
	}
	for _, set := range from.sets {
		args = append(args, "--set", set)
	}
	if s.Quick {
		args = append(args, "--quick")
	}
	return args
}
