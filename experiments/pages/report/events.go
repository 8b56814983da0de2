package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Event represents an event that concerns the fabric instead of one frame: a fault, a PFC storm, a deadlock.
type Event struct {
	Time     int64  // virtual nanoseconds
	Name     string // one or two words, such as "link down"
	Position string // empty: the whole fabric
	Detail   string // may be empty
}

// wideLetter estimates the width of a letter where the page shows a chart at its narrowest, with the largest text.
const wideLetter = 1.35 * letter

// mark represents events that are too close for separate labels.
type mark struct {
	first, last int // from 1, as in the table
	at          []float64
	name        string // empty if the names differ
}

func (m *mark) number() string {
	if m.first == m.last {
		return fmt.Sprint(m.first)
	}
	return fmt.Sprintf("%d–%d", m.first, m.last)
}

func widthOf(text string) float64 { return wideLetter * float64(len([]rune(text))+1) }

// marks returns where the chart's events stand, those within it.
func (c *chart) marks() []mark {
	var all []mark
	for i, e := range c.events {
		if t := float64(e.Time); t < c.x.lo || t > c.x.hi {
			continue
		}
		at := c.x.at(float64(e.Time))
		if n := len(all); n > 0 && at < all[n-1].at[0]+widthOf(all[n-1].number()) {
			m := &all[n-1]
			m.last, m.at = i+1, append(m.at, at)
			if m.name != e.Name {
				m.name = ""
			}
			continue
		}
		all = append(all, mark{i + 1, i + 1, []float64{at}, e.Name})
	}
	return all
}

// placedLabel holds a label with its position on the x axis.
type placedLabel struct {
	at   float64
	left bool // the label ends at x
	text string
}

// eventLabels returns the events' numbers and names, each so far from its line.
func (c *chart) eventLabels(marks []mark, aside float64) []placedLabel {
	var labels []placedLabel
	for i := range marks {
		m := &marks[i]
		end := c.width
		if i+1 < len(marks) {
			end = marks[i+1].at[0]
		}
		text, left, x := m.number(), false, m.at[0]+aside
		if named := text + " " + m.name; m.name != "" && x+widthOf(named) <= end {
			text = named
		} else if x+widthOf(text) > c.width {
			left, x = true, m.at[0]-aside
		}
		labels = append(labels, placedLabel{x, left, text})
	}
	return labels
}

// described returns the chart's events in words.
func (c *chart) described() string {
	var b strings.Builder
	for i, e := range c.events {
		fmt.Fprintf(&b, " Event %d: %s at %s.", i+1, e.Name, c.x.in.text(float64(e.Time)))
	}
	return b.String()
}

// eventTables returns tables of the runs' events; nil if there are none. Runs with the same events share their rows.
func eventTables(r *Report) []table {
	t := table{
		Caption: "Events, numbered as in the plots", Corner: "No. and time",
		Heads: []string{"Event", "Where", "What"}, Texts: true,
	}
	unit := Nanoseconds.measure(float64(latest(r.Runs)))
	known := map[string]int{} // bodies, by what they show
	for i := range r.Runs {
		run := &r.Runs[i]
		if len(run.Events) == 0 {
			continue
		}
		key := fmt.Sprint(run.Events, run.MoreEvents)
		if at, ok := known[key]; ok {
			t.Bodies[at].Heading += ", " + run.Controller
			continue
		}
		known[key] = len(t.Bodies)
		t.Bodies = append(t.Bodies, body{run.Controller, eventRows(run, unit)})
	}
	if len(t.Bodies) == 0 {
		return nil
	}
	if len(t.Bodies) == 1 && len(r.Runs) == 1 {
		t.Bodies[0].Heading = ""
	}
	return []table{t}
}

func latest(runs []Run) (at int64) {
	for i := range runs {
		for _, e := range runs[i].Events {
			at = max(at, e.Time)
		}
	}
	return at
}

func eventRows(run *Run, unit measure) []row {
	var rows []row
	for i, e := range run.Events {
		e.Position = cmp.Or(e.Position, "the whole fabric")
		rows = append(rows, row{
			Label: fmt.Sprintf("%d. %s", i+1, unit.named(strconv.FormatFloat(float64(e.Time)/unit.div, 'f', -1, 64))),
			Cells: []cell{
				{Text: e.Name, Bar: -1},
				{Text: e.Position, Bar: -1},
				{Text: withUnits(e.Detail), Bar: -1, Words: true},
			},
		})
	}
	if run.MoreEvents > 0 {
		rows = append(rows, row{Label: fmt.Sprintf("and %d more", run.MoreEvents), Cells: []cell{
			{Bar: -1}, {Bar: -1}, words("They are in events.csv in the run's folder, and the plots do not show them."),
		}})
	}
	return rows
}
