//go:build unix

package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/pausenet/pausenet/internal/testenv"
)

// TestAuditAction runs the script of the GitHub action of docs/audit.md, with a stand-in for gh: it comments only on pull
// requests, keeps SARIF, and fails for errors that the baseline does not accept.
func TestAuditAction(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	page, err := os.ReadFile("../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Permissions map[string]string
		Jobs        map[string]struct {
			Steps []struct {
				Uses string
				With map[string]string
			}
		}
	}
	var action struct {
		Inputs map[string]any
		Runs   struct {
			Steps []struct {
				Run, Uses string
				Env, With map[string]string
			}
		}
	}
	blocks := codeBlock.FindAllStringSubmatch(string(page), -1)
	n := len(blocks)
	for i, into := range []any{&workflow, &action} {
		if err := yaml.Unmarshal([]byte(blocks[n-2+i][2]), into); err != nil {
			t.Fatal(err)
		}
	}
	call, upload := workflow.Jobs["audit"].Steps[1], action.Runs.Steps[1]
	if call.Uses != "./.github/actions/audit" || workflow.Permissions["pull-requests"] != "write" ||
		workflow.Permissions["security-events"] != "write" || upload.With["sarif_file"] != "audit.sarif" {
		t.Errorf("%+v\n%+v", workflow, action)
	}
	for name := range call.With {
		if action.Inputs[name] == nil {
			t.Errorf("the action has no input %s", name)
		}
	}
	dir, _ := program(t)
	files := map[string]string{
		"gh": "#!/bin/sh\necho \"$@\" > gh.txt\ncat audit.md >> gh.txt\n",
		"fabric/s0.config_db.json": `{"PORT": {"E0": {"speed": "100000"}}, "PORT_QOS_MAP": {"E0": {"dscp_to_tc_map": "M"}},
			"DSCP_TO_TC_MAP": {}}`,
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = testenv.WriteProgram(path, []byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func(number string) (comment string, failed bool) {
		c := exec.Command(bash, "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", action.Runs.Steps[0].Run)
		c.Dir = dir
		c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "AUDITED=fabric", "GH_TOKEN=x", "NUMBER="+number)
		out, err := c.CombinedOutput()
		t.Logf("%s", out)
		data, _ := os.ReadFile(filepath.Join(dir, "gh.txt"))
		return string(data), err != nil
	}
	if comment, failed := run(""); comment != "" || !failed {
		t.Errorf("without a pull request: %v, %s", failed, comment)
	}
	comment, failed := run("7")
	if !failed || !strings.HasPrefix(comment, "pr comment 7 --body-file audit.md --edit-last --create-if-none\n### pausenet audit\n") ||
		!strings.Contains(comment, "#### error: reference") {
		t.Errorf("of a pull request: %v, %s", failed, comment)
	}
	var sarif struct {
		Runs []struct{ Results []any }
	}
	if data, err := os.ReadFile(filepath.Join(dir, "audit.sarif")); err != nil || json.Unmarshal(data, &sarif) != nil ||
		len(sarif.Runs) != 1 || len(sarif.Runs[0].Results) == 0 {
		t.Errorf("%v, %+v", err, sarif)
	}
	sh(t, dir, nil, "./pausenet audit fabric --write-baseline audit-baseline.json")
	if comment, failed := run("7"); failed || !strings.Contains(comment, "0 errors") {
		t.Errorf("with a baseline: %v, %s", failed, comment)
	}
}
