package docs

import (
	"fmt"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	p := parse("page", "# A [title](x.md)\n\n<!-- note -->\nSays\nwhat.\n\nMore.\n\n"+
		"## One: `two`, three\n\n```\n# no heading\n```\n### Sub_part\nx\n")
	if p.Title != "A [title](x.md)" || p.Summary != "Says what." {
		t.Errorf("title %q, summary %q", p.Title, p.Summary)
	}
	var got []string
	for _, s := range p.Sections {
		got = append(got, fmt.Sprintf("%s %d", s.Name, strings.Count(s.Text, "\n")))
	}
	if want := "[page 8 page#one-two-three 5 page#sub_part 2]"; fmt.Sprint(got) != want {
		t.Errorf("sections %v, want %s", got, want)
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct{ name, begins, contains, without string }{
		{"faults", "# Faults", "## The PFC watchdog", "# Headroom"},
		{"schemes/dcon.md", "# DCON", "", ""},
		{"faults#the-pfc-watchdog", "## The PFC watchdog", "detect", "# Faults"},
	} {
		text, err := Text(c.name)
		if err != nil || !strings.HasPrefix(text, c.begins) || !strings.Contains(text, c.contains) ||
			c.without != "" && strings.Contains(text, c.without) {
			t.Errorf("%s: %v\n%.200s", c.name, err, text)
		}
	}
	for name, want := range map[string]string{
		"no": `no page "no" (list the pages with "pausenet docs")`, "faults#no": `faults has no section "no" (it has: `,
	} {
		if _, err := Text(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	// A section has those below it, and ends at the next one of its level.
	text, err := Text("commands#output")
	if err != nil || strings.Contains(text, "## Options from elsewhere") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestFind(t *testing.T) {
	found, err := Find("Watchdog RESTORE", 3)
	if err != nil || len(found) != 3 || found[0].Name != "faults#the-pfc-watchdog" {
		t.Errorf("%.80v, %v", found, err)
	}
	for _, s := range found {
		if text := strings.ToLower(s.Text); !strings.Contains(text, "watchdog") || !strings.Contains(text, "restore") {
			t.Errorf("%s lacks a word", s.Name)
		}
	}
	if found, err := Find("zzzqqq", 3); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := Find(" ", 3); err == nil {
		t.Error("no words are no error")
	}
}
