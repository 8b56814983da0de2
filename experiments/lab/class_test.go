package lab

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWriteClass checks that names chosen by others neither lead out of the folder nor act as formulas, that ranks
// follow scores, and that files are equal each time.
func TestWriteClass(t *testing.T) {
	e, err := Builtin("challenge")
	if err != nil {
		t.Fatal(err)
	}
	good := e.Failed("")
	good.Problems = nil
	good.Points, good.Score = 10, 2.5
	for i := range good.Checks {
		good.Checks[i].Passed, good.Checks[i].Points = true, good.Checks[i].Of
	}
	students := []Student{
		{Name: "student-c1b3b8c2c4b6e7a0", Grade: e.Failed("taken")},
		{Name: "ANNA", Grade: e.Failed("line\x1b[2K\nmore")},
		{Name: `<b>&"..\x`, Grade: e.Failed("it crashed")},
		{Name: "=cmd|' /C calc'!A0", Grade: e.Failed("=1+1\nmore")},
		{Name: "anna", Grade: good},
		{Name: "bert", Grade: &Grade{Title: good.Title, Points: 10, Of: 10, Score: 2.25, Checks: good.Checks}},
	}
	dir := t.TempDir()
	for range 2 {
		if err := WriteClass(dir, "v1", e, students); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "gradebook.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	if err != nil || len(rows) != 7 {
		t.Fatal(err, rows)
	}
	if rows[1][12] != "taken" || rows[2][12] != `line\u001b[2K` || rows[4][0] != "'=cmd|' /C calc'!A0" ||
		rows[4][12] != "'=1+1" || !slices.Equal(rows[5],
		[]string{"anna", "10", "10", "2.5", "0.5", "1", "2.5", "1.5", "1", "1.5", "1.5", "0.5", ""}) {
		t.Errorf("%q", rows)
	}
	page, err := os.ReadFile(filepath.Join(dir, "class.html"))
	if err != nil {
		t.Fatal(err)
	}
	if first, second := strings.Index(string(page), ">bert<"), strings.Index(string(page), ">anna<"); first < 0 ||
		second < first || strings.Contains(string(page), "<b>&") {
		t.Error("the leaderboard is not by score, or a name is not escaped")
	}
	entries, err := os.ReadDir(filepath.Join(dir, "students"))
	if err != nil || len(entries) != 6 {
		t.Fatal(err, entries)
	}
	names := map[string]bool{}
	for _, entry := range entries {
		like := strings.ToLower(entry.Name())
		if !harmless().MatchString(entry.Name()) || names[like] || entry.Name() == students[0].Name {
			t.Errorf("%q", entry.Name())
		}
		names[like] = true
	}
	if g := good.Gradescope(1.5); g.Score != 10 || len(g.Tests) != 8 || g.ExecutionTime != 1.5 ||
		g.Leaderboard[0] != (GradescopeRanked{"score", 2.5, "asc"}) {
		t.Errorf("%+v", g)
	}
	if c := students[2].Classroom(); c.Status != "fail" || c.MaxScore != 10 ||
		!strings.HasPrefix(c.Tests[0].Message, "it crashed\n") {
		t.Errorf("%+v", c)
	}
}
