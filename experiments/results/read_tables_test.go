package results

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/experiments/pages/report"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/internal/testenv"
)

// TestReadEvents checks that a page has the first events as they were written, including commas and quotes, and the
// number of the others.
func TestReadEvents(t *testing.T) {
	s := parse(t, lab.WithFaults(`
  - {at: 1ms, for: 100us, every: 300us, times: 12, link: "leaf0:spine0", down: true}
  - {at: 6ms, for: 1ms, host: h3, pause: [3, 4], interval: 50us}
`))
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := runner.Run(context.Background(), s, runner.Options{
		Controller: "none", Seed: s.Seed,
		Directory: dir,
	}); err != nil {
		t.Fatal(err)
	}
	r, err := ReadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	total := len(testenv.ReadTable(t, filepath.Join(dir, "events.csv")).Rows)
	if len(r.events) != mostEvents || len(r.events)+r.more != total || total < 26 {
		t.Errorf("%d events read and %d beside, %d written", len(r.events), r.more, total)
	}
	if !r.report("none").Faults {
		t.Error("the report's run has no faults")
	}
	if e, want := r.events[1], (report.Event{Time: 1_100_000, Name: "link up", Position: "leaf0 → spine0"}); e != want {
		t.Errorf("%+v, want %+v", e, want)
	}
	testenv.AddColumns(t, dir) // as a later version may
	if later, err := ReadRun(dir); err != nil || !reflect.DeepEqual(later, r) || len(later.flows) == 0 ||
		len(later.links) == 0 {
		t.Errorf("with later columns the run differs: %v", err)
	}
	file := filepath.Join(t.TempDir(), "events.csv")
	for _, c := range []struct {
		rows, problem string
		want          []report.Event
	}{
		{
			"5,s0,s0-eth1,h1,injected_storm,ends\n5,,,,storm_end,\n", "",
			[]report.Event{{Time: 5, Name: "injected storm ends", Position: "s0 → h1"}, {Time: 5, Name: "storm end"}},
		},
		{
			`7,s0,s0-eth1,h1,storm,"priority 3, ""so"" to speak"` + "\n", "",
			[]report.Event{{Time: 7, Name: "storm", Position: "s0 → h1", Detail: `priority 3, "so" to speak`}},
		},
		{"7,,,,a,\n6,,,,b,\n", "events.csv:3: the time decreases", nil},
		{"7,,,,a,b,c\n", "events.csv:2: expected 6 fields, got 7", nil},
		{"7,,,a,\"b, c\"\n", "events.csv:2: expected 6 fields, got 5", nil},
	} {
		if err := os.WriteFile(file, []byte(rundir.Events.Header()+"\n"+c.rows), 0o600); err != nil {
			t.Fatal(err)
		}
		r := RunFolder{Path: filepath.Dir(file)}
		switch err := r.readEvents(); {
		case c.problem == "" && (err != nil || !slices.Equal(r.events, c.want)):
			t.Errorf("%q: %+v, %v", c.rows, r.events, err)
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%q: %v, want %s", c.rows, err, c.problem)
		}
	}
}
