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

	"github.com/pausenet/pausenet/experiments/ccfile"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/orchestrator/engine/partition"
	"github.com/pausenet/pausenet/vtime"
)

// Sweep is scenarios to be run at every combination of their parameters' values, their seeds and their controllers.
type Sweep struct {
	Name        string `json:"name"` // for people
	Description string `json:"description,omitempty"`
	// built-ins' names or files' paths; of several the scenario is the first that varies
	Scenarios   []string    `json:"scenarios"`
	Quick       bool        `json:"quick,omitempty"` // with the scenarios' quick changes, where they have any
	Parameters  []Parameter `json:"parameters,omitempty"`
	Controllers []string    `json:"controllers,omitempty"` // as a user names them; empty: the scenario's
	Seeds       []uint64    `json:"seeds,omitempty"`       // empty: the scenario's
	// that tables and charts show, of docs/scenarios.md; empty: defaultMetrics
	Metrics []string `json:"metrics,omitempty"`
	// File is what it was read from, and what its points were resolved from as they were; none of what came from flags.
	File    string       `json:"file,omitempty"`
	Sources []FileSource `json:"sources,omitempty"`

	report        *yamlspec.Report  // of the file that it was read from; nil: it came from flags
	controllersAt []*yamlspec.Value // of each controller of the file's
	variants      []variant
}

// variant is a variant that a sweep's file adds to its scenarios.
type variant struct {
	set string // the setting that adds it
	at  *yamlspec.Value
}

// Parameter is a place of the scenario, as --set names it, and the values it takes. One value is a setting of every
// point, and names none.
type Parameter struct {
	Path   string   `json:"path"`
	Values []string `json:"values"`

	key *yamlspec.Value   // the path's place in the sweep's file; nil: in a flag
	at  []*yamlspec.Value // of each value
}

// Point is one run of a sweep.
type Point struct {
	// Folder names the point among those of the sweep; its controllers' runs are below it.
	Folder     string   `json:"folder"`
	Scenario   string   `json:"scenario"` // a built-in's name or a file's path
	Controller string   `json:"controller"`
	Seed       uint64   `json:"seed"`
	Values     []string `json:"values,omitempty"` // by what varies
	// the settings that make the scenario the point's, the seed among them
	Sets []string `json:"set,omitempty"`
	// with congestion controls that the sweep names beside the scenario, by path
	Files []string `json:"controller_files,omitempty"`
	// Hash is that of the resolved configuration, as in the run's manifest.
	Hash string `json:"configuration_sha256"`
	// SameAs names an earlier point of an equal configuration, which this one comes out like; empty: there is none.
	SameAs   string     `json:"same_as,omitempty"`
	Duration vtime.Time `json:"-"` // virtual, of the scenario
	Workers  int        `json:"-"` // that can drive it at once, at most
	Warnings []string   `json:"-"` // of what is off with it, though it can be run
}

// Name is the point for people: "xoff=256KB,seed=2 dcqcn".
func (p *Point) Name() string { return p.Folder + " " + p.Controller }

// mostPoints bounds a sweep: more is a slip, and would fill any disk.
const mostPoints = 100_000

// scenarioPath stands for the scenario among what varies.
const scenarioPath = "scenario"

// Varying are the parameters with several values, and before them the scenario if there are several.
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

// scenarioLabel is a scenario's name among a sweep's: its file's, less the extension.
func scenarioLabel(nameOrPath string) string {
	return strings.TrimSuffix(filepath.Base(nameOrPath), filepath.Ext(nameOrPath))
}

// Points are the sweep's runs: by scenario, then by the parameters' values, the first parameter slowest, then by
// controller, then by seed. Every point is resolved, jobs at a time, so the error has the mistakes of all of them, each
// once.
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
			return nil // every mistake is to be told, not the first alone
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

// check finds what is wrong with the sweep itself.
func (s *Sweep) check() error {
	n := max(len(s.Seeds), 1) * len(s.Scenarios)
	for i, scenario := range s.Scenarios {
		if slices.ContainsFunc(s.Scenarios[:i], func(o string) bool { return scenarioLabel(o) == scenarioLabel(scenario) }) {
			return fmt.Errorf("two scenarios of the sweep are called %s", scenarioLabel(scenario))
		}
	}
	for i, p := range s.Parameters {
		switch {
		case p.Path == "seed":
			return errors.New("seeds are swept with --seeds, or with seeds in the sweep's file, not as a parameter")
		case slices.ContainsFunc(s.Parameters[:i], func(o Parameter) bool { return o.Path == p.Path }):
			return fmt.Errorf("parameter %s is there twice", p.Path)
		}
		if n *= len(p.Values); n > mostPoints {
			return fmt.Errorf("more than %d points", mostPoints)
		}
	}
	for _, name := range s.Metrics {
		if err := checkMetric(name); err != nil {
			return err
		}
	}
	return s.overwritten()
}

