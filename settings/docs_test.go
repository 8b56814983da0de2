package settings_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/topologies"
)

// TestDocuments checks the tables in the documents. With -update it writes them.
func TestDocuments(t *testing.T) {
	all := tables()
	live := keys.Column{Title: "live", Cell: func(k *keys.Key) string { return map[bool]string{true: "yes"}[k.Live] }}
	for _, block := range []struct{ document, name, text string }{
		{"scenarios", "switch", all["switch"].Markdown(live)},
		{"scenarios", "host", all["host"].Markdown()},
		{"faults", "fault", all["fault"].Markdown(keys.Column{Title: "of", Cell: of})},
		{"faults", "occurrence", all["occurrence"].Markdown()},
	} {
		testenv.Document(t, "../docs/"+block.document+".md", "settings: "+block.name, block.text)
	}
	scenarios, err := os.ReadFile("../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range topologies.BalancingNames() {
		if !strings.Contains(string(scenarios), "\n| `"+mode+"` | ") {
			t.Errorf("scenarios.md: no row for mode %s in the table of modes of load balancing", mode)
		}
	}
}

// of names the section that a fault's key belongs to.
func of(k *keys.Key) string {
	for i := range settings.Faults {
		f := &settings.Faults[i]
		group, _, _ := strings.Cut(k.Name, ".")
		switch {
		case group == string(f.Kind):
			return map[bool]string{true: "host", false: "link"}[f.OfHost]
		case slices.Contains(f.Beside, k.Name):
			return "beside `" + string(f.Kind) + "`"
		}
	}
	return ""
}
