package results

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
)

// FuzzReadJSON checks that any manifest or summary can be read or refused, and that its values can be shown, however
// odd its numbers.
func FuzzReadJSON(f *testing.F) {
	f.Add(`{"status": "complete", "seed": 1, "configuration": {"report": [{"series": [{}]}], "published": [{"columns": ["a"], "rows": [{"metric": "fct_mean", "values": [1.50]}]}]}}`)
	f.Add(`{"controller_constants": [{"values": {"g": "1/256"}}], "seed": -1}`)
	f.Add(`{"flows": {"completed": 2, "fct_ns": {"mean": 1e300}}, "by_size": [{"label": "a", "completed": 1, "slowdown": {"p50": -1, "p99": 1e-300}}, {"label": "b", "completed": 1}, {"label": "c", "completed": 1}],
		"by_tag": {"a": {"completed": 3}}, "by_size_bin": [{"up_to_bytes": 1, "completed": 1}, {"up_to_bytes": 2}, {"up_to_bytes": 3}],
		"links": {"paused": [{"node": "a", "port": "b", "peer": "c", "utilisation": 0.5, "paused_ns": 5}]}, "pfc": {"spread": {"depth": 1, "by_depth": [5], "chain": ["a", "b"]}},
		"victims": {"count": 1, "worst": [{"tag": "a"}]}, "fairness": {"by_tag": {"a": {"jain_mean": 1}}}, "rtt": {"samples": 1, "mean_ns": 5}, "speed": {"wall_seconds": 1}}`)
	f.Add(`{"by_size_bin": [{"up_to_bytes": 1}], "links": {"paused": [{"node": "a"}]}, "figures": [{"size_bin": 3}, null],
		"configuration": {"published": [{"rows": [{"size_bin": 3}, null]}, {"rows": null}]}}`)
	f.Add("{\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, summary := range []bool{false, true} {
			r := &RunFolder{Path: "x"}
			var into any = &r.manifest
			if summary {
				into = &r.summary
			}
			path := filepath.Join(t.TempDir(), "x.json")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			err := rundir.ReadJSON(path, into)
			var place *rundir.FileError
			switch {
			case err == nil:
				r.summary.Verdict.Status = measure.Pass
				p := reportPage{columns: []column{{"x", []*RunFolder{r}}}}
				if _, err := p.render(); err != nil {
					t.Errorf("%v", err)
				}
			case !errors.As(err, &place) || place.Line < 1 || place.Line > strings.Count(text, "\n")+1:
				t.Errorf("%v", err)
			}
		}
	})
}

// TestHalfWritten checks a run whose files are incomplete because the disk was full: the page says so, and its numbers
// are not compared.
func TestHalfWritten(t *testing.T) {
	for status, want := range map[string]bool{rundir.StatusComplete: false, rundir.StatusPartial: true} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			rundir.ManifestFile: `{"status": "` + status + `"}`,
			rundir.SummaryFile:  `{"verdict": {"status": "PASS"}}`,
			"flows.csv":         rundir.Flows.Header() + "\n0,a,h0,h1,60000,0,123,100,1.230000,0\n",
			"links.csv":         rundir.Links.Header() + "\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, err := ReadRun(dir)
		if err != nil {
			t.Fatal(err)
		}
		said := len(r.Missing) == 1 && strings.Contains(r.Missing[0], "not all of its files could be written")
		if said != want || r.summary.Partial != want || len(r.Missing) > 1 {
			t.Errorf("%s: partial %t, %q", status, r.summary.Partial, r.Missing)
		}
	}
}
