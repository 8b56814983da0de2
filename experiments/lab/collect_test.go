package lab

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const controller = "def init(flow):\n    flow.rate = path.line_rate\n"

// zipped returns an archive of files with their content.
func zipped(t *testing.T, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range files {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Unix(1e9, 0)})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.Write([]byte(content))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestCollect checks that the submissions of platforms' exports are found with their students, whole or as an archive.
func TestCollect(t *testing.T) {
	const own = controller
	for name, c := range map[string]struct {
		files map[string]string
		want  string // NAME=whether control.star is found, in order; then other files
	}{
		"folders":         {map[string]string{"anna/control.star": own, "bert/x": "", "notes.txt": ""}, "anna=true bert=false |notes.txt"},
		"archives":        {map[string]string{"anna.zip": zipped(t, map[string]string{"work/control.star": own})}, "anna=true |"},
		"archive inside":  {map[string]string{"anna/my.zip": zipped(t, map[string]string{"control.star": own})}, "anna=true |"},
		"damaged archive": {map[string]string{"anna.zip": "no"}, "anna=false |"},
		"Moodle, folders": {
			map[string]string{
				"Anna Lee_123_assignsubmission_file_/control.star": own, "Bert Ng_124_assignsubmission_file/control.star": own,
				"Anna Lee_123_assignsubmission_onlinetext_/onlinetext.html": "", "Anna Lee_125_assignsubmission_file_/a": "",
			},
			"Anna Lee (123)=true Anna Lee (125)=false Bert Ng=true |",
		},
		"Moodle, files": {
			map[string]string{
				"Anna Lee_123_assignsubmission_file_control.star": own,
				"Bert_124_assignsubmission_file_w.zip":            zipped(t, map[string]string{"control.star": own}),
			},
			"Anna Lee=true Bert=true |",
		},
		"Canvas": {
			map[string]string{"leeanna_123_456_control.star": own, "ngbert_LATE_124_457_control-1.star": own},
			"leeanna=true ngbert=true(late) |",
		},
		"Gradescope": {
			map[string]string{
				"assignment_1_export/submission_metadata.yml": "---\nsubmission_7:\n  :submitters:\n  - :name: Anna Lee\n" +
					"    :sid: '99'\n    :email: anna@example.com\n  - :name: Bert Ng\n    :sid: '98'\n  :created_at: 2026-11-20 10:00:00.5 Z\n",
				"assignment_1_export/submission_7/control.star": own,
			},
			"Anna Lee=true(2026-11-20) Bert Ng=true(2026-11-20) |",
		},
		"names first": {map[string]string{"Anna Lee - control.star": own, "control.star": own}, "Anna Lee=true |control.star"},
	} {
		e := pair(t)
		check := func(how, path string) {
			found, others, err := Collect(path, t.TempDir())
			if err != nil {
				t.Errorf("%s, %s: %v", name, how, err)
				return
			}
			got := ""
			for _, f := range found {
				s := Submit(e, f.Folders[0], f.Folders[1:]...)
				got += fmt.Sprintf("%s=%t", f.Name, s.programs["control.star"] != nil)
				if f.Late {
					got += "(late)"
				}
				if !f.At.IsZero() {
					got += f.At.Format("(2006-01-02)")
				}
				got += " "
			}
			slices.Sort(others)
			if got += "|" + strings.Join(others, " "); got != c.want {
				t.Errorf("%s, %s: %s\nwant %s", name, how, got, c.want)
			}
		}
		folder := t.TempDir()
		for file, content := range c.files {
			path := filepath.Join(folder, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		check("as a folder", folder)
		archive := filepath.Join(t.TempDir(), "class.zip")
		if err := os.WriteFile(archive, []byte(zipped(t, c.files)), 0o600); err != nil {
			t.Fatal(err)
		}
		check("as an archive", archive)
	}
}

// TestHostileArchive checks that nothing leaves the folder of an archive.
func TestHostileArchive(t *testing.T) {
	folder := t.TempDir()
	archive := filepath.Join(folder, "class.zip")
	files := map[string]string{"../out": "x", "/out": "x", "a/../../out": "x", "anna/control.star": controller}
	if err := os.WriteFile(archive, []byte(zipped(t, files)), 0o600); err != nil {
		t.Fatal(err)
	}
	found, _, err := Collect(archive, filepath.Join(folder, "scratch"))
	if err != nil || len(found) != 1 || found[0].Name != "anna" {
		t.Errorf("%v, %v", found, err)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestLocate checks which of several similar files is graded.
func TestLocate(t *testing.T) {
	for names, want := range map[string]string{
		"control.star":                           "control.star",
		"Control.star":                           "Control.star, taken",
		"control (1).star":                       "control (1).star, taken",
		"control(2).star control (1).star":       "control(2).star, taken, 1 not graded",
		"control-1.star":                         "control-1.star, taken",
		"control - Copy.star":                    "control - Copy.star, taken",
		"control (1).star control.star":          "control.star, 1 not graded",
		"code/control.star":                      "code/control.star, taken",
		"code/control.star Control.star":         "Control.star, taken, 1 not graded",
		"results/control.star .git/control.star": "",
		"a/b/c/d/control.star":                   "a/b/c/d/control.star, taken",
		"a/b/c/d/e/control.star":                 "",
		"mycontrol.star control.star.txt":        "",
	} {
		folder := t.TempDir()
		files := strings.Split(strings.ReplaceAll(strings.ReplaceAll(names, " (", "~("), " - ", "~-~"), " ")
		for _, file := range files {
			path := filepath.Join(folder, strings.ReplaceAll(file, "~", " "))
			_ = os.MkdirAll(filepath.Dir(path), 0o700)
			if err := os.WriteFile(path, []byte(controller), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		found, notes := pair(t).locate([]string{folder})
		got, _ := filepath.Rel(folder, found["control.star"])
		text := strings.Join(notes, "\n")
		if strings.Contains(text, "is taken as") {
			got += ", taken"
		}
		if n := strings.Count(text, "is not graded"); n > 0 {
			got += fmt.Sprintf(", %d not graded", n)
		}
		if got != want {
			t.Errorf("%s: %s, want %s\n%s", names, got, want, text)
		}
	}
}