// checkMetric returns an error if there is no metric of a name.
func checkMetric(name string) error {
	if measure.MetricByName(name) != nil {
		return nil
	}
	hint := yamlspec.Suggest(name, measure.MetricNames())
	switch base, tag, tagged := strings.Cut(name, ":"); {
	case tagged && measure.MetricByName(base) != nil && tag == "":
		hint = ": the tag is missing after the colon"
	case tagged && measure.MetricByName(base) != nil:
		hint = fmt.Sprintf(": %s is a metric of the whole run, not of flows with a tag", base)
	case hint == "":
		hint = ": the metrics are " + strings.Join(measure.MetricNames(), ", ")
	}
	return fmt.Errorf("unknown metric %q%s", name, hint)
}

// cell is a combination of values with a seed, under any controller.
type cell struct {
	folder   string
	scenario string
	values   []string
	sets     []string
}

// cells are all combinations.
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

// shortest are the ends of the parameters' paths, in whole words, as many as tell them apart: xoff of switch.pfc.xoff.
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

// unsafeName is what a folder's name should not have on one of the systems that pausenet runs on, or in a shell.
var unsafeName = regexp.MustCompile(`[^A-Za-z0-9._=+,%-]+`)

// longestFolder leaves room below the 255 bytes that file systems allow.
const longestFolder = 120

// folderName is a name for a point's folder that no other has, on a file system that tells capitals apart or not.
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

// resolve makes a cell's points, one a controller, and says what they were read from.
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
	for i, controller := range controllers {
		hash, err := scenario.ConfigurationHash(loaded, controller, loaded.Seed)
		if err != nil {
			return nil, nil, err
		}
		points[i] = Point{
			Folder: c.folder, Scenario: c.scenario, Controller: controller, Seed: loaded.Seed, Values: c.values,
			Sets: c.sets, Files: slices.DeleteFunc(slices.Clone(s.Controllers),
				func(name string) bool { return !ccfile.Is(name) }), Hash: hash, Duration: loaded.Duration,
			Workers: workers, Warnings: scenario.Warnings(loaded, []string{controller}),
		}
	}
	return points, loaded.Recipe.Written().Sources, nil
}

// placedError is a mistake with its place in the sweep's file.
type placedError struct {
	at  *yamlspec.Value
	err error
}

func (e *placedError) Error() string { return e.err.Error() }

// controllerNames are the names of the sweep's controllers in a scenario.
func (s *Sweep) controllerNames(scenario *scenario.Scenario) ([]string, error) {
	names, err := scenario.ControllerNames(s.Controllers)
	if err == nil {
		return names, nil
	}
	for i, at := range s.controllersAt {
		if i >= len(s.Controllers) || s.Controllers[i] != at.Raw() && !ccfile.Is(at.Raw()) {
			break // flags have replaced the file's
		}
		if _, err := scenario.ControllerNames(s.Controllers[:i+1]); err != nil {
			return nil, &placedError{at, err}
		}
	}
	return nil, err
}

// mistakes joins what is wrong with the points, each mistake once, and says where in the sweep's file a value is that a
// scenario refuses.
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
			placed   *placedError
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
			if at := s.place(p); at != nil {
				at.Errorf("%s", p.Message)
				continue
			}
			key := p.Error()
			// what is wrong with a path is so for each value
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

// place is where in the sweep's file the setting stands that a problem is about; nil if it is about something else.
func (s *Sweep) place(p yamlspec.Problem) *yamlspec.Value {
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

// ParseSetting reads a parameter of a sweep from a flag: "path=v1,v2" or "path=a..b:step".
func ParseSetting(setting string) (Parameter, error) {
	report := new(yamlspec.Report)
	path, text, found := strings.Cut(setting, "=")
	at := report.Parse(yamlspec.SettingName, []byte(setting))
	if !found || strings.TrimSpace(path) == "" {
		at.Errorf("a parameter is path=values, such as switch.pfc.xoff=256KB,320KB or flows.burst.interval=10us..30us:5us")
		return Parameter{}, report.Err()
	}
	values, err := ParseValues(text)
	if err != nil {
		at.Errorf("%v", err)
	}
	return Parameter{Path: strings.TrimSpace(path), Values: values}, report.Err()
}

// Set gives the sweep parameters of flags, as ParseSetting reads them; each takes the place of the file's own of its
// path.
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

// ParseSeeds reads seeds: "1..5" or "1,7,9".
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

// Replace gives the sweep a parameter, in place of one of its path if it has that.
func (s *Sweep) Replace(p Parameter) {
	for i := range s.Parameters {
		if s.Parameters[i].Path == p.Path && s.Parameters[i].key != nil {
			s.Parameters[i] = p
			return
		}
	}
	s.Parameters = append(s.Parameters, p)
}
