package sweep

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/scenario/lint"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/orchestrator/engine/partition"
	"github.com/pausenet/pausenet/vtime"
)

// Sweep describes scenarios to run at every combination of parameters' values, seeds and controllers.
type Sweep struct {
	Name        string `json:"name"` // for people
	Description string `json:"description,omitempty"`
	// built-ins' names or files' paths; several scenarios vary before the parameters
	Scenarios   []string    `json:"scenarios"`
	Quick       bool        `json:"quick,omitempty"` // apply the scenarios' quick changes
	Parameters  []Parameter `json:"parameters,omitempty"`
	Controllers []string    `json:"controllers,omitempty"` // as the user names them; empty: the scenario's
	Seeds       []uint64    `json:"seeds,omitempty"`       // empty: the scenario's
	// shown in tables and charts, by the names in docs/scenarios.md; empty: defaultMetrics
	Metrics []string `json:"metrics,omitempty"`
	// File names the file of the sweep, and Sources the files of its points with their hashes; both are empty for a
	// sweep from flags.
	File    string       `json:"file,omitempty"`
	Sources []FileSource `json:"sources,omitempty"`

	report        *yamlspec.Report  // of the sweep's file; nil: it came from flags
	controllersAt []*yamlspec.Value // positions of the file's controllers
	variants      []variant
}

// variant describes a variant that a sweep's file adds to its scenarios.
type variant struct {
	set string // setting that adds it
	at  *yamlspec.Value
}

// Parameter describes a path in the scenario, as for --set, and its values. A single value is a setting of every point
// and not part of their names.
type Parameter struct {
	Path   string   `json:"path"`
	Values []string `json:"values"`

	key *yamlspec.Value   // position of the path in the sweep's file; nil: from a flag
	at  []*yamlspec.Value // positions of the values
}

// Point describes one run of a sweep.
type Point struct {
	// Folder names the point within the sweep; the runs of its controllers are below that folder.
	Folder     string   `json:"folder"`
	Scenario   string   `json:"scenario"` // a built-in's name or a file's path
	Controller string   `json:"controller"`
	Seed       uint64   `json:"seed"`
	Values     []string `json:"values,omitempty"` // values of the varying parameters
	// the settings that turn the scenario into the point's, including the seed
	Sets []string `json:"set,omitempty"`
	// controller files that the sweep names beside the scenario, by path
	Files []string `json:"controller_files,omitempty"`
	// Hash holds the hash of the resolved configuration, as in the run's manifest.
	Hash string `json:"configuration_sha256"`
	// SameAs names an earlier point with an equal configuration and so equal results; empty: none.
	SameAs   string     `json:"same_as,omitempty"`
	Duration vtime.Time `json:"-"` // of the scenario, in virtual time
	Workers  int        `json:"-"` // maximum number of workers for its run
	Warnings []string   `json:"-"` // likely mistakes in the point
}

// Name returns the point's name for people: "xoff=256KB,seed=2 dcqcn".
func (p *Point) Name() string { return p.Folder + " " + p.Controller }

// mostPoints limits the points of a sweep. More are a mistake, and would fill any disk.
const mostPoints = 100_000

// scenarioPath stands for the scenario among the varying parameters.
const scenarioPath = "scenario"

// Varying returns the parameters with several values, after the scenario if there are several.
func (s *Sweep) Varying() []Parameter {
	var varying []Parameter
	if len(s.Scenarios) > 1 {
		names := make([]string, len(s.Scenarios))
		for i, scenario := range s.Scenarios {
			names[i] = scenarioLabel(scenario)
		}
		varying = append(varying, Parameter{Path: scenarioPath, Values: names})
	}
	for _, p := range s.Parameters {
		if len(p.Values) > 1 {
			varying = append(varying, p)
		}
	}
	return varying
}

// scenarioLabel returns a scenario's name within a sweep: its file's name without the extension.
func scenarioLabel(nameOrPath string) string {
	return strings.TrimSuffix(filepath.Base(nameOrPath), filepath.Ext(nameOrPath))
}

