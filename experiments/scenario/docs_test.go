package scenario

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentedScenarios: the scenarios in the documents are as they say.
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

// TestDocumentedWorkloads: every kind of workload is described.
func TestDocumentedWorkloads(t *testing.T) {
	data, err := os.ReadFile("../../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range workloadKinds {
		if !strings.Contains(string(data), "\n| `"+kind.key+"` | ") {
			t.Errorf("docs/scenarios.md does not have the workload %s", kind.key)
		}
	}
}

// TestDocumentedUnused: all that a run may have no use for is described.
func TestDocumentedUnused(t *testing.T) {
	data, err := os.ReadFile("../../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	_, row, _ := strings.Cut(string(data), "\n| `expect_unused` |")
	row, _, _ = strings.Cut(row, "\n")
	for _, name := range unusedNames {
		if !strings.Contains(row, "`"+name+"`") {
			t.Errorf("docs/scenarios.md does not have %s in expect_unused", name)
		}
	}
}
