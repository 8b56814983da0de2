package diagnose

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/analysis/resimulate"
	"github.com/pausenet/pausenet/internal/lazy"
	"github.com/pausenet/pausenet/internal/spelling"
)

// Answer represents the fault of one incident, as somebody answers or as it is in truth.
type Answer struct {
	Incident string          `json:"incident"`
	Kind     resimulate.Kind `json:"kind"`
	Place    string          `json:"place"` // empty: none
}

// columns separates columns. Names of kinds contain single spaces.
var columns = lazy.Regexp(`\s*,\s*|\t+| {2,}`)

// ReadAnswers reads a line for each incident: its name, the kind of fault and the place, with commas, tabs or at least
// two spaces between them. More columns, a header and lines after # are ignored. The error names the line.
func ReadAnswers(data []byte) (all []Answer, err error) {
	names := []string{string(Healthy)}
	for i := range kinds {
		names = append(names, string(kinds[i].name))
	}
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		fields := columns().Split(line, -1)
		switch {
		case line == "", strings.HasPrefix(line, "#"), fields[0] == "incident":
			continue
		case len(fields) < 2:
			return nil, fmt.Errorf("line %d: expected an incident, a kind and a place, such as \"01, PFC storm, h6\"", i+1)
		case !slices.Contains(names, fields[1]):
			return nil, fmt.Errorf("line %d: unknown kind %q%s (expected %s)", i+1, fields[1],
				spelling.Suggest(fields[1], names),
				strings.Join(names, ", "))
		case slices.ContainsFunc(all, func(a Answer) bool { return a.Incident == fields[0] }):
			return nil, fmt.Errorf("line %d: a second answer for incident %s", i+1, fields[0])
		}
		a := Answer{Incident: fields[0], Kind: resimulate.Kind(fields[1])}
		if len(fields) > 2 && a.Kind != Healthy {
			a.Place = strings.TrimPrefix(fields[2], "-")
		}
		all = append(all, a)
	}
	if len(all) == 0 {
		return nil, errors.New("no answers: expected lines such as \"01, PFC storm, h6\"")
	}
	return all, nil
}

// Mark compares an answer with the truth, without telling it.
type Mark struct {
	Answer
	KindRight bool `json:"kind_right"`
	Right     bool `json:"right"` // kind and place
}

// Score holds the marks of all incidents.
type Score struct {
	Marks []Mark `json:"marks"` // in the order of the truth; those without an answer have no kind
	Right int    `json:"right"`
	Kinds int    `json:"kinds_right"`
}

// ScoreOf compares answers with the truth. A link may be named from either end. The error names an answer for an
// incident that does not exist.
func ScoreOf(answers, truth []Answer) (*Score, error) {
	s := &Score{}
	for _, want := range truth {
		m := Mark{Answer: Answer{Incident: want.Incident}}
		if at := slices.IndexFunc(answers, func(a Answer) bool { return a.Incident == want.Incident }); at >= 0 {
			m.Answer = answers[at]
			from, to, _ := strings.Cut(want.Place, ":")
			link := slices.Contains([]resimulate.Kind{resimulate.SlowLink, resimulate.LongCable, BitErrors, LinkDown}, want.Kind)
			m.KindRight = m.Kind == want.Kind
			m.Right = m.KindRight && (m.Place == want.Place || link && m.Place == to+":"+from)
		}
		if m.KindRight {
			s.Kinds++
		}
		if m.Right {
			s.Right++
		}
		s.Marks = append(s.Marks, m)
	}
	for _, a := range answers {
		if !slices.ContainsFunc(truth, func(t Answer) bool { return t.Incident == a.Incident }) {
			return nil, fmt.Errorf("there is no incident %q (expected %s to %s)", a.Incident, truth[0].Incident,
				truth[len(truth)-1].Incident)
		}
	}
	return s, nil
}

// Write prints a line for each incident, and the sum.
func (s *Score) Write(w io.Writer) error {
	for i := range s.Marks {
		m := &s.Marks[i]
		mark := "wrong"
		switch {
		case m.Kind == "":
			mark = "no answer"
		case m.Right:
			mark = "right"
		case m.KindRight:
			mark = "right kind, wrong place"
		}
		fmt.Fprintf(w, "%-8s  %-24s  %s\n", m.Incident, strings.TrimSpace(string(m.Kind)+" "+m.Place), mark)
	}
	_, err := fmt.Fprintf(w, "%d of %d right; the kind is right in %d\n", s.Right, len(s.Marks), s.Kinds)
	return err
}