// Points returns the sweep's runs: by scenario, then by the parameters' values with the first parameter slowest, then
// by controller, then by seed. It resolves jobs points at a time, and its error holds the mistakes of all of them,
// each once.
func (s *Sweep) Points(jobs int) ([]Point, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	cells := s.cells()
	resolved := make([][]Point, len(cells))
	read := make([][]files.Source, len(cells))
	errs := make([]error, len(cells))
	var all errgroup.Group
	all.SetLimit(max(jobs, 1))
	for i := range cells {
		all.Go(func() error {
			resolved[i], read[i], errs[i] = s.resolve(&cells[i])
			return nil // collect every mistake, not only the first
		})
	}
	_ = all.Wait()
	if err := s.mistakes(errs); err != nil {
		return nil, err
	}
	for i := range read {
		s.read(read[i])
	}
	points := slices.Concat(resolved...)
	order := map[string]int{}
	for i := range points {
		key := strings.Join(points[i].Values, "\n")
		if _, known := order[key]; !known {
			order[key] = len(order)
		}
	}
	controllers := map[string]int{}
	for i := range points {
		if _, known := controllers[points[i].Controller]; !known {
			controllers[points[i].Controller] = len(controllers)
		}
	}
	slices.SortStableFunc(points, func(a, b Point) int {
		return cmp.Or(
			cmp.Compare(order[strings.Join(a.Values, "\n")], order[strings.Join(b.Values, "\n")]),
			cmp.Compare(controllers[a.Controller], controllers[b.Controller]),
		)
	})
	nameDuplicates(points)
	return points, nil
}

// check reports mistakes in the sweep itself.
func (s *Sweep) check() error {
	n := max(len(s.Seeds), 1) * len(s.Scenarios)
	for i, scenario := range s.Scenarios {
		if slices.ContainsFunc(s.Scenarios[:i], func(o string) bool { return scenarioLabel(o) == scenarioLabel(scenario) }) {
			return fmt.Errorf("two scenarios of the sweep have the name %s: rename one of the files", scenarioLabel(scenario))
		}
	}
	for i, p := range s.Parameters {
		switch {
		case p.Path == "seed":
			return errors.New("seed cannot be a parameter: use --seeds, or seeds in the sweep's file")
		case slices.ContainsFunc(s.Parameters[:i], func(o Parameter) bool { return o.Path == p.Path }):
			return fmt.Errorf("parameter %s is listed twice: remove one", p.Path)
		}
		if n *= len(p.Values); n > mostPoints {
			return fmt.Errorf("the sweep has more than %d points: remove values", mostPoints)
		}
	}
	for _, name := range s.Metrics {
		if err := CheckMetric(name); err != nil {
			return err
		}
	}
	return s.overwritten()
}

// CheckMetric returns an error if there is no metric of a name.
func CheckMetric(name string) error {
	if measure.MetricByName(name) != nil {
		return nil
	}
	hint := spelling.Suggest(name, measure.MetricNames())
	switch base, tag, tagged := strings.Cut(name, ":"); {
	case tagged && measure.MetricByName(base) != nil && tag == "":
		hint = ": the tag after the colon is missing"
	case tagged && measure.MetricByName(base) != nil:
		hint = fmt.Sprintf(": %s describes the whole run, not flows with a tag", base)
	case hint == "":
		hint = ": the metrics are " + strings.Join(measure.MetricNames(), ", ")
	}
	return fmt.Errorf("unknown metric %q%s", name, hint)
}

// cell represents a combination of values with a seed, for all controllers.
type cell struct {
	folder   string
	scenario string
	values   []string
	sets     []string
}

// cells returns all combinations.
func (s *Sweep) cells() []cell {
	varying := s.Varying()
	labels := shortest(varying)
	var cells []cell
	for _, scenario := range s.Scenarios {
		c := cell{scenario: scenario}
		if len(s.Scenarios) > 1 {
			c.values = []string{scenarioLabel(scenario)}
		}
		for _, v := range s.variants {
			c.sets = append(c.sets, v.set)
		}
		cells = append(cells, c)
	}
	for _, p := range s.Parameters {
		var next []cell
		for _, c := range cells {
			for _, v := range p.Values {
				n := cell{scenario: c.scenario, values: c.values, sets: append(slices.Clip(c.sets), p.Path+"="+v)}
				if len(p.Values) > 1 {
					n.values = append(slices.Clip(c.values), v)
				}
				next = append(next, n)
			}
		}
		cells = next
	}
	if len(s.Seeds) > 0 {
		var next []cell
		for _, c := range cells {
			for _, seed := range s.Seeds {
				next = append(next, cell{
					scenario: c.scenario, values: c.values,
					sets: append(slices.Clip(c.sets), fmt.Sprintf("seed=%d", seed)),
				})
			}
		}
		cells = next
	}
	taken := map[string]bool{}
	for i := range cells {
		c := &cells[i]
		var words []string
		for k, v := range c.values {
			if varying[k].Path != scenarioPath {
				v = labels[k] + "=" + v
			}
			words = append(words, v)
		}
		if len(s.Seeds) > 0 {
			words = append(words, c.sets[len(c.sets)-1])
		}
		c.folder = folderName(words, taken)
	}
	return cells
}

