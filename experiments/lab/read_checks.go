package lab

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// check reads one check. It runs after runs and answers.
func (d *reader) check(v *yamlspec.Value) {
	if !v.IsMapping() {
		v.Errorf("a check must be a mapping such as {title: Nobody is paused, points: 2, run: mine, metric: pauses, most: 0}")
		return
	}
	c := Check{Times: 1}
	m := c.keys().Decode(v)
	checkPoints(m.Get("points"), c.Points)
	answer, verdict, metric := written(m.Get("answer")), written(m.Get("verdict")), written(m.Get("metric"))
	setting, steps := written(m.Get("setting")), written(m.Get("steps"))
	picture, like := written(m.Get("picture")), written(m.Get("like"))
	d.runName(m.Get("run"), c.Run)
	switch {
	case answer != nil && verdict != nil || setting != nil && (answer != nil || verdict != nil || metric != nil):
		v.Errorf("a check has one of answer, verdict, setting and metric: remove the others")
	case setting != nil:
		d.setting(v, m, setting, &c)
		others(m, "a setting", "of", "least", "most", "zero")
	case answer != nil:
		d.answer(v, m, answer, metric, &c)
		others(m, "an answer", append([]string{
			"is", "times", "tolerance", "miss", "metric", "relative_to",
		}, measure.FlowSetKeys...)...)
	case verdict != nil:
		if len(few(verdict)) == 0 {
			verdict.Errorf("verdict needs the accepted verdicts: PASS, WARN or FAIL, or a list of them")
		}
		others(m, "a verdict", "message")
	case steps != nil:
		others(m, "steps")
	case written(m.Get("output")) != nil:
		d.output(v, m, &c)
	case picture != nil || like != nil:
		d.panel(v, m, &c)
	case metric != nil:
		d.figure(m, &c.Row)
		kind, _ := c.kind()
		c.Least, c.Most = limit(m.Get("least"), kind, c.Row.RelativeTo != ""), limit(m.Get("most"), kind,
			c.Row.RelativeTo != "")
		c.Zero = limit(m.Get("zero"), kind, c.Row.RelativeTo != "")
		if m.Get("least") == nil && m.Get("most") == nil {
			v.Errorf("a metric needs a bound: give least, most or both")
		}
		others(m, "a metric", append([]string{"least", "most", "zero", "relative_to"}, measure.FlowSetKeys...)...)
	default:
		v.Errorf("a check needs one of answer, verdict, setting, steps, picture, like, output and metric")
	}
	if c.Run == "" && answer == nil && setting == nil && c.Output == "" {
		v.Errorf("missing key %q", "run")
	}
	d.credit(m, &c)
	d.e.Checks = append(d.e.Checks, c)
}

// output reads a check of what a program printed.
func (d *reader) output(v *yamlspec.Value, m *yamlspec.Mapping, c *Check) {
	if !slices.Contains(d.e.Outputs, c.Output) {
		m.Get("output").Errorf("hand_in has no output %q", c.Output)
	}
	if c.Value == "" {
		v.Errorf("missing key %q: name bandwidth, bytes, iterations or a counter", "value")
	}
	if is := written(m.Get("is")); is == nil {
		v.Errorf("an output needs a value to compare with (is)")
	} else if kind, x := anyKind(is.Raw()); kind == nil {
		is.Errorf("%q: expected a number, a time, a rate or a size", is.Raw())
	} else {
		c.kindOf, c.Is = kind, &x
	}
	others(m, "an output", "value", "is", "tolerance", "miss")
}

// panel reads a check of a picture, or of a run's plot.
func (d *reader) panel(v *yamlspec.Value, m *yamlspec.Mapping, c *Check) {
	if c.Panel == "" {
		v.Errorf("missing key %q: name the plot of the run's report", "panel")
	}
	if c.Picture != "" {
		if !slices.Contains(d.e.Pictures, c.Picture) {
			m.Get("picture").Errorf("hand_in has no picture %q", c.Picture)
		}
		others(m, "a picture", "panel")
		return
	}
	d.runName(m.Get("like"), c.Like)
	c.Most, c.Zero = limit(m.Get("most"), measure.KindCount, true), limit(m.Get("zero"), measure.KindCount, true)
	if c.Most == nil || c.Zero == nil {
		v.Errorf("like needs most and zero, both in percent")
	}
	others(m, "like", "panel", "most", "zero")
}

