package lab

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/lists"
)

// required returns the requirement of a check, in words.
func (c *Check) required(e *Exercise) string {
	switch {
	case c.Answer != "":
		return c.requiredAnswer(e)
	case len(c.Verdict) > 0:
		words := lists.Map(c.Verdict, func(v measure.Status) string { return string(v) })
		text := "verdict of run " + c.Run + ": " + strings.Join(words, " or ")
		if c.Message != "" {
			text += ", for a " + c.Message
		}
		return text
	case c.MostSteps > 0:
		return fmt.Sprintf("at most %d steps a call, on average over run %s", c.MostSteps, c.Run)
	}
	switch {
	case c.Output != "":
		return c.Value + " of " + c.Output + ": the right value" + c.margins() // students predict it
	case c.Picture != "":
		return fmt.Sprintf("%s: a curve that follows %q of run %s", c.Picture, c.Panel, c.Run)
	case c.Like != "":
		return fmt.Sprintf("%q of run %s, like that of run %s: at most %s %% between the curves (no points at %s %%)",
			c.Panel,
			c.Run, c.Like, number(*c.Most), number(*c.Zero))
	}
	text := c.Row.Label + ", in run " + c.Run + ": "
	if c.Setting != "" {
		text = c.Setting + " of " + c.Changed + ": "
	}
	none := ""
	if c.Zero != nil {
		none = " (no points at " + c.text(*c.Zero) + ")"
	}
	switch {
	case c.Least != nil && c.Most != nil && *c.Least == *c.Most:
		return text + c.text(*c.Least)
	case c.Least != nil && c.Most != nil:
		return text + c.text(*c.Least) + " to " + c.text(*c.Most)
	case c.Least != nil:
		return text + "at least " + c.text(*c.Least) + none
	}
	return text + "at most " + c.text(*c.Most) + none
}

func (c *Check) requiredAnswer(e *Exercise) string {
	text := c.Answer + ": "
	if q := e.question(c.Answer); q != nil && c.Run == "" {
		text += "the right value" // the student has to find it
		if q.Sentence {
			text = c.Answer + ": a sentence with the right " + strings.TrimPrefix(c.kindOf.Name, "a ")
		}
	} else {
		if c.Times != 1 {
			text += number(c.Times) + " times "
		}
		text += c.Row.Label + ", in run " + c.Run
	}
	return text + c.margins()
}

// margins returns the distances from the right value at which an answer has all points and none, in words.
func (c *Check) margins() (text string) {
	if c.Tolerance > 0 {
		text += fmt.Sprintf(", within %s %%", number(100*c.Tolerance))
	}
	if c.Miss > 0 {
		text += fmt.Sprintf(" (no points if it is %s %% off)", number(100*c.Miss))
	}
	return text
}

// Requirement returns what a check requires, in words, and the titles of the checks that multiply its points.
func (e *Exercise) Requirement(c *Check) (required string, with []string) {
	for _, name := range c.With {
		with = append(with, e.check(name).Title)
	}
	return c.required(e), with
}

// text returns a value of the check's figure in words.
func (c *Check) text(v float64) string {
	if c.Row.RelativeTo != "" {
		return fmt.Sprintf("%+.1f %%", v)
	}
	if c.kindOf != nil {
		return c.kindOf.Text(v)
	}
	if metric := measure.MetricByName(c.Row.Metric); metric != nil {
		return metric.Kind.Text(v)
	}
	return number(v)
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// String returns the points without trailing decimals.
func (p Points) String() string { return number(math.Round(float64(p)*100) / 100) }

func geometricMean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	product := 1.0
	for _, v := range values {
		product *= v
	}
	return math.Pow(product, 1/float64(len(values)))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// measured returns a figure of a run, averaged over the seeds.
func measured(run string, row *measure.PublishedRow, all []measure.Measurement) *float64 {
	claims := measure.Claims([]measure.PublishedTable{{Columns: []string{run}, Rows: []measure.PublishedRow{*row}}}, all)
	if len(claims) == 0 {
		return nil
	}
	return claims[0].Measured
}
