package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHostileSubmissions checks that forbidden files cost points, with a message that shows no content of other files.
func TestHostileSubmissions(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(secret, []byte("key: hidden\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := Builtin("pfc")
	if err != nil {
		t.Fatal(err)
	}
	solution, err := os.ReadFile("teacher/pfc/solution/fabric.yaml")
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, to string) string {
		text := strings.Replace(string(solution), old, to, 1)
		if text == string(solution) {
			t.Fatalf("no %s in the solution", old)
		}
		return text
	}
	for name, c := range map[string]struct {
		text, link, want string
	}{
		"a link":    {"", secret, "link"},
		"too large": {strings.Repeat("# much\n", 1<<16), "", "has 458752 bytes"},
		"no YAML":   {"{{{", "", "fabric.yaml:1"},
		"another topology": {
			change("topology: {delay: 1us", "topology: {delay: 1ns"), "",
			"topology.delay must not change (you may change switch.pfc.xoff",
		},
		"another's topology": {change("topology: {delay: 1us, leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 4, "+
			"host_rate: 25Gbps, fabric_rate: 100Gbps}}", "topology: "+secret), "", "topology must not change"},
		"another's flows": {
			change("duration:", "workloads: [{csv: "+secret+"}]\nduration:"), "",
			"workloads must not change",
		},
		"less traffic": {change("from: h1..h3", "from: h1..h2"), "", "flows.0.from must not change"},
		"one flow more": {
			change("duration:", "  - {from: h0, to: h1, size: 1KB}\nduration:"), "",
			"flows must not change",
		},
		"another setting": {
			change("{xoff: 4.3MB}", "{xoff: 4.3MB, alpha: 1}"), "",
			"switch.pfc.alpha must not change",
		},
		"a slip": {change("4.3MB", "4.3MV"), "", "fabric.yaml:4:15: "},
		"aliases of aliases": {"a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n" +
			"d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\n" +
			"g: [*f,*f,*f,*f,*f,*f,*f,*f]\n", "", "fabric.yaml:"},
	} {
		folder := t.TempDir()
		file := filepath.Join(folder, "fabric.yaml")
		if c.link != "" {
			err = os.Symlink(c.link, file)
		} else {
			err = os.WriteFile(file, []byte(c.text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		s := Submit(e, folder)
		if got := s.Problems["fabric.yaml"]; !strings.Contains(got, c.want) || strings.Contains(got, "hidden") ||
			s.scenarios["fabric.yaml"] != nil {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if got := s.Problems[AnswersFile]; got != "answers.yaml is missing: pausenet lab start pfc FOLDER writes it" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestAnswers checks the messages for invalid answers.
func TestAnswers(t *testing.T) {
	e, err := Builtin("pfc")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"alone: 700":            `"700" is not a time: write one like 12.5us, with a unit of ns, us, ms, s`,
		"alone: 0.7 millis":     "is not a time",
		"alone: 700 us":         "",
		"alone: [1us]":          "is not a time",
		"hops: 3us":             "expected a number without a unit",
		"hops: .inf":            "is not a number",
		"hops: 3\nhops: 4":      "hops",
		"hops: ":                "",
		"hop: 3":                `unknown key "hop": did you mean "hops"?`,
		"chip: 271 MB # of all": "",
		"3":                     "answers.yaml:1:1",
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, AnswersFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Submit(e, folder).Problems[AnswersFile]; !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