// credit reads the keys about partial credit, and checks them.
func (d *reader) credit(m *yamlspec.Mapping, c *Check) {
	if zero := m.Get("zero"); zero != nil && c.Zero != nil {
		full := c.Least
		if full == nil {
			full = c.Most
		}
		switch {
		case c.Least != nil && c.Most != nil:
			zero.Errorf("zero needs one bound, least or most, and this check has both")
		case full != nil && (c.Least != nil && *c.Zero >= *full || c.Most != nil && *c.Zero <= *full):
			zero.Errorf("zero must lie beyond the bound: below least, or above most")
		}
	}
	if miss := m.Get("miss"); miss != nil && c.Miss <= c.Tolerance {
		miss.Errorf("miss must be above tolerance, which is %s", number(c.Tolerance))
	}
	for _, item := range few(m.Get("with")) {
		var name string
		if item.String(&name) && d.e.check(name) == nil {
			item.Errorf("no check before this one has the name %q", name)
		}
		c.With = append(c.With, name)
	}
	if c.Name != "" && d.e.check(c.Name) != nil {
		m.Get("name").Errorf("another check has the name %q", c.Name)
	}
}

// ofKinds lists the keys that only some kinds of checks have.
var ofKinds = append([]string{
	"metric", "relative_to", "least", "most", "steps", "verdict", "message", "answer", "is", "times", "tolerance",
	"miss", "zero", "setting", "of", "panel", "like", "picture", "output", "value",
}, measure.FlowSetKeys...)

// others reports keys that a kind of check does not have, besides the one that makes it of this kind.
func others(m *yamlspec.Mapping, kind string, known ...string) {
	for _, key := range ofKinds {
		if !slices.Contains(known, key) && !strings.HasSuffix(kind, key) {
			m.Key(key).Errorf("%s has no effect on a check of %s", key, kind)
		}
	}
}

// written returns the value, or nil if it is empty, so that "verdict:" alone makes no check.
func written(v *yamlspec.Value) *yamlspec.Value {
	if v.IsScalar() || v.IsSequence() || v.IsMapping() {
		return v
	}
	return nil
}

// kind returns the kind of the check's figure or answer. Changes are in percent.
func (c *Check) kind() (k measure.Kind, known bool) {
	if c.kindOf != nil {
		return *c.kindOf, true
	}
	if metric := measure.MetricByName(c.Row.Metric); metric != nil {
		return metric.Kind, true
	}
	return measure.KindCount, false
}

func (d *reader) answer(v *yamlspec.Value, m *yamlspec.Mapping, answer, metric *yamlspec.Value, c *Check) {
	var q *Question
	if c.Answer != "" {
		if q = d.e.question(c.Answer); q == nil {
			names := lists.Map(d.e.Answers, func(q Question) string { return q.Name })
			answer.Errorf("hand_in has no answer %q%s", c.Answer, spelling.Suggest(c.Answer, names))
		}
	}
	is := written(m.Get("is"))
	switch {
	case is != nil && metric != nil:
		is.Errorf("an answer is compared with is or metric, not both: remove one")
	case metric != nil:
		d.figure(m, &c.Row)
		if kind, known := c.kind(); known && q != nil && !q.Sentence && c.Row.RelativeTo == "" && kind.Name != q.Kind.Name {
			metric.Errorf("metric %s is %s, but answer %s is %s: use the same kind", c.Row.Metric, kind.Name, q.Name,
				q.Kind.Name)
		}
		if c.Run == "" {
			v.Errorf("missing key %q: name the run of %s", "run", c.Row.Metric)
		}
	case is != nil && q != nil && q.Sentence:
		kind, x := anyKind(is.Raw())
		if kind == nil {
			is.Errorf("%q: expected a number, a time, a rate or a size", is.Raw())
		}
		c.kindOf, c.Is = kind, &x
	case is != nil && q != nil:
		c.Is = limit(is, q.Kind, false)
	case is == nil:
		v.Errorf("an answer needs a value to compare with: a number (is) or a run's metric")
	}
}

