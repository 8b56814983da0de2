package rundir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/files"
)

// wholeRun creates the folder of a complete run whose manifest names flows.csv.
func wholeRun(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	folder, err := files.OpenFolder(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	for name, text := range map[string]string{
		ManifestFile: `{"status": "complete", "files": {"flows.csv": "flows", "summary.json": "the run in numbers"}}`,
		SummaryFile:  "{}", "flows.csv": "flow\n0\n", "ports.csv": "time_ns\n",
	} {
		if err := folder.Write(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteSums(folder); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCheckSums(t *testing.T) {
	sums := func(dir string, change func(lines []string) []string) {
		path := filepath.Join(dir, SumsFile)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Join(change(strings.SplitAfter(string(data), "\n")), "")),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	without := func(name string) func([]string) []string {
		return func(lines []string) (kept []string) {
			for _, l := range lines {
				if !strings.HasSuffix(l, "  "+name+"\n") {
					kept = append(kept, l)
				}
			}
			return kept
		}
	}
	for name, c := range map[string]struct {
		damage func(dir string)
		want   string // empty: no error
	}{
		"whole": {func(string) {}, ""},
		"empty sums": {
			func(dir string) { sums(dir, func([]string) []string { return nil }) },
			"no line for manifest.json, summary.json",
		},
		"sums without flows":    {func(dir string) { sums(dir, without("flows.csv")) }, "no line for flows.csv"},
		"sums without summary":  {func(dir string) { sums(dir, without(SummaryFile)) }, "no line for summary.json"},
		"sums without manifest": {func(dir string) { sums(dir, without(ManifestFile)) }, "no line for manifest.json"},
		"sums cut in a line": {func(dir string) {
			sums(dir, func(lines []string) []string { return append(lines[:1], lines[1][:20]) })
		}, "not a line of sha256sum: the file is damaged"},
		"a line twice": {
			func(dir string) { sums(dir, func(lines []string) []string { return append(lines[:1], lines...) }) },
			":2: ",
		},
		"endless sums": {func(dir string) {
			sums(dir, func(lines []string) []string { return []string{strings.Repeat(lines[0], 4000)} })
		}, "a list of sums"},
		"endless summary": {func(dir string) {
			path := filepath.Join(dir, SummaryFile)
			if err := os.WriteFile(path, []byte(`{"by_size": [`+strings.Repeat("{},", 2<<20)+"{}]}"), 0o600); err != nil {
				t.Fatal(err)
			}
			var into map[string]any
			if err := ReadJSON(path, &into); err == nil || !strings.Contains(err.Error(), "a run's summary") {
				t.Errorf("a summary of 6 MB: %v", err)
			}
		}, "summary.json: changed since the run"},
		"no sums":  {func(dir string) { _ = os.Remove(filepath.Join(dir, SumsFile)) }, "the run did not end"},
		"no flows": {func(dir string) { _ = os.Remove(filepath.Join(dir, "flows.csv")) }, "flows.csv: missing, although"},
		"changed flows": {
			func(dir string) { _ = os.WriteFile(filepath.Join(dir, "flows.csv"), nil, 0o600) },
			"flows.csv: changed since the run",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := wholeRun(t)
			c.damage(dir)
			switch err := CheckSums(dir); {
			case c.want == "" && err != nil:
				t.Errorf("error %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestChanged(t *testing.T) {
	dir := wholeRun(t)
	names := []string{ManifestFile, SummaryFile, "flows.csv", "links.csv"}
	if all := Changed(dir, names...); len(all) > 0 {
		t.Errorf("%q", all)
	}
	for name, text := range map[string]string{"flows.csv": "flow\n1\n", "links.csv": "node\n", "ports.csv": "x\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := strings.Join(Changed(dir, names...), "\n")
	for _, want := range []string{"flows.csv was changed", "links.csv was added"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if strings.Contains(got, ManifestFile) || strings.Contains(got, "ports.csv") {
		t.Errorf("%s", got)
	}
}
