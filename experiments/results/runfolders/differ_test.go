package runfolders

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pausenet/pausenet/experiments/results/rundir"
)

func TestDiffer(t *testing.T) {
	const manifest = "{\n  \"seed\": 1,\n  \"version\": \"%\",\n  \"files\": {\n    \"a\": \"b\"\n  }\n}\n"
	for name, c := range map[string]struct {
		file, there, now string
		want             string // empty: no difference
	}{
		"equal":          {"flows.csv", "a\nb\n", "a\nb\n", ""},
		"a line":         {"flows.csv", "a\nb\nc\n", "a\nx\nc\n", "flows.csv:2"},
		"a line more":    {"flows.csv", "a\nb\n", "a\n", "flows.csv:2"},
		"a line less":    {"flows.csv", "a\n", "a\nb\n", "flows.csv:2"},
		"no end of line": {"flows.csv", "a", "a\n", "flows.csv:1"},
		"missing":        {"ports.csv", "", "a\n", "ports.csv"},
		"added":          {"trace.pftrace", "a", "", "trace.pftrace"},
		"bytes":          {rundir.RecordFile, "ab", "ac", rundir.RecordFile},
		"more bytes":     {rundir.RecordFile, "abc", "ab", rundir.RecordFile},
		"equal bytes":    {rundir.RecordFile, "ab", "ab", ""},
		"the machine's speed": {
			rundir.SummaryFile, "  \"plane\": \"a\",\n    \"wall_seconds\": 1,\n}",
			"  \"plane\": \"b\",\n    \"wall_seconds\": 2,\n}", "",
		},
		"a figure": {
			rundir.SummaryFile, "    \"wall_seconds\": 1,\n1\n", "    \"wall_seconds\": 2,\n2\n",
			"summary.json:2",
		},
		"another program": {
			rundir.ManifestFile, manifest,
			"{\n  \"seed\": 1,\n  \"version\": \"x\",\n  \"kernel\": \"y\",\n  \"files\": {\n  }\n}\n", "",
		},
		"a seed":               {rundir.ManifestFile, manifest, "{\n  \"seed\": 2,\n}\n", "manifest.json:2"},
		"behind the files":     {rundir.ManifestFile, manifest + "x\n", manifest + "y\n", "manifest.json:8"},
		"what is not compared": {"capture.pcapng", "a", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			there, now := t.TempDir(), t.TempDir()
			for folder, text := range map[string]string{there: c.there, now: c.now} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(folder, c.file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d, err := Differ(there, now)
			got := ""
			if d != nil {
				got = d.Position()
			}
			if err != nil || got != c.want {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
		})
	}
}