// setting reads a bound on a value of a changed scenario. The bound sets its kind.
func (d *reader) setting(v *yamlspec.Value, m *yamlspec.Mapping, setting *yamlspec.Value, c *Check) {
	of := m.Get("of")
	if of == nil {
		v.Errorf("missing key %q", "of")
	}
	if c.Changed != "" {
		if changed := d.e.changed(c.Changed); changed == nil {
			of.Errorf("hand_in has no scenario %q", c.Changed)
		} else if !changed.may(c.Setting) {
			setting.Errorf("students may not change %q in %s: add it to may, or choose another", c.Setting, c.Changed)
		}
	}
	for _, b := range []struct {
		v    *yamlspec.Value
		into **float64
	}{{m.Get("least"), &c.Least}, {m.Get("most"), &c.Most}, {m.Get("zero"), &c.Zero}} {
		if b.v == nil {
			continue
		}
		if kind, x := anyKind(b.v.Raw()); kind == nil || c.kindOf != nil && c.kindOf.Name != kind.Name {
			b.v.Errorf("%q: a bound must be a number, a time, a rate or a size, and both bounds of the same kind", b.v.Raw())
		} else {
			c.kindOf, *b.into = kind, &x
		}
	}
	if c.Least == nil && c.Most == nil {
		v.Errorf("a setting needs a bound: give least, most or both")
	}
}

// anyKind parses a value of any kind; nil: it has no known kind.
func anyKind(text string) (kind *measure.Kind, value float64) {
	for _, k := range []measure.Kind{measure.KindSize, measure.KindTime, measure.KindRate, measure.KindCount} {
		if x, err := k.Parse(text); err == nil {
			return &k, x
		}
	}
	return nil, 0
}

// runName reports an unknown name of a run.
func (d *reader) runName(v *yamlspec.Value, name string) {
	if name == "" || d.e.run(name) != nil {
		return
	}
	names := lists.Map(d.e.Runs, func(r Run) string { return r.Name })
	v.Errorf("there is no run %q%s", name, spelling.Suggest(name, names))
}

// figure reads the figure of a run.
func (d *reader) figure(m *yamlspec.Mapping, row *measure.PublishedRow) {
	if row.RelativeTo != boundName {
		d.runName(m.Get("relative_to"), row.RelativeTo)
	} else if boundMetrics[row.Metric] == nil || row.Tag != "" {
		m.Get("relative_to").Errorf("the bound has %s, of all flows",
			strings.Join(slices.Sorted(maps.Keys(boundMetrics)), ", "))
	}
	known := measure.MetricByName(row.Metric)
	if known == nil {
		return
	}
	for _, key := range measure.FlowSetKeys {
		if known.OfRun {
			m.Get(key).Errorf("%s describes the whole run: remove the key that selects flows", row.Metric)
		}
	}
	row.Label = row.Name(known)
	if units := known.Kind.UnitNames(); row.RelativeTo == "" && len(units) > 0 {
		row.Unit = units[0]
	}
	row.Values = []measure.Printed{"0"} // the check has the value to compare with
}

// limit reads a value in the base unit, or a change in percent.
func limit(v *yamlspec.Value, kind measure.Kind, change bool) *float64 {
	if v == nil {
		return nil
	}
	text := v.Raw()
	if change {
		number, percent := strings.CutSuffix(text, "%")
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if !percent || err != nil || x != x {
			v.Errorf("a change relative to another run is in percent: write a value such as -30%%")
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

// score reads a figure by which submissions are ranked.
func (d *reader) score(v *yamlspec.Value) {
	var s Score
	m := s.keys().Decode(v)
	d.runName(m.Get("run"), s.Run)
	d.figure(m, &s.Row)
	d.e.Score = append(d.e.Score, s)
}
