package command

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/suite"
)

// TestCompareInProcess repeats runs in this process: equal fingerprints pass, another one is named and fails.
func TestCompareInProcess(t *testing.T) {
	s, err := scenario.Reading{}.Parse("", []byte("name: two\nduration: 1ms\ntopology: small\nflows: [{from: h0, to: h5, size: 9KB}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	batch := &suite.Suite{
		Options:   runner.Options{Directory: t.TempDir()},
		Scenarios: []suite.Scenario{{Scenario: s, Controllers: []string{"dcqcn", "none"}, Seed: 1}},
		Jobs:      1,
	}
	results, err := batch.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := compareInProcess(context.Background(), &out, batch, results); err != nil {
		t.Error(err)
	}
	if want := "planes: kernel and wasm have equal fingerprints in 2 runs\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	results[0][1].Summary.Fingerprint = "deadbeef"
	err = compareInProcess(context.Background(), &out, batch, results)
	if err == nil || !strings.Contains(err.Error(), "two under none, seed 1: fingerprint deadbeef in the kernel, ") ||
		strings.Contains(err.Error(), "dcqcn") {
		t.Errorf("another fingerprint of one run: %v", err)
	}
}
