package deadlock

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/analysis/deadlock/certificate"
	"github.com/pausenet/pausenet/topologies/spec"
)

// TestPythonChecker checks a certificate by the script in examples, which has nothing of this project, and compares how
// many turns it and package certificate look at. Both refuse an order with two ports swapped.
func TestPythonChecker(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	plan, err := spec.Builtin("dcon-testbed")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	shown, err := json.Marshal(plan.View())
	if err != nil {
		t.Fatal(err)
	}
	topology := write("topology.json", shown)
	c := prove(t, plan, 2).Certificate()
	check := func() (string, error) {
		data, err := c.Format()
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(python, "../../../examples/deadlock/check_certificate.py", write("certificate.json", data),
			topology).CombinedOutput()
		return string(out), err
	}
	result, err := certificate.Check(c, plan)
	if err != nil {
		t.Fatal(err)
	}
	out, err := check()
	want := fmt.Sprintf("%d cases, failed links: at most 2; %d turns compared", result.Cases, result.Turns)
	if err != nil || !strings.Contains(out, want) {
		t.Errorf("%v: %s: want %q", err, out, want)
	}
	order := c.Classes[0].Orders[0]
	slices.Reverse(order)
	if _, err := certificate.Check(c, plan); err == nil {
		t.Error("the checker accepts a reversed order")
	}
	if out, err := check(); err == nil || !strings.Contains(out, "does not come before") {
		t.Errorf("the script accepts a reversed order: %v: %s", err, out)
	}
}
