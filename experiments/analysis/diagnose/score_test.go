package diagnose

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestScore marks answers: right ones, a link from its other end, a port that is not the same from its other end, a wrong
// place, a wrong kind, and none.
func TestScore(t *testing.T) {
	truth, err := ReadAnswers([]byte("incident  kind       place   value\n1  PFC storm  h6  70\n2  long cable  a:b  12\n3  PFC off  a:b  -\n" +
		"4  slow NIC  h1  0.3\n5  none  -  -\n6  ECN off  s  -\n7  watchdog  s  6\n"))
	if err != nil {
		t.Fatal(err)
	}
	answers, err := ReadAnswers([]byte("# mine\n1, PFC storm, h6\n2\tlong cable\tb:a\n3, PFC off, b:a\n4, slow NIC, h2\n5, none\n" +
		"6, none, -\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := ScoreOf(answers, truth)
	if err != nil || s.Right != 3 || s.Kinds != 5 || s.Marks[5].KindRight || s.Marks[6].Kind != "" {
		t.Errorf("%+v, %v", s, err)
	}
	var b strings.Builder
	if err := s.Write(&b); err != nil || !strings.Contains(b.String(), "4         slow NIC h2               right kind, wrong place\n") ||
		!strings.HasSuffix(b.String(), "3 of 7 right; the kind is right in 5\n") {
		t.Errorf("%v:\n%s", err, b.String())
	}
	if _, err := ScoreOf([]Answer{{Incident: "8"}}, truth); err == nil || !strings.Contains(err.Error(), `no incident "8" (expected 1 to 7)`) {
		t.Errorf("%v", err)
	}
	for text, want := range map[string]string{
		"": "no answers", "1": "line 1: expected an incident", "1, PFC strom, h1": `line 1: unknown kind "PFC strom": did you mean "PFC storm"?`,
		"1, none\n1, none": "line 2: a second answer for incident 1",
	} {
		if _, err := ReadAnswers([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzReadAnswers(f *testing.F) {
	f.Add("01, PFC storm, h6\n02\tnone\n")
	f.Fuzz(func(t *testing.T, text string) {
		if all, err := ReadAnswers([]byte(text)); err == nil {
			if s, err := ScoreOf(all, all); err != nil || s.Right != len(all) {
				t.Errorf("%+v, %v", s, err)
			}
		}
	})
}

// TestPackTellsNothing checks that no file of the pack names an answer: apart from their numbers, the files of incidents
// with the same traffic are equal.
func TestPackTellsNothing(t *testing.T) {
	number := regexp.MustCompile(` *\b\d[\d,]*(\.\d+)?`) // with the spaces that align it
	texts := map[string]string{}
	for i := range incidents {
		x := &incidents[i]
		group := x.fabric
		if x.ring > 0 {
			group = "ring " + group
		}
		files, err := filepath.Glob(filepath.Join(pack, folder(i), "*"))
		if err != nil || len(files) < 10 {
			t.Fatalf("%v, %v", files, err)
		}
		var all strings.Builder
		for _, file := range files { // in the order of their names
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.WriteString(filepath.Base(file) + "\n" + number.ReplaceAllString(string(data), "0") + "\n")
		}
		if texts[group] == "" {
			texts[group] = all.String()
		}
		if texts[group] != all.String() {
			t.Errorf("incident %s has other words than the first with its traffic", folder(i))
		}
	}
}
