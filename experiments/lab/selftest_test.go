package lab

import "testing"

// TestExpect checks what is expected of trials: that honest ones do not get worse, and that cheats get at most half.
func TestExpect(t *testing.T) {
	trial := func(honest bool, copied string, points Points) TrialGrade {
		return TrialGrade{Trial{Honest: honest, Copied: copied}, &Grade{Points: points, Of: 10}}
	}
	all := expect([]TrialGrade{
		trial(true, "", 4), trial(true, "", 7), trial(true, "", 6.5), trial(true, "", 7), trial(false, "", 5),
		trial(false, "", 5.5), trial(false, "bert", 9),
	})
	want := []bool{true, true, false, true, true, false, true}
	for i, tried := range all {
		if tried.OK != want[i] {
			t.Errorf("trial %d with %v points, expected %s: %t", i, tried.Points, tried.Expected, tried.OK)
		}
	}
}

// TestSelfTest checks that the trials of a teacher's material are graded after an exercise's own folders.
func TestSelfTest(t *testing.T) {
	e, err := Load("rdma") // which needs no runs
	if err != nil {
		t.Fatal(err)
	}
	all, err := SelfTest(t.Context(), e, material(t), Options{Results: t.TempDir(), Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 21 || all[0].Folder != StartFolder || all[10].Folder != "reference" {
		t.Fatalf("%d submissions, want start/ and 20 trials: %+v", len(all), all)
	}
	for _, tried := range all {
		if !tried.OK {
			t.Errorf("%s: %v points, expected %s", tried.Folder, tried.Points, tried.Expected)
		}
	}
}
