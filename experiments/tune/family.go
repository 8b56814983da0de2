package tune

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/explore"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// Tuning describes what to tune, and on what.
type Tuning struct {
	Name   string
	File   string
	Under  string // controller or variant
	Metric *explore.Quantity
	Lowest bool // low values are better
	Limits []Limit
	// TradeOff holds what the objective is weighed against, lower values being better; nil: nothing.
	TradeOff *explore.Quantity
	Train    []uint64 // seeds
	HoldOut  []uint64 // seeds
	Budget   int      // candidates
	Seed     uint64

	data     []byte   // of the file
	more     [][]byte // of the other scenarios
	template *explore.Template
	vary     []parameter
	others   []other // scenarios of the hold-out beside the file itself
	sources  []files.Source
}

// Limit represents a constraint on every run.
type Limit struct {
	Quantity *explore.Quantity
	AtMost   bool // otherwise at least
	Value    float64
}

// String describes the limit.
func (l *Limit) String() string {
	sign := ">="
	if l.AtMost {
		sign = "<="
	}
	return fmt.Sprintf("%s %s %s", l.Quantity.Name, sign, l.Quantity.Text(l.Value))
}

type parameter struct {
	path   string
	values *explore.Range
}

// other is a scenario of the hold-out.
type other struct {
	name, file string
	template   *explore.Template
}

const usualBudget = 100

// Parse reads a file with a section tune. The error holds every mistake with its position.
func Parse(filename string, data []byte) (*Tuning, error) {
	report := new(yamlspec.Report)
	root := report.Parse(filename, data)
	if root == nil {
		return nil, report.Err()
	}
	t := &Tuning{
		Name: strings.TrimSuffix(filepath.Base(filename), filepath.Ext(filename)), File: filename, data: data,
		Budget: usualBudget, Seed: 1, Train: []uint64{1, 2, 3},
	}
	m := root.Mapping()
	if !root.Has("tune") {
		root.Errorf("the file has no section tune: it says what may vary and what to improve (docs/tune.md)")
		return nil, report.Err()
	}
	m.Get("name").String(&t.Name)
	t.decode(m.Get("tune"))
	if err := report.Err(); err != nil {
		return nil, err
	}
	if err := t.check(root); err != nil {
		return nil, err
	}
	t.template = explore.NewTemplate(scenario.ReachTopology(root, filepath.Dir(filename), "topology.nodes"))
	return t, report.Err()
}

func (t *Tuning) decode(v *yamlspec.Value) {
	m := v.Mapping()
	m.Need("under").String(&t.Under)
	if o := m.Need("objective"); o != nil {
		om, goal := o.Mapping(), "lowest"
		t.Metric = explore.ReadQuantity(om.Need("metric"))
		om.Get("goal").Choice(&goal, "lowest", "highest")
		t.Lowest = goal == "lowest"
		om.Done()
	}
	for _, item := range m.Get("constraints").Mappings("a constraint is a mapping such as {metric: drops, at_most: 0}") {
		t.limit(item)
	}
	t.TradeOff = explore.ReadQuantity(m.Get("trade_off"))
	m.Need("vary").Mapping().All(func(key, value *yamlspec.Value) {
		t.vary = append(t.vary, parameter{key.Raw(), explore.ReadRange(value)})
	})
	m.Get("budget").Int(&t.Budget, 1, 1_000_000)
	seed := 1
	m.Get("seed").Int(&seed, 0, 1<<31-1)
	t.Seed = uint64(seed)
	readSeeds(m.Get("seeds"), &t.Train)
	if h := m.Need("holdout"); h != nil {
		t.holdout(h)
	}
	m.Done()
}

func (t *Tuning) holdout(v *yamlspec.Value) {
	m := v.Mapping()
	readSeeds(m.Need("seeds"), &t.HoldOut)
	for _, seed := range t.HoldOut {
		if slices.Contains(t.Train, seed) {
			m.Get("seeds").Errorf("seed %d is also one of the training seeds: hold-out runs must be new", seed)
			break
		}
	}
	for _, n := range m.Get("scenarios").Names() {
		file, data, err := readScenario(filepath.Dir(t.File), n.Text)
		if err != nil {
			n.At.Errorf("%v", err)
			continue
		}
		root := v.Report().Parse(file, data)
		if root != nil {
			t.others = append(t.others, other{n.Text, file, explore.NewTemplate(root)})
			t.more = append(t.more, data)
		}
	}
	m.Done()
}

// readScenario reads a built-in scenario, or a file relative to a folder.
func readScenario(dir, name string) (file string, data []byte, err error) {
	if data, err := scenario.BuiltinSource(name); err == nil {
		return name + ".yaml", data, nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return scenario.ReadSpec(name)
}

// limit reads a constraint.
func (t *Tuning) limit(v *yamlspec.Value) {
	m := v.Mapping()
	l := Limit{Quantity: explore.ReadQuantity(m.Need("metric")), AtMost: true}
	value := m.Get("at_most")
	if least := m.Get("at_least"); least != nil {
		if value != nil {
			least.Errorf("a constraint has at_most or at_least: write two constraints")
		}
		value, l.AtMost = least, false
	}
	m.Done()
	switch {
	case l.Quantity == nil:
	case value == nil:
		v.Errorf("the constraint needs at_most or at_least")
	default:
		var err error
		if l.Value, err = l.Quantity.Kind.Parse(value.Raw()); err != nil {
			value.Errorf("%v", err)
		}
	}
	t.Limits = append(t.Limits, l)
}

func readSeeds(v *yamlspec.Value, into *[]uint64) {
	if v == nil {
		return
	}
	texts := lists.Map(v.Items(), func(item *yamlspec.Value) string { return item.Raw() })
	seeds, err := sweep.ParseSeeds(strings.Join(texts, ","))
	if err != nil {
		v.Errorf("%v", err)
	}
	*into = seeds
}

// check finds mistakes that show only in a scenario.
func (t *Tuning) check(root *yamlspec.Value) error {
	reading := scenario.Reading{Controllers: []string{t.Under}}
	data := explore.Blanked(t.data, root)
	s, err := reading.Parse(t.File, data)
	if err == nil {
		err = scenario.Check(s, []string{t.Under}, t.Train...)
	}
	if err != nil {
		return err
	}
	t.sources = s.Recipe.Written().Sources
	for draw := range uint64(20) { // a combination may be impossible: only a path with a mistake is always
		reading.Sets = nil
		for _, set := range t.settings(t.draw(explore.NewRandom(t.Seed, draw))) {
			reading.Sets = append(reading.Sets, set.Path+"="+set.Value)
		}
		if _, err = reading.Parse(t.File, data); err == nil {
			return nil
		}
	}
	return fmt.Errorf("tune.vary: %w", err)
}

// draw returns random values of the parameters.
func (t *Tuning) draw(r *explore.Random) []string {
	return lists.Map(t.vary, func(p parameter) string { return p.values.Draw(r) })
}

// settings returns the settings of a candidate; a value of "" is the file's own.
func (t *Tuning) settings(values []string) (all []explore.Setting) {
	for i, v := range values {
		if v != "" {
			all = append(all, explore.Setting{Path: t.vary[i].path, Value: v})
		}
	}
	return all
}
