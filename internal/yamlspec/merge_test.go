package yamlspec

import "testing"

// TestOver checks that a merged mapping has the values of both, the upper one's if both have a key, each with its own
// position.
func TestOver(t *testing.T) {
	r := new(Report)
	base := r.Parse("base", []byte("a: {x: 1, y: 2}\nb: [1, 2]\nc: 3\ne: 4\n"))
	over := r.Parse("over", []byte("a: {y: 5, z: 6}\nb: [7]\nc: {d: 8}\ne:\n"))
	got := over.Over(base)
	for path, want := range map[string]struct{ text, file string }{
		"a.x": {"1", "base"}, "a.y": {"5", "over"}, "a.z": {"6", "over"}, "b.0": {"7", "over"}, "c.d": {"8", "over"},
		"e": {"4", "base"},
	} {
		if v := got.At(path); v.Raw() != want.text || v.File() != want.file {
			t.Errorf("%s is %q of %s, want %q of %s", path, v.Raw(), v.File(), want.text, want.file)
		}
	}
	if got.At("b").Has("1") || len(got.At("b").Items()) != 1 {
		t.Error("lists were merged")
	}
	if base.At("a.y").Raw() != "2" || base.At("a").Has("z") || over.At("a").Has("x") {
		t.Error("a value was changed")
	}
	var none *Value
	if none.Over(base) != base || over.Over(nil) != over {
		t.Error("an absent value is not the other one")
	}
}
