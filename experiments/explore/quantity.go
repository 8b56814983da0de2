package explore

import (
	"slices"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// Quantity describes what is measured of a run: a metric of published tables, or one of the words below.
type Quantity struct {
	Name string
	Kind measure.Kind
	// of returns the quantity, NaN if the run has none. hint tells which of two runs with equal values is nearer to a
	// higher one; nil: nothing does.
	of, hint func(*measure.Summary) float64
}

// words are the quantities that are no metrics.
var words = []Quantity{
	{
		Name: "deadlock", Kind: measure.KindCount,
		of: func(s *measure.Summary) float64 { return truth(s.Faults != nil && len(s.Faults.Deadlocks) > 0) },
		// A deadlock is a chain of PAUSEs that has met its own beginning.
		hint: func(s *measure.Summary) float64 { return float64(s.PFC.Spread.Depth)*1e3 + float64(s.PFC.SwitchPauses) },
	},
	{
		Name: "lossless_drops", Kind: measure.KindCount,
		of:   func(s *measure.Summary) float64 { return float64(s.Drops.Lossless) },
		hint: func(s *measure.Summary) float64 { return float64(s.PeakIngress) },
	},
	{
		Name: "fail", Kind: measure.KindCount,
		of: func(s *measure.Summary) float64 { return truth(s.Verdict.Status == measure.Fail) },
	},
	{
		Name: "warn", Kind: measure.KindCount,
		of: func(s *measure.Summary) float64 { return truth(s.Verdict.Status != measure.Pass) },
	},
	{
		// A broken invariant is a FAIL that neither a deadlock nor a lossless drop explains.
		Name: "invariant", Kind: measure.KindCount,
		of: func(s *measure.Summary) float64 {
			return truth(s.Verdict.Status == measure.Fail && s.Drops.Lossless == 0 &&
				(s.Faults == nil || len(s.Faults.Deadlocks) == 0))
		},
	},
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
	m := measure.MetricByName(name)
	if m == nil {
		v.Errorf("unknown quantity %q%s", name, yamlspec.Suggest(name, QuantityNames()))
		return nil
	}
	return &Quantity{Name: name, Kind: m.Kind, of: func(s *measure.Summary) float64 {
		flows := &s.Flows
		if m.Tag != "" {
			of := s.ByTag[m.Tag]
			flows = &of
		}
		return m.Of(s, flows)
	}}
}
