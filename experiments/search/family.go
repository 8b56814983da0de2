package search

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/explore"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
)

// Family describes scenarios that differ in what may vary.
type Family struct {
	Name      string
	File      string
	Objective Objective
	Budget    int // candidates
	Seed      uint64
	Cases     int // most cases to report

	data     []byte
	template *explore.Template
	vary     []parameter
	flows    []flowGroup
	faults   []faultGroup
	seed     uint64         // of the runs
	sources  []files.Source // files that the family was read from
	plans    map[string]*topologies.Plan
}

// Objective defines the worst case.
type Objective struct {
	Quantity *explore.Quantity
	Under    string // controller or variant of the family
	Against  string // another one; empty: the quantity of Under alone
	As       string // "ratio" or "difference" of Under to Against
	Lowest   bool   // look for the lowest value
	// AtLeast holds the value from which on a candidate is a case; with Lowest, up to which.
	AtLeast float64
	Keep    float64 // fraction of the value that a shrunk case keeps; 0: only AtLeast matters
}

type parameter struct {
	path   string
	values *explore.Range
}

// flowGroup describes flows that are drawn alike.
type flowGroup struct {
	tag         string
	count       *explore.Range
	from, to    ends
	size, start *explore.Range
	with        string // further keys, ", priority: 3"
}

// faultGroup describes faults of links that are drawn alike.
type faultGroup struct {
	count *explore.Range
	links ends
	at    *explore.Range
	with  string
}

// ends holds names of hosts or links, or a word for a set of them.
type ends struct {
	word  string
	names []string
}

// Limits and defaults.
const (
	mostCandidates = 1_000_000
	usualBudget    = 400
	usualCases     = 5
	usualKeep      = 0.9
)

// Parse reads a family's file. The error holds every mistake with its position.
func Parse(filename string, data []byte) (*Family, error) {
	report := new(yamlspec.Report)
	root := report.Parse(filename, data)
	if root == nil {
		return nil, report.Err()
	}
	f := &Family{
		Name: strings.TrimSuffix(filepath.Base(filename), filepath.Ext(filename)), File: filename, data: data,
		Budget: usualBudget, Seed: 1, Cases: usualCases, seed: 1, plans: map[string]*topologies.Plan{},
	}
	if !root.Has("search") {
		root.Errorf("the file has no section search: it says what to look for and what may vary (docs/search.md)")
		return nil, report.Err()
	}
	m := root.Mapping()
	m.Get("name").String(&f.Name)
	f.decodeSeed(m.Get("seed"), &f.seed)
	f.decode(m.Get("search"))
	if err := report.Err(); err != nil {
		return nil, err
	}
	if err := f.check(root); err != nil {
		return nil, err
	}
	if m.Get("topology").IsScalar() { // a case stands alone, also in another folder
		root = scenario.ReachTopology(root, filepath.Dir(filename), "topology.nodes")
	}
	f.template = explore.NewTemplate(root)
	return f, report.Err()
}

func (f *Family) decodeSeed(v *yamlspec.Value, into *uint64) {
	n := 0
	if v.Int(&n, 0, math.MaxInt32) {
		*into = uint64(n)
	}
}

func (f *Family) decode(v *yamlspec.Value) {
	m := v.Mapping()
	if o := m.Need("objective"); o != nil {
		f.objective(o)
	}
	m.Get("budget").Int(&f.Budget, 1, mostCandidates)
	m.Get("cases").Int(&f.Cases, 1, 100)
	f.decodeSeed(m.Get("seed"), &f.Seed)
	m.Get("vary").Mapping().All(func(key, value *yamlspec.Value) {
		f.vary = append(f.vary, parameter{key.Raw(), explore.ReadRange(value)})
	})
	for _, item := range m.Get("flows").Mappings("flows that vary are a mapping such as {count: 2..12, from: all, to: " +
		"all, size: 10KB..1MB log}") {
		f.flowGroup(item)
	}
	for _, item := range m.Get("faults").Mappings("faults that vary are a mapping such as {count: 0..2, links: " +
		"switches, at: 0us..200us}") {
		f.faultGroup(item)
	}
	if len(f.vary)+len(f.flows)+len(f.faults) == 0 {
		v.Errorf("nothing may vary: add vary, flows or faults")
	}
	m.Done()
}

