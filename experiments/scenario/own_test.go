package scenario

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/pausenet/pausenet/controllerfile/star"
	_ "github.com/pausenet/pausenet/controllerfile/wasm"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// TestOwnTogether checks which congestion controls the flows of one run may combine, and what excludes flows' own
// controls.
func TestOwnTogether(t *testing.T) {
	text := func(run, own string) string {
		return "topology: star\nduration: 1ms\ncontrollers: [" + run +
			"]\nflows: [{from: h0, to: h1, size: 1KB}, {from: h0, to: h1, size: 1KB, " + own + "}]\n"
	}
	for _, c := range []struct{ run, own, want string }{
		{"dcqcn", "cc: hpcc", ""},
		{"dcqcn", "cc: dcon", ""},
		{"none", "cc: pcn", ""},
		{"pcn", "cc: swift", ""},
		{"dcqcn", "cc: dctcp", "cannot share switches, which mark packets in one way: dcqcn needs ECN, and dctcp needs ECN with a step"},
		{"pcn", "cc: dcqcn", "pcn needs PCN's rule, and dcqcn needs ECN"},
		{"hpcc", "cc: timely", ""},
	} {
		s, err := Parse("x.yaml", []byte(text(c.run, c.own)), nil)
		if err != nil {
			t.Fatal(err)
		}
		switch err := Check(s, s.Controllers); {
		case c.want == "" && err != nil:
			t.Errorf("%s, %s: %v", c.run, c.own, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s, %s: %v, want %q", c.run, c.own, err, c.want)
		}
	}
	for own, want := range map[string][3]bool{ // --why, bound, live
		"cc: swift":                       {true, true, true},
		"qps: 2":                          {false, true, false},
		"stop: 5us":                       {},
		"on_off: {on: 1us, off: 1us}":     {},
		"weight: 2":                       {false, true, false},
		"priority: 4":                     {false, true, false},
		"expect_unfinished: true, qps: 1": {true, true, true},
	} {
		s, err := Parse("x.yaml", []byte(text("dcqcn", own)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]bool{s.WhyFits() == nil, s.BoundFits() == nil, s.Flows[1].LiveFits() == nil}; got != want {
			t.Errorf("%s: --why, bound and live take it: %v, want %v", own, got, want)
		}
	}
}

// TestBrokenControllerFile: the mistakes of a controller's file are reported where it is named, and nothing else,
// wherever a name may stand.
func TestBrokenControllerFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "broken.star")
	if err := os.WriteFile(path, []byte("def init(flow)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a list":      "controllers: [%s]\n",
		"a variant":   "controllers: [{name: own, cc: %s, set: {a: 1}}]\n",
		"constants":   "cc: {%s: {a: 1}}\n",
		"a flow's":    "flows: [{from: h0, to: h1, size: 1KB, cc: %s}]\n",
		"with window": "controllers: [%s+win]\n",
	} {
		text = fmt.Sprintf(text, path)
		if !strings.Contains(text, "flows") {
			text += "flows: [{from: h0, to: h1, size: 1KB}]\n"
		}
		_, err := Parse("x.yaml", []byte("topology: star\nduration: 1ms\n"+text), nil)
		var problems yamlspec.Problems
		if !errors.As(err, &problems) || len(problems) != 1 || !strings.Contains(problems[0].Message, "broken.star:1:15: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse("x.yaml", []byte("topology: star\nduration: 1ms\ncontrollers: [missing]\n"+
		"flows: [{from: h0, to: h1, size: 1KB}]\n"), nil); err == nil ||
		!strings.Contains(err.Error(), `unknown congestion controller "missing"`) {
		t.Error(err)
	}
}
