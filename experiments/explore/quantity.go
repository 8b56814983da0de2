package explore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/analysis/bound"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// Quantity describes what is measured of a run: a metric of published tables, or one of the words below.
type Quantity struct {
	Name string
	Kind measure.Kind
	// of returns the quantity, NaN if the run has none. hint tells which of two runs with equal values is nearer to a
	// higher one; nil: nothing does.
	of   func(*scenario.Scenario, *measure.Summary) float64
	hint func(*measure.Summary) float64
}

// words are the quantities that are no metrics.
var words = []Quantity{
	{
		Name: "deadlock", Kind: measure.KindCount,
		of: func(_ *scenario.Scenario, s *measure.Summary) float64 {
			return truth(s.Faults != nil && len(s.Faults.Deadlocks) > 0)
		},
		// A deadlock is a chain of PAUSEs that has met its own beginning.
		hint: func(s *measure.Summary) float64 { return float64(s.PFC.Spread.Depth)*1e3 + float64(s.PFC.SwitchPauses) },
	},
	{
		Name: "lossless_drops", Kind: measure.KindCount,
		of:   func(_ *scenario.Scenario, s *measure.Summary) float64 { return float64(s.Drops.Lossless) },
		hint: func(s *measure.Summary) float64 { return float64(s.PeakIngress) },
	},
	{
		Name: "fail", Kind: measure.KindCount,
		of: func(_ *scenario.Scenario, s *measure.Summary) float64 { return truth(s.Verdict.Status == measure.Fail) },
	},
	{
		Name: "warn", Kind: measure.KindCount,
		of: func(_ *scenario.Scenario, s *measure.Summary) float64 { return truth(s.Verdict.Status != measure.Pass) },
	},
	{Name: "over_bound", Kind: measure.KindCount, of: overBound},
	{
		// A broken invariant is a FAIL that neither a deadlock nor a lossless drop explains.
		Name: "invariant", Kind: measure.KindCount,
		of: func(_ *scenario.Scenario, s *measure.Summary) float64 {
			return truth(s.Verdict.Status == measure.Fail && s.Drops.Lossless == 0 &&
				(s.Faults == nil || len(s.Faults.Deadlocks) == 0))
		},
	},
}

// overBound returns the flows' mean slowdown over its proven lower bound. A run has none if flows have not ended, or if
// there is no bound for its flows.
func overBound(s *scenario.Scenario, sum *measure.Summary) float64 {
	sized := 0
	for i := range s.Flows {
		if !s.Flows[i].Waits() {
			sized++
		}
	}
	if sized == 0 || sized != len(s.Flows) || sum.Flows.Completed < sized {
		return math.NaN()
	}
	b, err := bound.LeastSlowdown(s, func(int) float64 { return 1 / float64(sized) })
	if err != nil {
		return math.NaN()
	}
	return sum.Flows.Slowdown.Mean / b.Least
}

// summaryPrefix begins the names of quantities of summary.json: "summary.pfc.spread.depth".
const summaryPrefix = "summary."

// checkSummary returns an error if summary.json has no number or truth value at a path.
func checkSummary(path string) error {
	t, sofar := reflect.TypeFor[measure.Summary](), strings.TrimSuffix(summaryPrefix, ".")
	for _, key := range strings.Split(path, ".") {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		var names []string
		switch t.Kind() {
		case reflect.Map:
			t = t.Elem()
		case reflect.Slice:
			if t = t.Elem(); strings.Trim(key, "0123456789") != "" || key == "" {
				return fmt.Errorf("%s is a list: expected %s.0 for its first item, not %q", sofar, sofar, key)
			}
		case reflect.Struct:
			at := slices.IndexFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if name != "" && name != "-" && name != "speed" { // speed depends on the machine
					names = append(names, name)
				}
				return name == key && key != "" && key != "speed"
			})
			if at < 0 {
				return fmt.Errorf("%s has no number %q (expected one of %s)", sofar, key, strings.Join(names, ", "))
			}
			t = reflect.VisibleFields(t)[at].Type
		default:
			return fmt.Errorf("%s is a single value: leave .%s out", sofar, key)
		}
		sofar += "." + key
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.String:
		return fmt.Errorf("%s is not a number: name one in it (docs/files.md)", sofar)
	}
	return nil
}

// ofSummary returns a number or truth value of summary.json, NaN if it has none at the path.
func ofSummary(path string) func(*scenario.Scenario, *measure.Summary) float64 {
	return func(_ *scenario.Scenario, s *measure.Summary) float64 {
		data, err := json.Marshal(s)
		var v any
		if err != nil || json.Unmarshal(data, &v) != nil {
			return math.NaN()
		}
		for _, key := range strings.Split(path, ".") {
			switch in := v.(type) {
			case map[string]any:
				v = in[key]
			case []any:
				if i, err := strconv.Atoi(key); err == nil && i < len(in) {
					v = in[i]
				} else {
					v = nil
				}
			}
		}
		switch v := v.(type) {
		case float64:
			return v
		case bool:
			return truth(v)
		}
		return math.NaN()
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// QuantityNames returns the names of all quantities.
func QuantityNames() []string {
	names := measure.MetricNames()
	for i := range words {
		names = append(names, words[i].Name)
	}
	return names
}

// ReadQuantity reads the name of a quantity and reports an unknown one. It returns nil for these.
func ReadQuantity(v *yamlspec.Value) *Quantity {
	var name string
	if v == nil || !v.String(&name) {
		return nil
	}
	if i := slices.IndexFunc(words, func(q Quantity) bool { return q.Name == name }); i >= 0 {
		return &words[i]
	}
	if path, is := strings.CutPrefix(name, summaryPrefix); is {
		if err := checkSummary(path); err != nil {
			v.Errorf("%v", err)
		}
		return &Quantity{Name: name, Kind: measure.KindCount, of: ofSummary(path)}
	}
	m := measure.MetricByName(name)
	if m == nil {
		v.Errorf("unknown quantity %q%s", name, cmp.Or(spelling.Suggest(name, QuantityNames()),
			": expected one of "+strings.Join(QuantityNames(), ", ")+", or summary.KEY of summary.json"))
		return nil
	}
	return &Quantity{Name: name, Kind: m.Kind, of: func(_ *scenario.Scenario, s *measure.Summary) float64 {
		flows := &s.Flows
		if m.Tag != "" {
			of := s.ByTag[m.Tag]
			flows = &of
		}
		return m.Of(s, flows)
	}}
}
