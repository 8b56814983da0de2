package command

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/orchestrator/kernel/doctor"
)

// TestDoctor checks that the exit code agrees with the diagnosis.
func TestDoctor(t *testing.T) {
	stdout, stderr, code := command("doctor", "-o", "json")
	var d doctor.Diagnosis
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatalf("%v in %s", err, stdout)
	}
	if want := map[bool]int{true: exitFine, false: exitEnvironment}[d.Works]; code != want || len(d.Checks) == 0 {
		t.Errorf("exit code %d with %+v", code, d)
	}
	if d.Works != (stderr == "") {
		t.Errorf("works: %v, and %q", d.Works, stderr)
	}
	for _, c := range d.Checks {
		if (c.Status == doctor.CheckMissing) != (c.Remedy != "") && c.Status != doctor.CheckWarning {
			t.Errorf("%s: %s with the remedy %q", c.Name, c.Status, c.Remedy)
		}
	}
	stdout, _, again := command("doctor")
	if again != code || !strings.Contains(stdout, "kernel") {
		t.Errorf("as text: exit code %d and %s", again, stdout)
	}
}

func TestClean(t *testing.T) {
	stdout, stderr, code := command("clean", "--dry-run", "-o", "json")
	if os.Geteuid() != 0 {
		if code != exitEnvironment || !strings.Contains(stderr, "sudo") {
			t.Errorf("exit code %d and %q", code, stderr)
		}
		return
	}
	var all []cleaned
	if err := json.Unmarshal([]byte(stdout), &all); err != nil || code != exitFine {
		t.Fatalf("%v, exit code %d: %s%s", err, code, stdout, stderr)
	}
	for _, l := range all {
		if l.Removed {
			t.Errorf("a dry run has removed %+v", l)
		}
	}
}
