package command

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
)

// TestPauseCounts checks that all counts of PAUSE frames appear beside those between switches, because a source may
// mean either.
func TestPauseCounts(t *testing.T) {
	t.Parallel()
	dir, pausenet := program(t)
	prints := func(args ...string) string {
		t.Helper()
		c := exec.Command(pausenet, args...)
		c.Dir = dir
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return string(out)
	}
	read := func(path string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	has := func(what, text, pattern string) {
		t.Helper()
		if !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("%s has no %s:\n%s", what, pattern, text)
		}
	}
	burst := []string{"dcon-burst", "--cc", "dcqcn", "--plane", "wasm"}

	table := prints(append([]string{"run", "--out", "one"}, burst...)...)
	var sum measure.Summary
	if err := json.Unmarshal([]byte(read("one/dcon-burst/dcqcn/summary.json")), &sum); err != nil {
		t.Fatal(err)
	}
	all, between := sum.PFC.Pauses, sum.PFC.SwitchPauses
	if between == 0 || between >= all {
		t.Fatalf("%d PAUSE frames, %d of them between switches, which shows nothing", all, between)
	}
	has("run", table, fmt.Sprintf(`  PAUSE frames +%d\n  PAUSE frames between switches +%d\n`, all, between))

	repeated := prints(append([]string{"run", "--seeds", "1..2", "--out", "two"}, burst...)...)
	has("run --seeds", repeated, `  PAUSE frames +[0-9]+.*\n  PAUSE frames between switches +[0-9]+`)

	swept := prints(append([]string{"sweep", "--out", "three"}, burst...)...)
	has("sweep", swept, ` PAUSE +between\n.* frames +switches\n`)
	has("sweep", swept, fmt.Sprintf(` %d +%d\b`, all, between))
	has("sweep.csv", strings.SplitN(read("three/sweep.csv"), "\n", 2)[0], `,pauses,pauses_between_switches,`)
	has("sweep.html", read("three/sweep.html"), `PAUSE frames between switches`)

	prints("report", "one/dcon-burst/dcqcn", "two/dcon-burst")
	for _, page := range []string{
		"one/dcon-burst/report.html", "two/dcon-burst/report.html",
		"one/dcon-burst/comparison.html",
	} {
		text := read(page)
		has(page, text, `>PAUSE frames<`)
		has(page, text, `>PAUSE frames between switches<`)
	}
}