// shortest returns the shortest ends of the parameters' paths, in whole words, that are distinct: xoff for
// switch.pfc.xoff.
func shortest(parameters []Parameter) []string {
	end := func(path string, words int) string {
		all := strings.Split(path, ".")
		return strings.Join(all[max(0, len(all)-words):], ".")
	}
	labels := make([]string, len(parameters))
	for i, p := range parameters {
		words := 1
		for slices.ContainsFunc(parameters, func(o Parameter) bool {
			return o.Path != p.Path && end(o.Path, words) == end(p.Path, words) && end(p.Path, words) != p.Path
		}) {
			words++
		}
		labels[i] = end(p.Path, words)
	}
	return labels
}

// unsafeName matches characters that are unsafe in a folder's name on some system or in a shell.
var unsafeName = regexp.MustCompile(`[^A-Za-z0-9._=+,%-]+`)

// longestFolder limits names of folders, well below the 255 bytes that file systems allow.
const longestFolder = 120

// folderName returns a unique name for a point's folder, on file systems with or without case sensitivity.
func folderName(words []string, taken map[string]bool) string {
	whole := strings.Join(words, ",")
	name := strings.Trim(unsafeName.ReplaceAllString(whole, "_"), ".")
	if name == "" {
		name = "point"
	}
	if len(name) > longestFolder || taken[strings.ToLower(name)] {
		sum := sha256.Sum256([]byte(whole))
		name = name[:min(len(name), longestFolder)] + "-" + hex.EncodeToString(sum[:4])
	}
	taken[strings.ToLower(name)] = true
	return name
}

// resolve returns a cell's points, one for each controller, and the files that they were read from.
func (s *Sweep) resolve(c *cell) ([]Point, []files.Source, error) {
	loaded, err := scenario.Reading{Quick: s.Quick, Sets: c.sets, Controllers: s.Controllers}.Load(c.scenario)
	if err != nil {
		return nil, nil, err
	}
	controllers := loaded.Controllers
	if len(s.Controllers) > 0 {
		if controllers, err = s.controllerNames(loaded); err != nil {
			return nil, nil, err
		}
	}
	if err := scenario.Check(loaded, controllers); err != nil {
		return nil, nil, err
	}
	tags := loaded.Tags()
	for _, m := range s.shown() {
		if m.Tag != "" && !slices.Contains(tags, m.Tag) {
			return nil, nil, fmt.Errorf("metric %s: no flow has the tag %q (the tags are %s)", m.Name, m.Tag,
				strings.Join(tags, ", "))
		}
	}
	points, workers := make([]Point, len(controllers)), partition.Workers(loaded.Topology)
	own := slices.DeleteFunc(slices.Clone(s.Controllers), func(name string) bool { return !controllerfile.Is(name) })
	for i, controller := range controllers {
		hash, err := scenario.ConfigurationHash(loaded, controller, loaded.Seed)
		if err != nil {
			return nil, nil, err
		}
		points[i] = Point{
			Folder: c.folder, Scenario: c.scenario, Controller: controller, Seed: loaded.Seed, Values: c.values,
			Sets: c.sets, Files: own, Hash: hash, Duration: loaded.Duration, Workers: workers,
			Warnings: lint.Warnings(loaded, []string{controller}),
		}
	}
	return points, loaded.Recipe.Written().Sources, nil
}

// positionError adds the position in the sweep's file to a mistake.
type positionError struct {
	at  *yamlspec.Value
	err error
}

func (e *positionError) Error() string { return e.err.Error() }

// controllerNames returns the names of the sweep's controllers in a scenario.
func (s *Sweep) controllerNames(scenario *scenario.Scenario) ([]string, error) {
	names, err := scenario.ControllerNames(s.Controllers)
	if err == nil {
		return names, nil
	}
	for i, at := range s.controllersAt {
		if i >= len(s.Controllers) || s.Controllers[i] != at.Raw() && !controllerfile.Is(at.Raw()) {
			break // flags have replaced the file's
		}
		if _, err := scenario.ControllerNames(s.Controllers[:i+1]); err != nil {
			return nil, &positionError{at, err}
		}
	}
	return nil, err
}

