package search

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/experiments/explore"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/units"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// short is a family whose headroom is too small by far, so that small searches find cases.
const short = `
topology: {rate: 40Gbps, delay: 1us, star: {hosts: 5}}
switch: {pfc: {xoff: 20KB, headroom: 5KB}}
controllers: [none, dcqcn]
expect_unused: [controller]
duration: 200us
drain: true
sample: {interval: 100us, flows: none}
search:
  objective: {metric: lossless_drops, under: none, at_least: 1, keep: 0}
  vary: {switch.pfc.xoff_to_xon: 2KB..9KB}
  flows:
    - {tag: x, count: 2..6, from: all, to: [h0, h1], size: 20KB..80KB log, start: 0us..10us}
  faults:
    - {count: 0..1, links: hosts, at: 5us..50us, with: {loss: 1%}}
  budget: 40
  seed: 1
`

func parse(t *testing.T, text string) *Family {
	t.Helper()
	f, err := Parse("family.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// run makes a search, and returns its result and the files that it wrote.
func run(t *testing.T, text, folder string, jobs int) (*Result, map[string]string) {
	t.Helper()
	r, err := parse(t, text).Search(context.Background(), explore.Options{Folder: folder, Jobs: jobs})
	if err != nil {
		t.Fatal(err)
	}
	return r, written(t, folder)
}

// written returns the files of a folder, without the journal, whose order is that in which runs end.
func written(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == explore.JournalName {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		// the commands name the folder
		all[e.Name()] = strings.ReplaceAll(string(data), filepath.ToSlash(folder), "FOLDER")
	}
	return all
}

// TestSearch checks that a case is found and shrunk, that its file repeats it, and that the result depends neither on
// the number of jobs nor on interruptions.
func TestSearch(t *testing.T) {
	folder := t.TempDir()
	r, want := run(t, short, folder, 1)
	if len(r.Cases) != 1 || r.Cases[0].Cause != "dropped in a lossless class beyond XOFF and headroom" {
		t.Fatalf("got %+v, want one case of drops for want of headroom", r.Cases)
	}
	c := r.Cases[0]
	if c.Flows > 2 || c.Faults != 0 {
		t.Errorf("%d flows and %d faults are left, want at most 2 and none", c.Flows, c.Faults)
	}
	s, err := scenario.Load(filepath.Join(folder, c.File), nil)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := runner.Watch(context.Background(), s, runner.Options{Controller: "none", Seed: 1}, runner.Watching{})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Fingerprint != c.Fingerprint || float64(sum.Drops.Lossless) != c.Value {
		t.Errorf("the file's run has fingerprint %s and %d drops, the case %s and %v", sum.Fingerprint, sum.Drops.Lossless,
			c.Fingerprint, c.Value)
	}

	if want := c.Cause + ": " + c.Why; !slices.Equal(s.LookAt, []string{want}) {
		t.Errorf("the report of the case says %q, want %q", s.LookAt, want)
	}
	for _, jobs := range []int{2, 5} {
		if _, got := run(t, short, t.TempDir(), jobs); !reflect.DeepEqual(got, want) {
			t.Errorf("with %d jobs: got\n%v\nwant\n%v", jobs, got, want)
		}
	}

	// A process that was killed leaves a journal that ends anywhere.
	journal, err := os.ReadFile(filepath.Join(folder, explore.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	cut := t.TempDir()
	if err := os.WriteFile(filepath.Join(cut, explore.JournalName), journal[:len(journal)/2+7], 0o600); err != nil {
		t.Fatal(err)
	}
	again, got := run(t, short, cut, 2)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("after a cut journal: got\n%v\nwant\n%v", got, want)
	}
	if half := bytes.Count(journal[:len(journal)/2+7], []byte("\n")) - 1; again.Known != half || again.Runs+half != r.Runs {
		t.Errorf("%d runs from the journal and %d new ones, want %d and %d", again.Known, again.Runs, half, r.Runs-half)
	}
	if _, err := parse(t, strings.Replace(short, "budget: 40", "budget: 41", 1)).Search(context.Background(),
		explore.Options{Folder: cut, Jobs: 1}); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("another family continued with this journal: %v", err)
	}
}

// TestAround checks the family of a plain scenario: it keeps the fabric, has the stated bounds, and finds a case with its
// distance to the bound. A scenario without sized flows has none.
func TestAround(t *testing.T) {
	const plain = `topology: {delay: 1us, leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 2, rate: 40Gbps}}
controllers: [dcqcn]
flows:
  - {tag: x, from: h0, to: h2, size: 400KB, start: 20us}
  - {tag: x, from: [h1, h3], to: h2, size: 100KB}
duration: 1ms
`
	data, about, err := Around("plain.yaml", []byte(plain), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if want := "2 to 4 flows between any hosts, sizes 40KB..400KB, starts 0us..20us, up to one failed link between switches, " +
		"seeds 1 to 5"; about != want {
		t.Errorf("got %s, want %s", about, want)
	}
	if HasSection([]byte(plain)) || !HasSection(data) {
		t.Error("the section search is not recognised")
	}
	f := parse(t, strings.Replace(string(data), "at_least: 2", "at_least: 1.3", 1)+"  budget: 32\n")
	r, err := f.Search(context.Background(), explore.Options{Folder: t.TempDir(), Jobs: 2})
	if err != nil || len(r.Cases) == 0 || r.Cases[0].Value < 1.3 || r.Objective != "highest over_bound under dcqcn" {
		t.Fatalf("%+v, %v", r, err)
	}
	seeds := map[uint64]bool{}
	for i := range uint64(40) {
		c := f.draw(explore.NewRandom(1, i))
		for _, x := range c.flows {
			if n, err := units.ParseBytes(x.size); err != nil || n < 40_000 || n > 400_000 || x.from == x.to {
				t.Errorf("flow %+v", x)
			}
		}
		seeds[f.seedOf(c)] = true
		if len(c.flows) < 2 || len(c.flows) > 4 || len(c.faults) > 1 {
			t.Errorf("%d flows, %d faults", len(c.flows), len(c.faults))
		}
	}
	if len(seeds) != 5 || seeds[0] || seeds[6] {
		t.Errorf("seeds %v, want 1 to 5", seeds)
	}
	data, _, err = Around("plain.yaml", []byte(plain), "none", "metric: deadlock, at_least: 1")
	if err != nil || !strings.Contains(string(data), "objective: {metric: deadlock, at_least: 1, under: none}") {
		t.Errorf("%s, %v", data, err)
	}
	idle := strings.NewReplacer("400KB", "unbounded", "100KB", "unbounded").Replace(plain)
	if _, _, err := Around("plain.yaml", []byte(idle), "", ""); err == nil || !strings.Contains(err.Error(), "no flows with a size") {
		t.Errorf("unbounded flows: %v", err)
	}
}

// TestInterrupted checks that an interrupted search keeps its runs.
func TestInterrupted(t *testing.T) {
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	var once sync.Once
	_, err := parse(t, short).Search(ctx, explore.Options{Folder: folder, Jobs: 1, Progress: func(string) { once.Do(cancel) }})
	if err == nil {
		t.Fatal("the search was not interrupted")
	}
	r, _ := run(t, short, folder, 1)
	if r.Known < generation {
		t.Errorf("%d runs were kept, want at least %d", r.Known, generation)
	}
}

// TestOfItself checks that a controller compared with itself has no case, whatever the threshold.
func TestOfItself(t *testing.T) {
	testenv.WholeScenario(t)
	for _, objective := range []string{
		"{metric: fct_mean, under: dcqcn, against: dcqcn, as: ratio, at_least: 1}",
		"{metric: fct_mean, under: dcqcn, against: dcqcn, as: difference, at_least: 0ns}",
		"{metric: fct_mean, under: dcqcn, against: dcqcn, goal: lowest, at_least: 1}",
	} {
		text := strings.Replace(short, "{metric: lossless_drops, under: none, at_least: 1, keep: 0}", objective, 1)
		text = strings.NewReplacer("headroom: 5KB", "headroom: 50KB", "budget: 40", "budget: 16").Replace(text)
		r, _ := run(t, text, t.TempDir(), 2)
		if len(r.Cases) != 0 || r.Interested != 0 {
			t.Errorf("%s: %+v, want no case", objective, r.Cases)
		}
	}
}

// TestMinimize checks minimize against all subsets: it returns a part that passes, and no item of it can go.
func TestMinimize(t *testing.T) {
	list := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for needed := range 1 << len(list) {
		tests := 0
		test := func(part []int) bool {
			tests++
			got := 0
			for _, x := range part {
				got |= 1 << x
			}
			return got&needed == needed
		}
		part := minimize(list, test)
		got := 0
		for _, x := range part {
			got |= 1 << x
		}
		if got&needed != needed || len(part) > 1 && got != needed {
			t.Fatalf("needed %b: got %b", needed, got)
		}
		if n := len(list); tests > n*n+3*n { // the paper's bound, section 3.2
			t.Errorf("needed %b: %d tests", needed, tests)
		}
	}
}

// TestMistakes checks that each mistake is reported at its position.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct{ old, replacement, want string }{
		"section":    {"search:", "searches:", "family.yaml:2:1: the file has no section search"},
		"metric":     {"lossless_drops", "lossless_drop", `:10:23: unknown quantity "lossless_drop": did you mean "lossless_drops"?`},
		"no metric":  {"lossless_drops", "zzzzzzzz", `unknown quantity "zzzzzzzz": expected one of fct_mean, `},
		"summary":    {"lossless_drops", "summary.drops.frame", "no number \"frame\" (expected one of frames, lossless_frames, "},
		"a group":    {"lossless_drops", "summary.drops", "summary.drops is not a number"},
		"speed":      {"lossless_drops", "summary.speed.wall_seconds", "summary has no number \"speed\""},
		"a list":     {"lossless_drops", "summary.switches.x.node", "summary.switches is a list"},
		"a value":    {"lossless_drops", "summary.cnps.x", "summary.cnps is a single value"},
		"controller": {"under: none", "under: nine", "nine"},
		"range":      {"2KB..9KB", "2KB..9us", `:11:34: "2KB..9us" is not a range`},
		"backwards":  {"2KB..9KB", "9KB..2KB", "swap its ends"},
		"path":       {"switch.pfc.xoff_to_xon", "switch.pfc.xof", `unknown key "xof"`},
		"count":      {"count: 2..6", "count: 2KB..6KB", "whole number"},
		"key":        {"size: 20KB", "sizes: 20KB", `unknown key "sizes"`},
		"as":         {"keep: 0", "as: ratio", "add against"},
		"scenario":   {"star: {hosts: 5}", "star: {host: 5}", `family.yaml:2:45: unknown key "host"`},
	} {
		f, err := Parse("family.yaml", []byte(strings.Replace(short, c.old, c.replacement, 1)))
		if err == nil {
			_, err = f.Search(context.Background(), explore.Options{Folder: t.TempDir(), Jobs: 1})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(short))
	f.Fuzz(func(t *testing.T, data []byte) {
		family, err := Parse("family.yaml", data)
		if err != nil || family.Budget > 1000 {
			return
		}
		c := family.draw(explore.NewRandom(1, 0))
		for range 3 {
			c = family.change(c, explore.NewRandom(1, 1))
		}
		family.text(c)
	})
}

// TestExamples checks that the families in examples/search can be read.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob("../../examples/search/*.yaml")
	if err != nil || len(paths) < 4 {
		t.Fatalf("%d examples, %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Parse(path, data)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := scenario.Parse(path, []byte(f.text(f.draw(explore.NewRandom(1, 0)))), nil); err != nil {
			t.Errorf("%s: the first candidate: %v", path, err)
		}
	}
}
