package sweep

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// ownKeys lists keys that only a sweep has, below its key "sweep".
var ownKeys = []string{"scenario", "parameters"}

// Is reports whether data looks like a sweep's file.
func Is(data []byte) bool {
	root := new(yamlspec.Report).Parse("", data)
	return root.Has("sweep") || slices.ContainsFunc(ownKeys, root.Has)
}

// Parse reads a sweep's file. The error holds every mistake with its position. Points reports the mistakes that show
// only in a point's scenario.
func Parse(filename string, data []byte) (*Sweep, error) {
	report := new(yamlspec.Report)
	root := report.Parse(filename, data)
	if root == nil {
		return nil, report.Err()
	}
	s := &Sweep{Name: strings.TrimSuffix(filepath.Base(filename), filepath.Ext(filename)), File: filename, report: report}
	s.note(filename, sha256.Sum256(data))
	for _, key := range ownKeys {
		if root.Has(key) && !root.Has("sweep") {
			root.At(key).Errorf("%s belongs below the key sweep, as in \"sweep: {scenario: incast, parameters: "+
				"{flows.0.size: [20KB, 40KB]}}\"", key)
			return nil, report.Err()
		}
	}
	m := s.keys().Decode(root)
	if scenario.Nameless(s.Name) {
		root.Errorf("the file's name cannot name the folder of results: add the key name")
	}
	s.decode(m.Get("sweep").Mapping(), filepath.Dir(filename))
	if err := report.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// Keys returns the keys of a sweep's file.
func Keys() keys.Table { return new(Sweep).keys() }

func (s *Sweep) keys() keys.Table {
	controllers := *scenario.Keys().Find("controllers")
	controllers.Name = "sweep.controllers"
	return keys.Table{
		keys.Matching("name", &s.Name, scenario.NamePattern,
			"a sweep's name is letters, digits, '.', '_' and '-', since it names a folder").Usually("the file's name").Means(
			"name of the results folder"),
		keys.Text("description", &s.Description).Means("for people"),
		keys.GroupOf("sweep", &keys.Group{}).Need(),
		keys.Names("sweep.scenario").Need().Means("built-ins' names or files' paths"),
		keys.Other("sweep.parameters", "lists by path", func() keys.Schema {
			return keys.MapOf(keys.ListOf(keys.OfTypes("string", "number", "boolean")))
		}).Means("paths of the scenario, as for `--set`, and their values"),
		controllers.Usually("the scenario's"),
		keys.Other("sweep.seeds", "numbers and ranges", func() keys.Schema {
			return keys.ListOf(keys.OfTypes("string", "integer"))
		}).Usually("the scenario's").Means("seeds and ranges of seeds"),
		keys.Other("sweep.metrics", "names", func() keys.Schema {
			return keys.ListOf(keys.AnyOf(keys.Schema{"enum": measure.MetricNames()}, keys.Schema{"pattern": "^[a-z0-9_]+:.+$"}))
		}).Means("metrics in tables and charts; `METRIC:TAG` covers only flows with the tag"),
	}
}

func (s *Sweep) decode(m *yamlspec.Mapping, dir string) {
	for _, item := range m.Get("scenario").Items() {
		s.scenario(item, dir)
	}
	m.Get("parameters").Mapping().All(func(key, value *yamlspec.Value) {
		if p := decodeParameter(key, value); len(p.Values) > 0 {
			s.Parameters = append(s.Parameters, p)
		}
	})
	for _, item := range m.Get("controllers").Items() {
		var name string
		if item.IsMapping() {
			// The scenario reports mistakes in it.
			s.variants = append(s.variants, variant{"controllers.+=" + item.Flow(), item})
			name = item.At("name").Raw()
			s.Controllers, s.controllersAt = append(s.Controllers, name), append(s.controllersAt, item)
			continue
		}
		if item.String(&name) {
			if controllerfile.Is(name) && !filepath.IsAbs(name) { // relative to the sweep's folder
				name = filepath.Join(dir, name)
			}
			s.Controllers, s.controllersAt = append(s.Controllers, name), append(s.controllersAt, item)
		}
	}
	seeds := m.Get("seeds")
	texts := lists.Map(seeds.Items(), func(item *yamlspec.Value) string { return item.Raw() })
	if seeds != nil {
		var err error
		if s.Seeds, err = ParseSeeds(strings.Join(texts, ",")); err != nil {
			seeds.Errorf("%v", err)
		}
	}
	for _, item := range m.Get("metrics").Items() {
		var name string
		if !item.String(&name) {
			continue
		}
		if err := CheckMetric(name); err != nil {
			item.Errorf("%v", err)
			continue
		}
		s.Metrics = append(s.Metrics, name)
	}
}

// scenario reads a scenario of the sweep: a built-in's name, or a file's path relative to the sweep's.
func (s *Sweep) scenario(v *yamlspec.Value, dir string) {
	var loaded string
	if !v.String(&loaded) {
		return
	}
	if _, err := scenario.BuiltinSource(loaded); err != nil {
		if path := filepath.Join(dir, loaded); !filepath.IsAbs(loaded) &&
			(scenario.LooksLikePath(loaded) || scenario.IsFile(path)) {
			loaded = path
		} else if !scenario.LooksLikePath(loaded) {
			v.Errorf("%v", err)
			return
		}
		if info, err := os.Stat(loaded); err != nil {
			v.Errorf("scenario: %v", err)
		} else if info.IsDir() {
			v.Errorf("scenario: %s is a folder, not a scenario's file", loaded)
		}
	}
	s.Scenarios = append(s.Scenarios, loaded)
}

// decodeParameter reads a parameter's values: a list, whose items may be ranges, or a single item.
func decodeParameter(key, value *yamlspec.Value) Parameter {
	p := Parameter{Path: key.Raw(), key: key}
	if value.IsMapping() {
		value.Errorf("a parameter needs a list of values, or a range such as 10us..30us:5us")
		return p
	}
	if value.IsScalar() && len(splitValues(value.Raw())) > 1 {
		value.Errorf("write several values as a list: [%s]", value.Raw())
		return p
	}
	seen := map[string]bool{}
	for _, item := range value.Items() {
		var text string
		if item.IsSequence() {
			item.Errorf("quote a value that is a list: '[3, 4]'")
			continue
		}
		if !item.String(&text) {
			continue
		}
		values := []string{text}
		if rangeText.MatchString(strings.TrimSpace(text)) {
			var err error
			if values, err = ParseValues(text); err != nil {
				item.Errorf("%v", err)
			}
		}
		for _, v := range values {
			if seen[v] {
				item.Errorf("value %s is listed twice", v)
			}
			seen[v] = true
			p.Values, p.at = append(p.Values, v), append(p.at, item)
		}
	}
	if len(p.Values) == 0 {
		key.Errorf("parameter %s has no values", p.Path)
	}
	return p
}

// Load reads a sweep, or a scenario as a sweep, by a built-in's name or a file's path.
func Load(nameOrPath string) (*Sweep, error) {
	_, err := scenario.BuiltinSource(nameOrPath)
	if err == nil {
		return &Sweep{Name: nameOrPath, Scenarios: []string{nameOrPath}}, nil
	}
	if data, err := scenario.BuiltinSweepSource(nameOrPath); err == nil {
		return Parse(nameOrPath+".yaml", data)
	} else if !scenario.LooksLikePath(nameOrPath) {
		hint := spelling.Suggest(nameOrPath, append(scenario.BuiltinSweepNames(), scenario.BuiltinNames()...))
		if hint == "" {
			hint = ": pausenet list prints the names; write a file's name with .yaml"
		}
		return nil, fmt.Errorf("no built-in sweep or scenario %q%s", nameOrPath, hint)
	}
	filename, data, err := scenario.ReadSpec(nameOrPath)
	if err != nil {
		return nil, err
	}
	if Is(data) {
		return Parse(filename, data)
	}
	if files.IsStream(nameOrPath) {
		return nil, fmt.Errorf("%s is a scenario, which a sweep reads once for each point: write it to a file first",
			filename)
	}
	s, err := scenario.Parse(filename, data, nil)
	if err != nil {
		return nil, err
	}
	return &Sweep{Name: s.Name, Scenarios: []string{nameOrPath}}, nil
}