// mistakes joins the errors of the points, each mistake once, with the position in the sweep's file of a value that a
// scenario rejects.
func (s *Sweep) mistakes(errs []error) error {
	seen := map[string]bool{}
	var all []error
	add := func(key string, err error) {
		if !seen[key] {
			seen[key] = true
			all = append(all, err)
		}
	}
	for _, err := range errs {
		var (
			problems yamlspec.Problems
			placed   *positionError
		)
		if errors.As(err, &placed) {
			placed.at.Errorf("%v", placed.err)
			continue
		}
		if !errors.As(err, &problems) {
			if err != nil {
				add(err.Error(), err)
			}
			continue
		}
		for _, p := range problems {
			if at := s.position(p); at != nil {
				at.Errorf("%s", p.Message)
				continue
			}
			key := p.Error()
			// a wrong path is wrong for each value
			if path, _, isSetting := strings.Cut(p.Source, "="); isSetting && p.File == yamlspec.SettingName {
				key = path + ": " + p.Message
			}
			add(key, p)
		}
	}
	if s.report != nil && s.report.Err() != nil {
		all = append([]error{s.report.Err()}, all...)
	}
	return errors.Join(all...)
}

// position returns the position in the sweep's file of the setting with a problem; nil if the problem is elsewhere.
func (s *Sweep) position(p yamlspec.Problem) *yamlspec.Value {
	if p.File != yamlspec.SettingName {
		return nil
	}
	for _, v := range s.variants {
		if v.set == p.Source {
			return v.at
		}
	}
	for _, parameter := range s.Parameters {
		for i, v := range parameter.Values {
			switch {
			case parameter.key == nil || parameter.Path+"="+v != p.Source:
			case p.Column <= len([]rune(parameter.Path)):
				return parameter.key
			default:
				return parameter.at[i]
			}
		}
	}
	return nil
}

// ParseSetting parses a parameter of a sweep from a flag: "path=v1,v2" or "path=a..b:step".
func ParseSetting(setting string) (Parameter, error) {
	report := new(yamlspec.Report)
	path, text, found := strings.Cut(setting, "=")
	at := report.Parse(yamlspec.SettingName, []byte(setting))
	if !found || strings.TrimSpace(path) == "" {
		at.Errorf("a parameter must be path=values, such as switch.pfc.xoff=256KB,320KB or " +
			"flows.burst.interval=10us..30us:5us")
		return Parameter{}, report.Err()
	}
	values, err := ParseValues(text)
	if err != nil {
		at.Errorf("%v", err)
	}
	return Parameter{Path: strings.TrimSpace(path), Values: values}, report.Err()
}

// Set adds parameters from flags, as ParseSetting reads them. Each replaces the file's parameter with the same path.
func (s *Sweep) Set(settings []string) error {
	var errs []error
	for _, setting := range settings {
		p, err := ParseSetting(setting)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.Replace(p)
	}
	return errors.Join(errs...)
}

// ParseSeeds parses seeds: "1..5" or "1,7,9".
func ParseSeeds(text string) ([]uint64, error) {
	for _, sign := range []string{"-", ":"} {
		if from, to, both := strings.Cut(text, sign); both && isSeed(from) && isSeed(to) {
			return nil, fmt.Errorf("seeds %q: write %s..%s for each seed from %s to %s", text, from, to, from, to)
		}
	}
	values, err := ParseValues(text)
	if err != nil {
		return nil, err
	}
	seeds := make([]uint64, len(values))
	for i, v := range values {
		if seeds[i], err = scenario.ParseSeed(v); err != nil {
			return nil, err
		}
	}
	return seeds, nil
}

func isSeed(text string) bool {
	_, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	return err == nil
}

// Replace adds a parameter, and replaces one with the same path.
func (s *Sweep) Replace(p Parameter) {
	for i := range s.Parameters {
		if s.Parameters[i].Path == p.Path && s.Parameters[i].key != nil {
			s.Parameters[i] = p
			return
		}
	}
	s.Parameters = append(s.Parameters, p)
}

// defaultMetrics lists the metrics in a sweep's tables and charts by default.
var defaultMetrics = []string{"fct_mean", "fct_p99", "slowdown_p99", "goodput", "pauses", "pauses_between_switches"}

// shown returns the metrics in tables and charts.
func (s *Sweep) shown() []*measure.Metric {
	names := s.Metrics
	if len(names) == 0 {
		names = defaultMetrics
	}
	return measure.MetricsNamed(names)
}
