package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/results/runfolders"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
)

const overwriteText = `
name: small
description: Two hosts.
topology: {delay: 1us, star: {hosts: 3}}
switch: {pfc: {xoff: 100KB}}
controllers: [none, dcqcn, {name: fast, cc: dcqcn, set: {rai: line/100}}]
cc: {dcqcn: {rai: line/400}}
flows: [{tag: a, from: h0..h1, to: h2, size: 20KB}]
duration: 100us
report: [{title: Queues, series: [{queue: "s0:h2"}]}]
`

func parseText(t *testing.T, text string, sets ...string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("small.yaml", []byte(text), sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestOverwrites checks that only results of the same configuration are overwritten, and that the error lists the
// differences.
func TestOverwrites(t *testing.T) {
	dir := t.TempDir()
	suite := func(s *scenario.Scenario, seed uint64, version string, controllers ...string) *Suite {
		return &Suite{
			Options: runner.Options{Directory: dir, Version: version}, Jobs: 1,
			Scenarios: []Scenario{{Scenario: s, Controllers: controllers, Seed: seed}},
		}
	}
	s := parseText(t, overwriteText)
	first := suite(s, 1, "v1", "none", "dcqcn", "fast")
	if err := first.Overwrites(); err != nil {
		t.Fatalf("nothing is there: %v", err)
	}
	if _, err := first.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	replaced := func(pairs ...string) *scenario.Scenario {
		return parseText(t, strings.NewReplacer(pairs...).Replace(overwriteText))
	}
	all := []string{"none", "dcqcn", "fast"}
	for name, c := range map[string]struct {
		s       *scenario.Scenario
		seed    uint64
		version string
		cc      []string
		want    string
	}{
		"again":              {s, 1, "v1", all, ""},
		"another version":    {s, 1, "v2", all, ""},
		"one of them":        {s, 1, "v1", []string{"dcqcn"}, ""},
		"another controller": {s, 2, "v1", []string{"timely"}, ""},
		"what is shown": {
			replaced("Two hosts.", "Hosts.", "title: Queues", "title: A queue", "duration: 100us",
				"duration: 100us\nexpect_unused: [pfc]"), 1, "v1", all, "",
		},
		"others' constants": {replaced("rai: line/100", "rai: line/50"), 1, "v1", []string{"none", "dcqcn"}, ""},
		"the seed": {
			s, 2, "v1",
			[]string{"dcqcn"},
			"small/dcqcn holds results of another configuration, which this run would overwrite:\n  seed: 1 there, 2 here",
		},
		"a setting": {
			parseText(t, overwriteText, "switch.pfc.xoff=64KB"), 1, "v1", all,
			"small (none, dcqcn, fast) hold results of another configuration, which this run would overwrite:\n" +
				"  switches, pfc.xoff_bytes: 100000 there, 64000 here",
		},
		"its constants": {
			replaced("rai: line/100", "rai: line/50"), 1, "v2", all,
			"small/fast holds results of another configuration, which this run would overwrite:\n" +
				"  controller's constants, rai: 400Mbps there, 800Mbps here\n  pausenet v1 made these results, and this is v2",
		},
		"the source": {replaced("size: 20KB", "size: 30KB"), 1, "v1", []string{"none"}, "traffic, flows listed: 2 (sha256 "},
		"a fault": {
			replaced("duration: 100us", "duration: 100us\nfaults: [{at: 10us, link: 'h0:s0', down: true}]"), 1, "v1",
			[]string{"none"},
			"  faults: nothing there, [{",
		},
	} {
		err := suite(c.s, c.seed, c.version, c.cc...).Overwrites()
		got := ""
		if err != nil {
			got = strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// TestOverwritesOdd checks that results without a configuration are kept, and that a killed run has no results to keep.
func TestOverwritesOdd(t *testing.T) {
	s := parseText(t, overwriteText)
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no manifest": {
			map[string]string{"flows.csv": ""},
			"there is flows.csv but no manifest.json, which would say what made it",
		},
		"somebody's file": {map[string]string{"notes.txt": ""}, ""},
		"damaged":         {map[string]string{"manifest.json": "{"}, "manifest.json:1: unexpected end of JSON input"},
		"killed":          {map[string]string{"manifest.json": `{"status": "running"}`, "ports.csv": ""}, ""},
		"killed at its end": {
			map[string]string{"manifest.json": `{"status": "running"}`, "summary.json": ""},
			"another configuration",
		},
		"partial, of other two": {
			map[string]string{"manifest.json": `{"status": "partial", "seed": 7}`},
			"seed: 7 there, 1 here",
		},
	} {
		dir := t.TempDir()
		folder := filepath.Join(dir, "small", "none")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range c.files {
			if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := (&Suite{Options: runner.Options{Directory: dir}, Scenarios: []Scenario{{
			Scenario: s, Controllers: []string{"none"},
			Seed: 1,
		}}}).Overwrites()
		var other *rundir.OverwriteError
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &other) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestFreshFolder(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	if got := runfolders.FreshFolder(out + "/"); got != out+"-2" {
		t.Error(got)
	}
	if err := os.Mkdir(out+"-2", 0o700); err != nil {
		t.Fatal(err)
	}
	if got := runfolders.FreshFolder(out); got != out+"-3" {
		t.Error(got)
	}
}

// TestMoveAside: earlier results move to the first free number, and the latest of them are found again.
func TestMoveAside(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "mine")
	for i := 1; i <= 3; i++ {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%s.%d", folder, i)
		if moved, err := runfolders.MoveAside(folder); err != nil || moved != want {
			t.Errorf("%s, %v, want %s", moved, err, want)
		}
		if earlier := runfolders.Earlier(folder); earlier != want {
			t.Errorf("earlier: %s, want %s", earlier, want)
		}
	}
	if moved, err := runfolders.MoveAside(folder); err == nil {
		t.Errorf("nothing was moved to %s", moved)
	}
	if earlier := runfolders.Earlier(folder + "2"); earlier != "" {
		t.Error(earlier)
	}
}
