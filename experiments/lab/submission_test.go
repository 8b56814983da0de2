package lab

import (
	"io/fs"
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
	start, err := fs.ReadFile(e.Files, "start/fabric.yaml")
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, to string) string {
		text := strings.Replace(string(start), old, to, 1)
		if text == string(start) {
			t.Fatalf("no %s in the file", old)
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
			change("{delay: 1us", "{delay: 1ns"), "",
			"topology.delay must not change (you may change switch.pfc.xoff",
		},
		"another's topology": {change("topology:\n  {delay: 1us, leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 4, "+
			"host_rate: 25Gbps, fabric_rate: 400Gbps}}", "topology: "+secret), "", "topology must not change"},
		"another's flows": {
			change("duration:", "workloads: [{csv: "+secret+"}]\nduration:"), "",
			"workloads must not change",
		},
		"less traffic": {change(`from: "h1..h3"`, "from: h1..h2"), "", "flows.0.from must not change"},
		"one flow more": {
			change("duration:", "  - {from: h0, to: h1, size: 1KB}\nduration:"), "",
			"flows must not change",
		},
		"another setting": {
			change("{xoff: 320KB}", "{xoff: 320KB, alpha: 1}"), "",
			"switch.pfc.alpha must not change",
		},
		"a slip": {change("320KB", "320KV"), "", "fabric.yaml:6:15: "},
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
		"alone: 700 µs":         "",
		"alone: 700 μs":         "",
		"chip: 0.271GB":         "",
		"chip: 271000 kB":       "",
		"alone: 0,7ms":          `"0,7ms" has a comma: write a point before the decimals, as in 0.7ms, and nothing between thousands`,
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

// TestOneBadAnswer checks that a mistake in a line of the answers spoils only its answer, even if the file is no YAML.
func TestOneBadAnswer(t *testing.T) {
	e, err := Builtin("pfc")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"hops: three", "hops: 3: 4", "hops: [3", "hops: \"3", "hops 3"} {
		folder := t.TempDir()
		text := "# mine\nalone: 700us\n" + bad + "\nchip: 271MB\n"
		if err := os.WriteFile(filepath.Join(folder, AnswersFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := Submit(e, folder)
		if _, given := s.predicted["hops"]; given || s.predicted["alone"] != "700us" || s.answers["chip"] != 271e6 {
			t.Errorf("%q: answers %v, predictions %v", bad, s.answers, s.predicted)
		}
		if !strings.Contains(s.Problems[AnswersFile], "answers.yaml:3:") {
			t.Errorf("%q: %q", bad, s.Problems[AnswersFile])
		}
	}
}

// TestHints checks that only checks that fail by themselves have a hint: not those whose file or run is missing.
func TestHints(t *testing.T) {
	folder := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(folder, "control.star"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hints := func() (hints string) {
		e := pair(t)
		for i := range e.Checks {
			e.Checks[i].Hint = "hint " + e.Checks[i].Title
		}
		e.Checks[1].Name, e.Checks[2].With = "quick", []string{"quick"}
		g := gradeWith(t, e, folder, Options{})
		for _, o := range g.Checks {
			hints += o.Hint + ";"
		}
		return hints
	}
	const init = "def init(flow):\n    flow.rate = path.line_rate"
	for _, c := range []struct{ text, want string }{
		{init + "(\n", ";;;"},
		{init + "\ndef on_ack(flow, ack):\n    flow.rate = -1\n", "hint Trusted;;;"},
		{init + " / 100\ndef on_ack(flow, ack):\n    for i in range(50):\n        flow.rate = flow.rate\n", ";hint Quick;hint Short;"},
		{init + " / 100\ndef on_ack(flow, ack):\n    pass\n", ";hint Quick;;"},
	} {
		write(c.text)
		if got := hints(); got != c.want {
			t.Errorf("%q: hints %q, want %q", c.text, got, c.want)
		}
	}
}
