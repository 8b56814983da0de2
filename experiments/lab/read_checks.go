package lab

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// check reads one check. Runs and answers have been read before.
func (d *reader) check(v *yamlspec.Value) {
	if !v.IsMapping() {
		v.Errorf("a check is a mapping such as {title: Nobody is paused, points: 2, run: mine, metric: pauses, most: 0}")
		return
	}
	var c Check
	m := c.keys().Decode(v)
	checkPoints(m.Get("points"), c.Points)
	answer, verdict, metric := written(m.Get("answer")), written(m.Get("verdict")), written(m.Get("metric"))
	setting, steps := written(m.Get("setting")), written(m.Get("steps"))
	d.runName(m.Get("run"), c.Run)
	switch {
	case answer != nil && verdict != nil || setting != nil && (answer != nil || verdict != nil || metric != nil):
		v.Errorf("answer, verdict, setting and metric: a check is of one of them")
	case setting != nil:
		d.setting(v, m, setting, &c)
		others(m, "a setting", "of", "least", "most")
	case answer != nil:
		d.answer(v, m, answer, metric, &c)
		others(m, "an answer", append([]string{"is", "tolerance", "metric", "relative_to"}, measure.FlowSetKeys...)...)
	case verdict != nil:
		if len(few(verdict)) == 0 {
			verdict.Errorf("a verdict that the run may have is missing: PASS, WARN or FAIL, or several of them")
		}
		for _, word := range c.verdict {
			c.Verdict = append(c.Verdict, measure.Status(word))
		}
		others(m, "a verdict", "message")
	case steps != nil:
		others(m, "steps")
	case metric != nil:
		d.figure(m, &c.Row)
		kind, _ := c.kind()
		c.Least, c.Most = bound(m.Get("least"), kind, c.Row.RelativeTo != ""), bound(m.Get("most"), kind,
			c.Row.RelativeTo != "")
		if m.Get("least") == nil && m.Get("most") == nil {
			v.Errorf("a metric is bounded: give least, most or both")
		}
		others(m, "a metric", append([]string{"least", "most", "relative_to"}, measure.FlowSetKeys...)...)
	default:
		v.Errorf("a check has an answer, a verdict, a setting, steps or a metric")
	}
	if c.Run == "" && answer == nil && setting == nil {
		v.Errorf("missing key %q", "run")
	}
	d.e.Checks = append(d.e.Checks, c)
}

// ofKinds are the keys of checks that not all kinds of checks have.
var ofKinds = append([]string{
	"metric", "relative_to", "least", "most", "steps", "verdict", "message", "answer", "is", "tolerance", "setting", "of",
}, measure.FlowSetKeys...)

// others reports keys that a kind of check does not have, besides the one that makes it of this kind.
func others(m *yamlspec.Mapping, kind string, known ...string) {
	for _, key := range ofKinds {
		if !slices.Contains(known, key) && !strings.HasSuffix(kind, key) {
			m.Key(key).Errorf("%s has no effect on a check of %s", key, kind)
		}
	}
}

// written is a value, or nil if nothing stands there: "verdict:" alone makes no check.
func written(v *yamlspec.Value) *yamlspec.Value {
	if v.IsScalar() || v.IsSequence() || v.IsMapping() {
		return v
	}
	return nil
}

// kind is what the check's figure, or its answer, is; changes are in per cent.
func (c *Check) kind() (k measure.Kind, known bool) {
	if metric := measure.MetricByName(c.Row.Metric); metric != nil {
		return metric.Kind, true
	}
	return measure.KindCount, false
}

func (d *reader) answer(v *yamlspec.Value, m *yamlspec.Mapping, answer, metric *yamlspec.Value, c *Check) {
	var q *Question
	if c.Answer != "" {
		if q = d.e.question(c.Answer); q == nil {
			var names []string
			for i := range d.e.Answers {
				names = append(names, d.e.Answers[i].Name)
			}
			answer.Errorf("hand_in asks for no answer %q%s", c.Answer, yamlspec.Suggest(c.Answer, names))
		}
	}
	is := written(m.Get("is"))
	switch {
	case is != nil && metric != nil:
		is.Errorf("is and metric: an answer is compared with one of them")
	case metric != nil:
		d.figure(m, &c.Row)
		if kind, known := c.kind(); known && q != nil && c.Row.RelativeTo == "" && kind.Name != q.Kind.Name {
			metric.Errorf("%s is %s, and the answer %s is %s", c.Row.Metric, kind.Name, q.Name, q.Kind.Name)
		}
		if c.Run == "" {
			v.Errorf("missing key %q: whose %s it is", "run", c.Row.Metric)
		}
	case is != nil && q != nil:
		c.Is = bound(is, q.Kind, false)
	case is == nil:
		v.Errorf("an answer is compared with a number (is), or with a run's metric")
	}
}

