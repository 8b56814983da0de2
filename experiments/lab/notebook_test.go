package lab

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestNotebook checks that each exercise's notebook has the whole text in its order and the cells that the exercise needs.
// python/tests executes some.
func TestNotebook(t *testing.T) {
	for _, name := range Names() {
		e, err := LoadFor(name, "", "", "zoë")
		if err != nil {
			t.Fatal(err)
		}
		data, err := e.Notebook()
		if err != nil {
			t.Fatal(err)
		}
		var n struct {
			Cells []struct {
				Kind    string `json:"cell_type"`
				ID      string
				Source  string
				Outputs []any
			}
			Nbformat int
		}
		if err := json.Unmarshal(data, &n); err != nil || n.Nbformat != 4 {
			t.Fatalf("%s: %v", err, data)
		}
		text, err := e.Text()
		if err != nil {
			t.Fatal(err)
		}
		code, ids := "", map[string]bool{}
		for _, c := range n.Cells {
			ids[c.ID] = true
			if c.Kind == "code" {
				code += c.Source + "\n"
			} else if at := strings.Index(text, c.Source); at >= 0 {
				text = text[at+len(c.Source):]
			} else if c.Source != "## Check" && c.Source != "## Run your files" && !strings.HasPrefix(c.Source, "You edit [") {
				t.Errorf("%s: the text does not have, or not here: %s", name, c.Source)
			}
		}
		if strings.TrimSpace(text) != "" || len(ids) != len(n.Cells) {
			t.Errorf("%s: %d ids of %d cells; not in the notebook: %s", name, len(ids), len(n.Cells), text)
		}
		if got := strings.Contains(code, `"lab", "predict"`); got != e.predicts() {
			t.Errorf("%s: locks predictions: %t", name, got)
		}
		want := map[string][]string{
			"aimd":   {`pausenet.load("results/share").plot()`, `pausenet.load("results/far").plot()`},
			"figure": {`pausenet.run("figure.yaml", cc=["hpcc", "dcqcn"])`},
			"storm": {
				`pausenet.run("watchdog.yaml", cc=["none"])`, `pausenet.run("deadlock.yaml")`,
				`pausenet.load("results/busy-with-watchdog").plot()`,
			},
			"incident": {"pausenet.check()"}, "tournament": {`pausenet.run("home.yaml", cc=["./control.star"])`},
		}[name]
		if i := slices.IndexFunc(want, func(line string) bool { return !strings.Contains(code, line) }); i >= 0 {
			t.Errorf("%s: want %s in\n%s", name, want[i], code)
		}
		if (name == "incident" || name == "rdma") && strings.Contains(code, "plot") {
			t.Errorf("%s has no plots: %s", name, code)
		}
	}
}
