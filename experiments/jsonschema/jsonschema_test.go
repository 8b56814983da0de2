package jsonschema_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	yaml "github.com/goccy/go-yaml"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pausenet/pausenet/experiments/jsonschema"
	"github.com/pausenet/pausenet/internal/testenv"
)

// files lists files of the repository by kind.
var files = map[string][]string{
	"scenario": {"../scenario/builtin/*.yaml", "../scenario/testdata/good.yaml", "../scenario/testdata/workloads/*.yaml"},
	"topology": {"../../topologies/builtin/*.yaml"},
	"sweep":    {"../scenario/builtin/sweeps/*.yaml"},
	"exercise": {"../lab/exercises/*/exercise.yaml"},
	"hidden":   {"../lab/teacher/*/hidden/hidden.yaml"},
}

func read(t *testing.T, kind string) (found map[string][]byte) {
	t.Helper()
	found = map[string][]byte{}
	for _, pattern := range files[kind] {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: no files, %v", pattern, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found[name] = data
		}
	}
	return found
}

func compile(t *testing.T, kind string) *validator.Schema {
	t.Helper()
	text, err := jsonschema.Of(kind)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource(kind+".json", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile(kind + ".json")
}

// instance decodes a YAML text as validators do.
func instance(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	again, err := validator.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// TestFiles checks that the repository's files are valid under the schemas, and name them for editors.
func TestFiles(t *testing.T) {
	for _, kind := range jsonschema.Kinds {
		schema := compile(t, kind)
		for name, data := range read(t, kind) {
			if err := schema.Validate(instance(t, data)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !strings.Contains(name, "builtin") && !strings.Contains(name, "exercises") {
				continue
			}
			path, err := filepath.Rel(filepath.Dir(name), "../../docs/schema/"+kind+".json")
			if first, _, _ := strings.Cut(string(data), "\n"); err != nil || first != "# yaml-language-server: $schema="+path {
				t.Errorf("%s begins with %q, not with its schema for editors, %s (%v)", name, first, path, err)
			}
		}
	}
}

// TestDocuments checks the schemas in docs/schema. With -update it writes them.
func TestDocuments(t *testing.T) {
	for _, kind := range jsonschema.Kinds {
		text, err := jsonschema.Of(kind)
		if err != nil {
			t.Fatal(err)
		}
		testenv.Golden(t, "../../docs/schema/"+kind+".json", string(text))
	}
}

// TestRefused lists mistakes that an editor should show.
func TestRefused(t *testing.T) {
	const start = "topology: star\nduration: 1ms\nflows: [{from: h0, to: h1, size: 1MB}]\n"
	schema := compile(t, "scenario")
	if err := schema.Validate(instance(t, []byte(start))); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"swich: {}", "switch: {pfc: {xof: 1KB}}", "switch: {pfc: {xoff: 3 cows}}", "switch: {pfc: {watchdog: on}}",
		"switch: {ecn: {mode: blue}}",
		"switch: {pfc: {alpha: 65}}", "switch: {pfc: {quanta: 0}}", "switch: {scheduler: {dwrr: {9: 1KB}}}",
		"host: {data_priority: 8}",
		"host: {ack_priority: mine}", "sample: {interval: 5}", "faults: [{link: \"a:b\", loss: 0.1}]",
		"faults: [{at: 1ms, link: \"a:b\", loss: 2}]",
		"cc: {dcqcn: {gg: 1}}", "workloads: [{poison: {}}]", "report: [{title: x}]", "expect_unused: [pfcc]",
		"routing: {hash: theirs}",
	} {
		if schema.Validate(instance(t, []byte(start+text))) == nil {
			t.Errorf("%s is let through", text)
		}
	}
	const exercise = "title: A\ngoal: B\nhand_in: {answers: {n: {question: how many}}}\n"
	schema = compile(t, "exercise")
	if err := schema.Validate(instance(t, []byte(exercise+
		"checks: [{title: C, points: 1, answer: n, is: 3}]"))); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"check: []", "checks: [{title: C}]", "checks: [{title: C, points: 1, verdict: [OK]}]",
		"checks: [{title: C, points: -1, steps: 3}]",
		"checks: [{title: C, points: 1, metric: fct}]", "checks: []\nruns: {mine: {scenario: a.yaml}}",
		"checks: []\nseeds: {a.yaml: {b: 1}}",
	} {
		if schema.Validate(instance(t, []byte(exercise+text))) == nil {
			t.Errorf("%s is let through", text)
		}
	}
	if _, err := jsonschema.Of("page"); err == nil {
		t.Error("there is a schema of pages")
	}
}
