package lab

import (
	"slices"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/keys"
)

// Keys returns the keys of exercise.yaml.
func Keys() keys.Table { return new(Exercise).keys() }

func (e *Exercise) keys() keys.Table {
	answers := func() keys.Schema { return keys.MapOf(new(Question).keys(new(string)).JSONSchema()) }
	files := func() keys.Schema { return keys.ListOf(keys.String) }
	places := func() keys.Schema { return keys.MapOf(files()) }
	either := func() keys.Schema { return keys.ListOf(files()) }
	return append(keys.Table{
		keys.Text("title", &e.Title).Need().Means("title of the exercise"),
		keys.Text("goal", &e.Goal).Need().Means("what a student can do afterwards, in a sentence"),
		keys.Integer("minutes", &e.Minutes).Between("1", "10000").Usually("none").Means("minutes that a student needs"),
		keys.Time("check_time", &e.CheckTime).Usually("none").Means("how long a check takes on a laptop"),
		keys.GroupOf("hand_in", &keys.Group{}).Need(),
		keys.Other("hand_in.answers", "mappings by name", answers).Means(
			"questions of answers.yaml, by the answer's name"),
		keys.Other("hand_in.scenarios", "lists by file", places).Means(
			"files of start/, and the paths that a student may change: switch.pfc.xoff"),
		keys.Other("hand_in.controllers", "files, or lists of files", either).Means("files of start/; in a list of its own " +
			"several of which one is submitted: [[control.star, control.wasm]]"),
		keys.Other("hand_in.pictures", "files", files).Means("PNG files with plots of runs that the student draws"),
		keys.Other("hand_in.outputs", "files", files).Means("text files with what programs on a live fabric printed"),
		keys.Other("counters", "a run", func() keys.Schema { return new(Run).keys().JSONSchema() }).Means("a run of which " +
			"students get the counters alone, as counters.txt"),
		keys.Other("give", "files", files).Means("files of start/ that are not submitted"),
		pointsKey("wrong", &e.Wrong).Means("points of the submission in wrong/"),
	}, partKeys(true)...)
}

// HiddenKeys returns the keys of hidden.yaml.
func HiddenKeys() keys.Table { return hiddenKeys(new(bool)) }

func hiddenKeys(replace *bool) keys.Table {
	return append(keys.Table{
		keys.Flag("replace", replace).Means("`true`: these checks replace those that students have"),
	}, partKeys(false)...)
}

// partKeys returns the keys that both files have.
func partKeys(checked bool) keys.Table {
	runs := func() keys.Schema { return keys.MapOf(new(Run).keys().JSONSchema()) }
	seeds := func() keys.Schema { return keys.MapOf(keys.ListOf(keys.OfTypes("string", "integer"))) }
	checks := keys.List("checks", new(Check).keys).Means("the checks")
	checks.Required = checked
	return keys.Table{
		keys.Other("runs", "mappings by name", runs).Means("runs that checks look at"),
		keys.Other("seeds", "lists by file", seeds).Usually("the scenario's own").Means(
			"seeds of a scenario, by its file: figures are means over them"),
		checks,
		keys.List("score", new(Score).keys).Means("figures whose geometric mean ranks submissions, the least first"),
	}
}

func pointsKey(name string, points *Points) keys.Key {
	return keys.Number(name, (*float64)(points)).Between("0", "1000")
}

func (q *Question) keys(kind *string) keys.Table {
	return keys.Table{
		keys.Text("question", &q.Text).Need().Means("text of the question"),
		keys.Flag("predict", &q.Predicted).Means("`true`: the answer counts as `pausenet lab predict` has locked it"),
		keys.Choice("kind", kind, "number", "time", "rate", "size",
			"sentence").Usually("number").Means("kind of the answer; of a " +
			"`sentence` the number that is nearest to the right one counts"),
	}
}

func (r *Run) keys() keys.Table {
	return keys.Table{
		keys.Text("scenario", &r.Scenario).Need().Means("a file of scenarios/, or the student's"),
		keys.Text("cc", &r.CC).Need().Means("a controller, a variant of the scenario's, or a file of hand_in"),
		keys.Text("with", &r.With).Means("a scenario of hand_in; this one runs with its values"),
	}
}

// figureKeys returns the keys that name a figure of a run.
func figureKeys(run *string, row *measure.PublishedRow) keys.Table {
	return append(row.FigureKeys(),
		keys.Text("run", run).Means("run of the figure"),
		keys.Text("relative_to", &row.RelativeTo).Means("a run, or `bound`: bounds are changes relative to it in "+
			"percent"))
}

func (s *Score) keys() keys.Table {
	t := figureKeys(&s.Run, &s.Row)
	for _, name := range []string{"run", "metric"} {
		t.Find(name).Required = true
	}
	return t
}

func (c *Check) keys() keys.Table {
	bound := func(name, doc string) keys.Key {
		return keys.Other(name, "a value", func() keys.Schema { return keys.OfTypes("string", "number") }).Means(doc)
	}
	return slices.Concat(keys.Table{
		keys.Text("title", &c.Title).Need().Means("heading of the check"),
		keys.Text("name", &c.Name).Means("name for `with` of other checks"),
		pointsKey("points", &c.Points).Need().Means("points of the check"),
	}, figureKeys(&c.Run, &c.Row), keys.Table{
		bound("least", "lower bound with its unit, 5us, or in percent of relative_to, -5%"), bound("most", "upper bound"),
		keys.Integer("steps", &c.MostSteps).Between("1", "100000").Usually("none").Means("the most steps per call of the " +
			"student's controller, on average over the run"),
		keys.Choices("verdict", &c.Verdict, measure.Pass, measure.Warn, measure.Fail).Means(
			"verdicts that the run may have"),
		keys.Text("message", &c.Message).Means("words of one of the verdict's messages"),
		keys.Text("panel", &c.Panel).Means("title of a plot in the `report` of the run's scenario, whose first series is " +
			"compared"),
		keys.Text("like", &c.Like).Means("a run: `most` and `zero` are the area between its curve and the run's, in " +
			"percent of that below its curve"),
		keys.Text("picture", &c.Picture).Means("a file of hand_in.pictures: a curve in it has to follow that of the run"),
		keys.Text("output", &c.Output).Means("a file of hand_in.outputs, whose `value` is compared with `is`"),
		keys.Text("value", &c.Value).Means("`bandwidth`, `bytes` or `iterations` of perftest's output, or the name of a " +
			"counter of `ethtool -S`"),
		keys.Text("answer", &c.Answer).Means("an answer of hand_in, compared with the run's `metric` or with `is`"),
		bound("zero", "value with no points; between it and the bound, points rise linearly"),
		bound("is", "the answer"),
		keys.Number("times", &c.Times).Usually("1").Means("the answer is this many times the run's `metric`"),
		keys.Number("tolerance", &c.Tolerance).Between("0", "1").Means("a part of the answer within which it has all " +
			"points, such as 5%"),
		keys.Number("miss", &c.Miss).Between("0", "10").Usually("the tolerance").Means("a part of the answer from which on " +
			"it has no points; between, points fall linearly"),
		keys.Text("setting", &c.Setting).Means("a path that the student may change: limits the cost of a solution"),
		keys.Text("of", &c.Changed).Means("the scenario of hand_in with the setting"),
		keys.Other("with", "names", func() keys.Schema { return keys.ListOf(keys.String) }).Means("earlier checks: the " +
			"points are multiplied by the part of points that each of them has"),
		keys.Text("hint", &c.Hint).Means("shown if the check misses points"),
		keys.Text("look_at", &c.LookAt).Means("what to look at in the page of the run's report"),
	})
}
