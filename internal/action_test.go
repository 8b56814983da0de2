package internal

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestAction: the steps of action.yml are valid bash, and refer only to its inputs.
func TestAction(t *testing.T) {
	text, err := os.ReadFile("../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Inputs map[string]struct{ Description, Default string }
		Runs   struct{ Steps []struct{ Run, Uses string } }
	}
	if err := yaml.Unmarshal(text, &action); err != nil || len(action.Inputs) == 0 || len(action.Runs.Steps) == 0 {
		t.Fatalf("%v: %d inputs, %d steps", err, len(action.Inputs), len(action.Runs.Steps))
	}
	for _, name := range regexp.MustCompile(`inputs\.(\w+)`).FindAllStringSubmatch(string(text), -1) {
		if in, declared := action.Inputs[name[1]]; !declared || in.Description == "" {
			t.Errorf("input %s is not declared, or not described", name[1])
		}
	}
	for _, step := range action.Runs.Steps {
		c := exec.Command("bash", "-n")
		c.Stdin = strings.NewReader(step.Run)
		if out, err := c.CombinedOutput(); err != nil || (step.Run == "") == (step.Uses == "") || strings.Contains(step.Run, "${{") {
			t.Errorf("%v: %s in\n%s", err, out, step.Run)
		}
	}
}