// setting reads a bound on a value of a changed scenario. Its kind is that of the bound.
func (d *reader) setting(v *yamlspec.Value, m *yamlspec.Mapping, setting *yamlspec.Value, c *Check) {
	of := m.Get("of")
	if of == nil {
		v.Errorf("missing key %q", "of")
	}
	if c.Changed != "" {
		if changed := d.e.changed(c.Changed); changed == nil {
			of.Errorf("hand_in has no scenario %q", c.Changed)
		} else if !changed.may(c.Setting) {
			setting.Errorf("%q is no place that a student may change in %s", c.Setting, c.Changed)
		}
	}
	for _, b := range []struct {
		v    *yamlspec.Value
		into **float64
	}{{m.Get("least"), &c.Least}, {m.Get("most"), &c.Most}} {
		if b.v == nil {
			continue
		}
		if kind, x := anyKind(b.v.Raw()); kind == nil || c.kindOf != nil && c.kindOf.Name != kind.Name {
			b.v.Errorf("%q: a bound is a number, a time, a rate or a size, and both are of one kind", b.v.Raw())
		} else {
			c.kindOf, *b.into = kind, &x
		}
	}
	if c.Least == nil && c.Most == nil {
		v.Errorf("a setting is bounded: give least, most or both")
	}
}

// anyKind is a value of whichever kind it is; nil: of none.
func anyKind(text string) (kind *measure.Kind, value float64) {
	for _, k := range []measure.Kind{measure.KindSize, measure.KindTime, measure.KindRate, measure.KindCount} {
		if x, err := k.Parse(text); err == nil {
			return &k, x
		}
	}
	return nil, 0
}

// runName reports a name of no run.
func (d *reader) runName(v *yamlspec.Value, name string) {
	if name == "" || d.e.run(name) != nil {
		return
	}
	var names []string
	for i := range d.e.Runs {
		names = append(names, d.e.Runs[i].Name)
	}
	v.Errorf("there is no run %q%s", name, yamlspec.Suggest(name, names))
}

// figure reads which figure of a run is meant.
func (d *reader) figure(m *yamlspec.Mapping, row *measure.PublishedRow) {
	d.runName(m.Get("relative_to"), row.RelativeTo)
	known := measure.MetricByName(row.Metric)
	if known == nil {
		return
	}
	for _, key := range measure.FlowSetKeys {
		if known.OfRun {
			m.Get(key).Errorf("%s is of the whole run, not of some flows", row.Metric)
		}
	}
	row.Label = row.Name(known)
	if units := known.Kind.UnitNames(); row.RelativeTo == "" && len(units) > 0 {
		row.Unit = units[0]
	}
	row.Values = []measure.Printed{"0"} // what it is compared with is the check's
}

// bound reads a value in the base unit, or a change in per cent.
func bound(v *yamlspec.Value, kind measure.Kind, change bool) *float64 {
	if v == nil {
		return nil
	}
	text := v.Raw()
	if change {
		number, percent := strings.CutSuffix(text, "%")
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if !percent || err != nil || x != x {
			v.Errorf("a change against another run is in per cent: write one like -30%%")
			return nil
		}
		return &x
	}
	x, err := kind.Parse(text)
	if err != nil {
		v.Errorf("%v", err)
		return nil
	}
	return &x
}

// score reads a figure by which hand-ins are ranked.
func (d *reader) score(v *yamlspec.Value) {
	var s Score
	m := s.keys().Decode(v)
	d.runName(m.Get("run"), s.Run)
	d.figure(m, &s.Row)
	d.e.Score = append(d.e.Score, s)
}
