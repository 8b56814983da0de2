package rundir

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// FuzzReadCSV: whatever a file has in it, it is read or refused with its line.
func FuzzReadCSV(f *testing.F) {
	f.Add(FlowsHeader + "\n0,incast,h0,h7,60000,0,123,100,1.230000,0\n1,a,h0,h1,0,0,,,,0\n")
	f.Add(LinksHeader + "\ns0,s0-eth1,h0,40000000000,1,2,0.5,3,4,5,6,7.0,8\n")
	f.Add(PanelsHeader + "\n0,0,0,1\n0,1,5,1e-300\n")
	f.Add(EventsHeader + "\n100,leaf0,leaf0-eth1,s0,storm,\"priority 3: paused, \"\"so\"\" to speak\"\n150,,,,reroute,\n")
	f.Add("time_ns,\n,,,")
	f.Fuzz(func(t *testing.T, text string) {
		for _, header := range []string{FlowsHeader, LinksHeader, PanelsHeader, EventsHeader} {
			rows := 0
			err := parseCSV("x.csv", strings.NewReader(text), header, func(r *Row) error {
				rows++
				for i := range r.fields {
					r.Whole(i)
					r.Number(i)
					r.Quoted(i)
				}
				return nil
			})
			var place *FileError
			if err != nil && (!errors.As(err, &place) || place.Line < 1 || place.Line > strings.Count(text, "\n")+1) {
				t.Errorf("%v", err)
			}
			if err == nil && rows > strings.Count(text, "\n") {
				t.Errorf("%d rows", rows)
			}
		}
	})
}

// TestColumnsOfCollectives: what the columns of a table have in them, each said here once more.
func TestColumnsOfCollectives(t *testing.T) {
	want := []Column{
		{"collective", Whole, false},
		{"tag", Text, false},
		{"kind", Text, false},
		{"algorithm", Text, false},
		{"ranks", Whole, false},
		{"size_bytes", Whole, false},
		{"iteration", Whole, false},
		{"begin_ns", Whole, true},
		{"completion_ns", Whole, true},
		{"limit_ns", Whole, true},
		{"algbw_bps", Whole, true},
		{"busbw_bps", Whole, true},
		{"skew_ns", Whole, true},
		{"straggler", Text, false},
		{"late_ns", Whole, true},
	}
	if got := ColumnsOf(CollectivesFile); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
