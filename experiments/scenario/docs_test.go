package scenario

import (
	"os"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/testenv"
)

// TestDocumentedScenarios checks that the scenarios in the documents are valid, or fail as described.
func TestDocumentedScenarios(t *testing.T) {
	found := 0
	for _, name := range []string{"../../docs/scenarios.md", "../../docs/experiment.md"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(data), "```yaml\n")[1:] {
			text, _, _ := strings.Cut(part, "```")
			if !strings.Contains(text, "\nduration:") {
				continue
			}
			found++
			if _, err := Parse(name, []byte(text), nil); err != nil {
				t.Error(err)
			}
		}
	}
	if found < 3 {
		t.Errorf("%d scenarios in the documents", found)
	}
}

// TestDocumentedKeys checks the tables of keys in the documents. With -update it writes them.
func TestDocumentedKeys(t *testing.T) {
	for _, block := range []struct {
		document, name string
		table          keys.Table
	}{
		{"scenarios", "scenario", Keys()},
		{"scenarios", "flow", newFlowEntry().keys()},
		{"scenarios", "workload", newWorkloadEntry().kindKeys()},
		{"collectives", "collective", newWorkloadEntry().collectiveKeys()},
		{"collectives", "job", newWorkloadEntry().jobKeys()},
		{"collectives", "step", new(stepEntry).ownKeys()},
		{"scenarios", "variant", new(Variant).keys()},
		{"scenarios", "sample", new(Sampling).keys()},
		{"scenarios", "panel", new(Panel).keys()},
		{"scenarios", "series", new(Series).keys()},
		{"scenarios", "published", publishedTableKeys(new(measure.PublishedTable))},
		{"scenarios", "published row", publishedRowKeys(new(measure.PublishedRow))},
		{"faults", "fault", new(Fault).positionKeys()},
	} {
		testenv.Document(t, "../../docs/"+block.document+".md", "keys: "+block.name, block.table.Markdown())
	}
	var rules []string
	var tables []keys.Table
	for _, kind := range workloadKinds[:4] {
		rules, tables = append(rules, kind.key), append(tables, kind.keys(newWorkloadEntry()))
	}
	table, of := keys.Merge("all rules", rules, tables)
	testenv.Document(t, "../../docs/scenarios.md", "keys: rules", table.Markdown(of))
}
