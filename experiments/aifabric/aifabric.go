// Package aifabric runs the tests of the IETF draft on benchmarking AI training fabrics
// (draft-calabria-bmwg-ai-fabric-training-bench) that a fabric model can answer. A test consists of scenarios,
// and of values computed from the files of their runs: table.go lists the tests, and the folder scenarios has the
// scenarios. The package builds no fabric and knows no scenario by its name.
//
// The draft sets no acceptance criteria, and forbids some reference values. So a verdict here tells whether a value is
// within its bound. It does not judge a fabric.
package aifabric

import (
	"cmp"
	"embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/suite"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

// Draft names the document that defines the tests.
const Draft = "draft-calabria-bmwg-ai-fabric-training-bench-04"

//go:embed scenarios/*.yaml
var scenarios embed.FS

// Options selects the tests and their runs.
type Options struct {
	Quick bool // fewer cases, shorter runs
	// Topology names a built-in topology or a file. Tests that work on any fabric use it. Empty: each test uses its
	// scenario's own.
	Topology string
	Sets     []string // settings of every scenario, as for --set; keys that the test itself sets take precedence
	Seed     uint64   // 0: each scenario's own seed
	// Seeds repeats each run with each seed, one iteration per seed. Rows then hold means and coefficients of
	// variation. Seeds takes precedence over Seed.
	Seeds []uint64
}

// Bench holds the tests, ready to be run. The caller runs Scenarios and passes the results to Report.
type Bench struct {
	Scenarios []suite.Scenario
	// Left lists the cases that need a larger topology.
	Left  []string
	runs  []planned // cases, by scenario
	quick bool
}

// planned holds a case of a test and the scenario to run for it.
type planned struct {
	test *test
	at   *testCase
}

// New reads the scenarios of all tests, changed as the options say.
func New(o Options) (*Bench, error) {
	if len(o.Seeds) == 1 {
		o.Seed, o.Seeds = o.Seeds[0], nil
	}
	b := &Bench{quick: o.Quick}
	hosts := 0
	if o.Topology != "" {
		n, path, err := topologyOf(o.Topology)
		if err != nil {
			return nil, fmt.Errorf("--topology: %w", err)
		}
		hosts, o.Topology = n, path
	}
	for i := range tests {
		t := &tests[i]
		for k := range t.cases {
			c := &t.cases[k]
			if o.Quick && c.long {
				continue
			}
			if hosts > 0 && t.any && c.hosts > hosts {
				b.Left = append(b.Left, fmt.Sprintf("%s, %s, needs %d hosts", t.title, c.label, c.hosts))
				continue
			}
			s, err := t.read(c, &o)
			if err != nil {
				return nil, fmt.Errorf("%s (section %s), %s: %w", t.title, t.section, c.label, err)
			}
			controller := cmp.Or(c.controller, s.Controllers[0])
			if err := scenario.Check(s, []string{controller}, o.Seeds...); err != nil {
				return nil, fmt.Errorf("%s (section %s), %s: %w", t.title, t.section, c.label, err)
			}
			b.Scenarios = append(b.Scenarios, suite.Scenario{
				Scenario: s, Controllers: []string{controller}, Seed: s.Seed,
				Seeds: o.Seeds,
			})
			b.runs = append(b.runs, planned{t, c})
		}
	}
	return b, nil
}

// read reads a case's scenario. Test and case give its name, and so its folder.
func (t *test) read(c *testCase, o *Options) (*scenario.Scenario, error) {
	sets := slices.Concat(o.Sets, t.set, c.set, []string{"name=" + slug(t.section+"-"+t.name+"-"+c.label)})
	if o.Topology != "" && t.any {
		sets = append([]string{"topology=" + o.Topology}, sets...)
	}
	r := scenario.Reading{Quick: o.Quick, Sets: sets}
	var s *scenario.Scenario
	data, err := scenarios.ReadFile("scenarios/" + t.scenario + ".yaml")
	if err == nil {
		s, err = r.Parse(t.scenario+".yaml", data)
	} else {
		s, err = r.Load(t.scenario) // one that comes with the program
	}
	if err == nil && o.Seed != 0 {
		s, err = s.WithSeed(o.Seed)
	}
	return s, err
}

// topologyOf returns the number of hosts of a topology, and an absolute name of it for scenarios in any folder.
func topologyOf(name string) (hosts int, path string, err error) {
	read := spec.Builtin
	if scenario.LooksLikePath(name) {
		read = spec.Load
		if name, err = filepath.Abs(name); err != nil {
			return 0, "", err
		}
	}
	plan, err := read(name)
	if err != nil {
		return 0, "", err
	}
	return len(plan.Hosts), name, nil
}

// slug converts a text to a folder's name.
func slug(text string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, text), "-")
}

// run holds the results of a case's run.
type run struct {
	scenario  *scenario.Scenario
	summary   *measure.Summary
	directory string // folder of its files
}

func (r *run) plan() *topologies.Plan { return r.scenario.Topology }

// Report computes the report from the runs. results and locations come from suite.Run and suite.Locations; runs that
// were not made count in no row.
func (b *Bench) Report(results [][]*runner.Result, of *suite.Suite) (*Report, error) {
	report := &Report{Draft: Draft, Quick: b.quick, Left: b.Left}
	first := map[*test][]*run{} // the runs of a test's first case, by seed
	for i := range b.runs {
		p := &b.runs[i]
		locations := of.Locations(&b.Scenarios[i])
		runs := make([]*run, len(locations))
		for k, location := range locations {
			if i >= len(results) || k >= len(results[i]) || results[i][k] == nil {
				continue
			}
			s, err := b.Scenarios[i].Scenario, error(nil)
			if len(locations) > 1 {
				s, err = s.WithSeed(location.Seed)
			}
			if err != nil {
				return nil, err
			}
			runs[k] = &run{s, &results[i][k].Summary, location.Path()}
		}
		if slices.IndexFunc(runs, func(r *run) bool { return r != nil }) < 0 {
			continue
		}
		if first[p.test] == nil {
			first[p.test] = runs
		}
		for k := range p.test.values {
			v := &p.test.values[k]
			if !strings.Contains(p.at.label, v.only) {
				continue
			}
			row, err := v.row(p, runs, first[p.test])
			if err != nil {
				return nil, err
			}
			report.Rows = append(report.Rows, row)
		}
	}
	report.Iterations = 1
	if len(b.Scenarios) > 0 {
		report.Iterations = max(len(b.Scenarios[0].Seeds), 1)
	}
	return report, nil
}
