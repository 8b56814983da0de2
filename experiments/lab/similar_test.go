package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// aimd is a program with enough in it for fingerprints.
const aimd = `params = {"gain": number(0.3, min=0, max=1)}
def init(flow):
    flow.rate = path.line_rate
    flow.marked = False
    flow.ends = 0
    flow.smooth = path.base_rtt
def on_ack(flow, ack):
    if ack.rtt > 0:
        flow.smooth = flow.smooth * 0.875 + ack.rtt * 0.125
    if ack.ce or flow.smooth > 1.5 * path.base_rtt:
        flow.marked = True
    if ack.ack_sequence <= flow.ends:
        return
    if flow.marked:
        flow.rate = max(10 * Mbps, flow.rate * (1 - params.gain))
    else:
        flow.rate = min(path.line_rate, flow.rate + path.line_rate / 100)
    flow.marked = False
    flow.ends = ack.next_send
`

const other = `def init(flow):
    flow.rate = path.line_rate / 2
    flow.history = []
def on_cnp(flow, cnp):
    flow.history.append(cnp.now)
    while len(flow.history) > 8:
        flow.history.pop(0)
    span = flow.history[len(flow.history) - 1] - flow.history[0]
    if span > 0:
        flow.rate = clamp(flow.rate * span / (span + 55 * us), 10 * Mbps, path.line_rate)
    flow.timer = cnp.now + 2 * path.base_rtt
def on_timer(flow, now):
    for step in [1, 2, 4]:
        if flow.rate < path.line_rate / step:
            flow.rate = flow.rate + 40 * Mbps * step
            break
    flow.timer = now + path.base_rtt
`

// TestSimilar checks that other names, numbers, comments and a changed part hide no copy, and that programs of their own
// are not reported.
func TestSimilar(t *testing.T) {
	renamed := strings.NewReplacer("marked", "seen", "ends", "limit", "smooth", "mean", "gain", "cut", "0.875", "0.9", "100", "250",
		"def on_ack", "# my own idea\ndef on_ack", "    ", "  ").Replace(aimd)
	half := aimd[:strings.Index(aimd, "    if ack.ack_sequence")] + "    flow.n = 1\n" + other[strings.Index(other, "def on_cnp"):]
	folder := t.TempDir()
	var found []Found
	for _, s := range []struct{ name, text string }{
		{"anna", aimd}, {"bert", renamed}, {"cleo", other}, {"dora", aimd}, {"emil", half}, {"fred", controller}, {"gina", controller},
	} {
		own := filepath.Join(folder, s.name)
		if err := os.Mkdir(own, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(own, "control.star"), []byte(s.text), 0o600); err != nil {
			t.Fatal(err)
		}
		found = append(found, Found{Name: s.name, Folders: []string{own}})
	}
	got := ""
	for _, p := range Similar(pair(t), found) {
		got += p.A + "-" + p.B
		if p.Equal {
			got += "="
		}
		got += " "
	}
	if got != "anna-bert anna-dora= bert-dora cleo-emil anna-emil bert-emil dora-emil " {
		t.Errorf("%s", got)
	}
	e := pair(t)
	e.Files = fstest.MapFS{"start/control.star": &fstest.MapFile{Data: []byte(aimd)}}
	for _, p := range Similar(e, found) {
		if p.A == "anna" || p.B == "bert" {
			t.Errorf("%s and %s are alike in what all start with: %v", p.A, p.B, p.Share)
		}
	}
}

// TestFingerprints checks winnowing's promise: whoever shares a run of gramTokens+windowGrams-1 tokens shares a
// fingerprint.
func TestFingerprints(t *testing.T) {
	tokens := tokensOf(aimd)
	const n = gramTokens + windowGrams - 1
	whole := fingerprints([]byte(aimd))
	for i := range len(tokens) - n {
		shared := 0
		for p := range fingerprints([]byte("load " + strings.Join(tokens[i:i+n], " ") + " load")) {
			if whole[p] {
				shared++
			}
		}
		if shared == 0 {
			t.Fatalf("tokens %d to %d share no fingerprint", i, i+n)
		}
	}
}

// TestLate checks what started days cost, by the export's time, by the files' and by its mark.
func TestLate(t *testing.T) {
	e := pair(t)
	due := time.Date(2026, 11, 20, 23, 59, 0, 0, time.UTC)
	folder := t.TempDir()
	file := filepath.Join(folder, "control.star")
	if err := os.WriteFile(file, []byte(controller), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		written, at time.Time
		late        bool
		points      Points
		days        int
	}{
		{due.Add(-time.Hour), time.Time{}, false, 3, 0},
		{due.Add(time.Minute), time.Time{}, false, 2.7, 1},
		{due.Add(25 * time.Hour), time.Time{}, false, 2.4, 2},
		{due.Add(99 * 24 * time.Hour), time.Time{}, false, 0, 99},
		{due.Add(25 * time.Hour), due.Add(-time.Hour), false, 3, 0},
		{due.Add(-time.Hour), due.Add(time.Hour), false, 2.7, 1},
		{due.Add(-time.Hour), time.Time{}, true, 2.7, 1},
	} {
		if err := os.Chtimes(file, c.written, c.written); err != nil {
			t.Fatal(err)
		}
		s := Student{Name: "anna", Grade: &Grade{Points: 3, Of: 3}}
		(&LatePolicy{due, 0.1}).Apply(e, &Found{Folders: []string{folder}, At: c.at, Late: c.late}, &s)
		if s.Points.String() != c.points.String() || s.DaysLate != c.days || (s.DaysLate > 0) != (len(s.Warnings) > 0) {
			t.Errorf("%+v: %v points, %d days, %q", c, s.Points, s.DaysLate, s.Warnings)
		}
	}
}

// TestWriteCourse checks the gradebook of several exercises, and which of two grades counts.
func TestWriteCourse(t *testing.T) {
	folder := t.TempDir()
	all := []ClassGrades{
		{Exercise: "ecn", Of: 10, Students: []StudentGrade{{Name: "bert", Points: 4}, {Name: "anna", Points: 9}}, folder: "g1"},
		{Exercise: "pfc", Of: 10, Students: []StudentGrade{{Name: "anna", Points: 10}}, folder: "g2"},
		{Exercise: "ecn", Of: 10, Students: []StudentGrade{{Name: "anna", Points: 7, DaysLate: 1, Problem: "=late"}}, folder: "g3"},
	}
	for _, c := range []struct {
		best bool
		want string
	}{
		{false, "student,pfc,ecn,points,of\nanna,10,7,17,20\nbert,,4,4,20\n"},
		{true, "student,pfc,ecn,points,of\nanna,10,9,19,20\nbert,,4,4,20\n"},
	} {
		if err := WriteCourse(folder, all, c.best); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(filepath.Join(folder, courseFile)); err != nil || string(data) != c.want {
			t.Errorf("%v: %s", err, data)
		}
	}
	const history = "student,exercise,points,of,days_late,problem,grades\nanna,ecn,9,10,0,,g1\nanna,pfc,10,10,0,,g2\n" +
		"anna,ecn,7,10,1,'=late,g3\nbert,ecn,4,10,0,,g1\n"
	if data, err := os.ReadFile(filepath.Join(folder, historyFile)); err != nil || string(data) != history {
		t.Errorf("%v: %s", err, data)
	}
}
