package report

import (
	"bytes"
	"strings"
	"testing"
)

func pageOf(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// eventful returns a report of 40 ms with these events under the first controller.
func eventful(events ...Event) *Report {
	r := synthetic()
	r.Runs[0].Events = events
	return r
}

// TestEventsInPlots checks that each event is a line at its time in the plots of its own run, with its number and, if
// there is room, its name. Events at almost one time share a label.
func TestEventsInPlots(t *testing.T) {
	r := eventful(Event{10e6, "link down", "a → b", ""}, Event{30e6, "storm", "b → c", "p"},
		Event{30.01e6, "storm", "b → d", "p"},
		Event{39e6, "a name that is far too long for its place", "", ""}, Event{41e6, "after the end", "", ""})
	p := newPlots(r, 0, r.Runs)
	c, other := p.charts[0], p.charts[1]
	marks := c.marks()
	if len(marks) != 3 || marks[0].number() != "1" || marks[1].number() != "2–3" || marks[1].name != "storm" ||
		marks[2].number() != "4" {
		t.Fatalf("%+v", marks)
	}
	// 10 ms of 40 are a quarter of the axis, by hand.
	if want := marginLeft + (c.width-marginLeft-marginRight)/4; marks[0].at[0] < want-1 || marks[0].at[0] > want+1 {
		t.Errorf("the first is at %g, want %g", marks[0].at[0], want)
	}
	var labels []string
	for _, l := range c.eventLabels(marks, -3) {
		labels = append(labels, l.text)
	}
	if got := strings.Join(labels, "|"); got != "1 link down|2–3 storm|4" ||
		!strings.Contains(c.desc, "Event 2: storm at 30") {
		t.Errorf("%s; %s", got, c.desc)
	}
	if len(other.marks()) > 0 || len(other.forPage().Events) > 0 {
		t.Error("the other controller's plot has events")
	}
	if c.y.p1 != other.y.p1 {
		t.Error("plots of one row are not of one height")
	}
	var far []Event
	for i := range 4000 {
		far = append(far, Event{int64(i) * 10e3, "storm", "b → c", ""})
	}
	if n := len(eventful(far...).chart0().marks()); n > 40 {
		t.Errorf("%d labels", n)
	}
}

func (r *Report) chart0() *chart { return newPlots(r, 0, r.Runs).charts[0] }

// TestEventTable checks that runs with equal events share rows, that omitted events are counted, and that there is no
// section without events.
func TestEventTable(t *testing.T) {
	if page := pageOf(t, synthetic()); strings.Contains(page, `id="events"`) {
		t.Error("a page without events has a table of them")
	}
	r := eventful(Event{1_500_000, "link down", "leaf0 → spine0", ""}, Event{1_700_250, "reroute", "", "5 < 6"})
	r.Runs[0].MoreEvents = 1234
	if got := eventTables(r)[0].Bodies[0]; got.Heading != "dcqcn" || len(got.Rows) != 3 ||
		got.Rows[1].Label != "2. 1.70025\u00a0ms" {
		t.Errorf("%+v", got)
	}
	page := pageOf(t, r)
	for _, want := range []string{"and 1234 more", "1.70025\u00a0ms", "leaf0 → spine0", "the whole fabric", "5 &lt; 6"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	r.Runs[1].Events, r.Runs[1].MoreEvents = r.Runs[0].Events, 1234
	if bodies := eventTables(r)[0].Bodies; len(bodies) != 1 || bodies[0].Heading != "dcqcn, dcon" {
		t.Errorf("%d bodies, %q", len(bodies), bodies[0].Heading)
	}
	r.Runs[1].Events = []Event{{2, "b", "", ""}, {1, "a", "", ""}}
	if err := Write(&bytes.Buffer{}, r); err == nil || !strings.Contains(err.Error(), "order of time") {
		t.Errorf("events out of order: %v", err)
	}
}

// TestTail checks that a long end without changes is not drawn, but mentioned, unless an event, a span or another run
// has something there.
func TestTail(t *testing.T) {
	still := func() *Report {
		r := synthetic()
		r.Spans = nil
		r.Panels = r.Panels[:1]
		for i, name := range []string{"dcqcn", "dcon"} {
			s := Series{Label: "queue", Step: true}
			for k := range int64(10_000) {
				s.Append(k*20_000, float64(min(k, int64(100+100*i))))
			}
			r.Panels[0].Series[name] = []Series{s}
		}
		return r
	}
	at := func(r *Report, want float64, mentioned bool) {
		t.Helper()
		if _, hi, end := r.timeSpan(); hi != want || end != 199.98e6 {
			t.Errorf("drawn until %g of %g, want %g", hi, end, want)
		}
		if got := strings.Contains(pageOf(t, r), "that part is not drawn"); got != mentioned {
			t.Errorf("mentioned: %v", got)
		}
	}
	r := still()
	at(r, 1.25*200*20_000, true)
	// Within what is drawn no point is thinned away.
	if n := len(newPlots(r, 0, r.Runs).charts[0].lines[0].points); n != 251 {
		t.Errorf("%d points", n)
	}
	r.Runs[0].Events = []Event{{8e6, "storm", "", ""}}
	at(r, 10e6, true)
	r.Spans = []Span{{1e6, 16e6, "x"}}
	at(r, 20e6, true)
	r.Runs[1].Events = []Event{{100e6, "storm", "", ""}}
	at(r, 199.98e6, false)
	if r := synthetic(); r.tail() != "" {
		t.Errorf("what ends as it should is cut: %s", r.tail())
	}
}
