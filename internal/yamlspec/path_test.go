package yamlspec

import (
	"errors"
	"testing"
)

// TestPaths checks that a mistake has its path as --set would spell it, also in values that --set has changed and
// beside them.
func TestPaths(t *testing.T) {
	r := new(Report)
	root := r.Parse("f", []byte("a: {b: 1, c: [x, {d: 2}]}\ne: 3\n")).Override("a.new.f=4")
	root.At("a.b").Errorf("1")
	root.At("a.c.1.d").Errorf("2")
	root.At("a.c.0").Errorf("3")
	root.Errorf("4")
	root.Mapping().Key("e").Errorf("5")
	root.At("a.new.f").Errorf("6")
	r.Parse("g", []byte("a: 1\n")).At("a").Errorf("7")
	r.Parse("broken", []byte("a: 1\na: 2\n"))
	want := map[string]string{"1": "a.b", "2": "a.c.1.d", "3": "a.c.0", "4": "", "5": "e", "6": "a.new.f", "7": "a"}
	var problems Problems
	if !errors.As(r.Err(), &problems) || len(problems) != len(want)+1 {
		t.Fatalf("%v", r.Err())
	}
	for _, p := range problems {
		if path, known := want[p.Message]; known && p.Path != path {
			t.Errorf("problem %s is at %q, want %q", p.Message, p.Path, path)
		}
	}
}
