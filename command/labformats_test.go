package command

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
)

// gradescope represents results.json as in Gradescope's autograder specification ("Output format"). Fields that the
// specification lacks are an error.
type gradescope struct {
	Score            *float64 `json:"score"`
	ExecutionTime    *float64 `json:"execution_time"`
	Output           string   `json:"output"`
	OutputFormat     string   `json:"output_format"`
	TestOutputFormat string   `json:"test_output_format"`
	TestNameFormat   string   `json:"test_name_format"`
	Visibility       string   `json:"visibility"`
	StdoutVisibility string   `json:"stdout_visibility"`
	ExtraData        any      `json:"extra_data"`
	Tests            []struct {
		Score        *float64 `json:"score"`
		MaxScore     *float64 `json:"max_score"`
		Status       string   `json:"status"`
		Name         string   `json:"name"`
		NameFormat   string   `json:"name_format"`
		Number       string   `json:"number"`
		Output       string   `json:"output"`
		OutputFormat string   `json:"output_format"`
		Tags         []string `json:"tags"`
		Visibility   string   `json:"visibility"`
		ExtraData    any      `json:"extra_data"`
	} `json:"tests"`
	Leaderboard []struct {
		Name  string `json:"name"`
		Value any    `json:"value"`
		Order string `json:"order"`
	} `json:"leaderboard"`
}

// classroom holds the fields that GitHub Classroom's autograding-grading-reporter reads.
type classroom struct {
	Version  int      `json:"version"`
	Status   string   `json:"status"` // pass, fail or error
	MaxScore *float64 `json:"max_score"`
	Tests    []struct {
		Name    string   `json:"name"`
		Status  string   `json:"status"`
		Score   *float64 `json:"score"`
		Message string   `json:"message"`
	} `json:"tests"`
}

func strictly(t *testing.T, data []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
}

// TestGradescope checks that examples/gradescope, in a folder laid out as Gradescope's, writes results.json by the
// specification, leaves the submission unchanged, and fails where no grade is possible.
func TestGradescope(t *testing.T) {
	testenv.WholeScenario(t)
	t.Parallel()
	root := t.TempDir()
	for _, folder := range []string{"source", "submission", "results"} {
		if err := os.Mkdir(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, self := program(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink(self, filepath.Join(root, "source", "pausenet")))
	must(os.CopyFS(filepath.Join(root, "source", "hidden"), os.DirFS("../experiments/lab/teacher/challenge/hidden")))
	run := func() ([]byte, error) {
		c := exec.Command("sh", "../examples/gradescope/run_autograder")
		c.Env = append(os.Environ(), "AUTOGRADER="+root, "TMPDIR="+t.TempDir())
		text, err := c.CombinedOutput()
		t.Logf("%s", text)
		data, _ := os.ReadFile(filepath.Join(root, "results", "results.json"))
		return data, err
	}
	source, err := os.ReadFile("../experiments/lab/teacher/challenge/trials/window.star")
	must(err)
	must(os.WriteFile(filepath.Join(root, "submission", "control.star"), source, 0o600))
	must(os.Symlink(t.TempDir(), filepath.Join(root, "submission", "results")))
	data, err := run()
	must(err)
	var g gradescope
	strictly(t, data, &g)
	sum, of := 0.0, 0.0
	for _, test := range g.Tests {
		if test.Score == nil || test.MaxScore == nil || test.Name == "" || test.Output == "" || test.Status != "passed" &&
			test.Status != "failed" || (test.Status == "passed") != (*test.Score == *test.MaxScore) {
			t.Errorf("%+v", test)
			continue
		}
		sum, of = sum+*test.Score, of+*test.MaxScore
	}
	if g.ExecutionTime == nil || *g.ExecutionTime <= 0 || g.StdoutVisibility != "hidden" ||
		!slices.Contains([]string{"visible", "after_published"}, g.Tests[0].Visibility) {
		t.Errorf("%s", data)
	}
	if g.Score == nil || *g.Score != sum || sum == 0 || of != 10 || len(g.Leaderboard) != 1 ||
		g.Leaderboard[0].Order != "asc" {
		t.Errorf("%s", data)
	}
	if entries, err := os.ReadDir(filepath.Join(root, "submission")); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	must(os.WriteFile(filepath.Join(root, "source", "hidden", "hidden.yaml"), []byte("{{{"), 0o600))
	if data, err := run(); err == nil || len(data) > 0 {
		t.Errorf("without a grade: %v, %s", err, data)
	}
}

// TestClassroom checks that the reporter can read the output of lab check, and that its sums are the grade.
func TestClassroom(t *testing.T) {
	testenv.WholeScenario(t)
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "pfc")
	_, self := program(t)
	if out, err := exec.Command(self, "lab", "start", "pfc", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, answers := range []string{"chip: 271MB\n", "hops: three\n"} {
		if err := os.WriteFile(filepath.Join(folder, "answers.yaml"), []byte(answers), 0o600); err != nil {
			t.Fatal(err)
		}
		problem := strings.Contains(answers, "three")
		out, err := exec.Command(self, "lab", "check", folder, "--exercise", "pfc", "-o", "classroom").Output()
		if err == nil {
			t.Fatal("a wrong submission has all points")
		}
		var c classroom
		strictly(t, out, &c)
		sum := 0.0
		for _, test := range c.Tests {
			if test.Score == nil || test.Name == "" || test.Message == "" || test.Status != "pass" && test.Status != "fail" {
				t.Errorf("%+v", test)
				continue
			}
			sum += *test.Score
		}
		if c.Version != 1 || c.Status != "fail" || c.MaxScore == nil || *c.MaxScore != 10 || len(c.Tests) != 6 ||
			!problem && sum != 2 {
			t.Errorf("%s", out)
		}
		if problem && (sum != 0 || !strings.Contains(c.Tests[0].Message, "answers.yaml:1:7")) {
			t.Errorf("%s", out)
		}
	}
}