func (f *Family) objective(v *yamlspec.Value) {
	o, m := &f.Objective, v.Mapping()
	o.Keep, o.As = usualKeep, "ratio"
	o.Quantity = explore.ReadQuantity(m.Need("metric"))
	m.Need("under").String(&o.Under)
	m.Get("against").String(&o.Against)
	if as := m.Get("as"); as != nil {
		if as.Choice(&o.As, "ratio", "difference") && o.Against == "" {
			as.Errorf("as compares two controllers: add against")
		}
	}
	goal := "highest"
	m.Get("goal").Choice(&goal, "highest", "lowest")
	o.Lowest = goal == "lowest"
	if at := m.Need("at_least"); at != nil {
		f.threshold(at)
	}
	if keep := m.Get("keep"); keep.Float(&o.Keep) && (o.Keep < 0 || o.Keep > 1) {
		keep.Errorf("keep %v: expected a number from 0 to 1", o.Keep)
	}
	m.Done()
}

// threshold reads at_least: a number for a ratio, otherwise a value in the quantity's unit.
func (f *Family) threshold(v *yamlspec.Value) {
	o := &f.Objective
	if o.Quantity == nil {
		return
	}
	if o.Against != "" && o.As == "ratio" {
		v.Float(&o.AtLeast)
		return
	}
	x, err := o.Quantity.Kind.Parse(v.Raw())
	if err != nil {
		v.Errorf("at_least: %v", err)
	}
	o.AtLeast = x
}

func (f *Family) flowGroup(v *yamlspec.Value) {
	m := v.Mapping()
	g := flowGroup{
		count: explore.ReadRange(m.Need("count")), from: readEnds(m.Get("from"), "all"), to: readEnds(m.Get("to"), "all"),
		size: explore.ReadRange(m.Need("size")), start: explore.ReadRange(m.Get("start")), with: readWith(m.Get("with")),
	}
	m.Get("tag").String(&g.tag)
	whole(m.Get("count"), g.count)
	m.Done()
	f.flows = append(f.flows, g)
}

func (f *Family) faultGroup(v *yamlspec.Value) {
	m := v.Mapping()
	g := faultGroup{
		count: explore.ReadRange(m.Need("count")), links: readEnds(m.Get("links"), "all"),
		at: explore.ReadRange(m.Need("at")), with: cmp.Or(readWith(m.Get("with")), ", down: true"),
	}
	whole(m.Get("count"), g.count)
	m.Done()
	f.faults = append(f.faults, g)
}

// whole reports a count that is no whole number of 0..10000.
func whole(v *yamlspec.Value, r *explore.Range) {
	if r == nil {
		return
	}
	good := r.Whole && r.Low >= 0 && r.High <= 10_000
	if r.Values != nil {
		good = len(r.Values) == 1 && v.Int(new(int), 0, 10_000)
	}
	if !good {
		v.Errorf("count: expected a whole number or a range such as 2..12")
	}
}

// readEnds reads names, "all", or for links "hosts" or "switches".
func readEnds(v *yamlspec.Value, usual string) ends {
	if v == nil {
		return ends{word: usual}
	}
	if word := v.Raw(); slices.Contains([]string{"all", "hosts", "switches"}, word) {
		return ends{word: word}
	}
	var e ends
	for _, n := range v.Names() {
		e.names = append(e.names, n.Text)
	}
	return e
}

// readWith returns the fields of a mapping as the rest of one in brackets.
func readWith(v *yamlspec.Value) (text string) {
	v.Mapping().All(func(key, value *yamlspec.Value) { text += ", " + key.Flow() + ": " + value.Flow() })
	return text
}

// check finds mistakes that show only in a scenario: those of the family, and those of paths that vary.
func (f *Family) check(root *yamlspec.Value) error {
	reading := scenario.Reading{Live: true, Controllers: f.controllers()}
	data := explore.Blanked(f.data, root)
	s, err := reading.Parse(f.File, data)
	if err != nil {
		return err
	}
	f.sources = s.Recipe.Written().Sources
	for draw := range uint64(20) { // a combination may be impossible: only a path with a mistake is always
		random := explore.NewRandom(f.Seed, draw)
		reading.Sets = nil
		for _, p := range f.vary {
			reading.Sets = append(reading.Sets, p.path+"="+p.values.Draw(random))
		}
		if _, err = reading.Parse(f.File, data); err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("search.vary: %w", err)
	}
	for _, name := range f.controllers() {
		if _, _, err := s.Controller(name); err != nil {
			return err
		}
	}
	return nil
}

// controllers returns the names of the runs of each candidate.
func (f *Family) controllers() []string {
	if f.Objective.Against == "" {
		return []string{f.Objective.Under}
	}
	return []string{f.Objective.Under, f.Objective.Against}
}
