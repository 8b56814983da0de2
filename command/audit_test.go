package command

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestAuditHostileFiles checks that files that cannot be read, or are no configurations in spite of their names, give one
// message with the file, exit code 2 and no report; and that what is no file, or of another format, is named as ignored.
func TestAuditHostileFiles(t *testing.T) {
	const sound = `{"PORT": {"E": {"speed": "100000"}}}`
	for _, c := range []struct {
		name, text string // of a file in the folder
		link       string // or where a link leads to
		code       int
		want       string
	}{
		{"config_db.json", sound[:20], "", exitBadInput, "config_db.json: not "},
		{"config_db.json", "\x7fELF\x00\x01", "", exitBadInput, "config_db.json: not JSON: invalid character"},
		{"config_db.json", `{"PORT": ` + strings.Repeat("[", 1<<20), "", exitBadInput, "config_db.json: not "},
		{"config_db.json", "", "", exitBadInput, "config_db.json: not JSON: unexpected end of JSON input"},
		{"leaf.conf", "interfaces { " + strings.Repeat("a { ", 1<<16), "", exitBadInput, "leaf.conf:1: nested deeper than 64 levels"},
		{"nvue.yaml", "- set:\n    interface: " + strings.Repeat("[", 1<<16), "", exitBadInput, "nvue.yaml:2:"},
		{"running-config", "interface Ethernet1\n" + strings.Repeat("x", 1<<20), "", exitFine, "2 switches"},
		{"lldp.json", `{"lldp": {"interface": [`, "", exitBadInput, "lldp.json: not "},
		{"minigraph.xml", "<DeviceMiniGraph><a>", "", exitBadInput, "minigraph.xml: line 1: not a minigraph"},
		{"pg_profile_lookup.ini", "100000 5m 1\n", "", exitBadInput, "pg_profile_lookup.ini: line 1"},
		{"pg_profile_lookup.ini", "\x00\x01\x02", "", exitBadInput, "pg_profile_lookup.ini: not the format"},
		{"core", "\x7fELF\x00", "", exitFine, "ignored for their format: "},
		{"x.json", "", "x.json", exitBadInput, "x.json: "},
		{"x.json", "", "nowhere", exitBadInput, "x.json: "},
		{"again", "", ".", exitFine, "ignored for their format: "},
		{"other", "", "config_db.json", exitFine, "ignored for their format: "},
	} {
		if runtime.GOOS == "windows" && c.link != "" {
			continue
		}
		dir := t.TempDir()
		path := filepath.Join(dir, c.name)
		var err error
		if c.name != "config_db.json" {
			err = os.WriteFile(filepath.Join(dir, "config_db.json"), []byte(sound), 0o644)
		}
		if err == nil && c.link != "" {
			err = os.Symlink(c.link, path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(c.text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code := command("audit", dir)
		got := stderr
		if c.code == exitFine {
			got = stdout
		} else if stdout != "" {
			t.Errorf("%s: a report: %s", c.name, stdout)
		}
		if code != c.code || !strings.Contains(got, c.want) || strings.Count(stderr, path) > 1 || len(stderr) > 2000 {
			t.Errorf("%s: exit code %d: %.500s%.500s", c.name, code, stdout, stderr)
		}
	}
}

// TestAuditTooLarge checks that a file above the limit is not read, by a file without content.
func TestAuditTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config_db.json")
	f, err := os.Create(path)
	if err == nil {
		err = f.Truncate(auditedFile.Most + 1)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := command("audit", path)
	if code != exitBadInput || stdout != "" || !strings.Contains(stderr, path) || bytes.Count([]byte(stderr), []byte("\n")) != 1 {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}
