package explore

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/internal/yamlspec"
)

func read(t *testing.T, text string) *Range {
	t.Helper()
	report := new(yamlspec.Report)
	r := ReadRange(report.Parse("x.yaml", []byte("x: "+text)).At("x"))
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRange checks the ends, the middle and simpler values of ranges against values worked out by hand.
func TestRange(t *testing.T) {
	for _, c := range []struct {
		text, low, middle, high string
		value                   string
		simpler                 []string
	}{
		{"10KB..1MB", "10KB", "500KB", "1MB", "640KB", []string{"10KB", "600KB"}}, // half to even: 505KB
		{"10KB..1MB log", "10KB", "100KB", "1MB", "640KB", []string{"10KB", "600KB"}},
		{"0us..5ms", "0ns", "2.5ms", "5ms", "2.5ms", []string{"0ns", "2ms"}}, // half to even
		{"1..4", "1", "3", "4", "3", []string{"1"}},
		{"0.1..0.9", "0.1", "0.5", "0.9", "0.55", []string{"0.1", "0.6"}},
		{"1Gbps..100Gbps log", "1Gbps", "10Gbps", "100Gbps", "1Gbps", nil},
		{"[a, b, c]", "a", "b", "c", "c", []string{"a", "b"}},
		{"7us", "7us", "7us", "7us", "7us", nil},
	} {
		r := read(t, c.text)
		for _, at := range []struct {
			u    float64
			want string
		}{{0, c.low}, {0.5, c.middle}, {0.999999, c.high}} {
			if got := r.at(at.u); got != at.want {
				t.Errorf("%s at %v: got %s, want %s", c.text, at.u, got, at.want)
			}
		}
		if got := r.Simpler(c.value); !slices.Equal(got, c.simpler) {
			t.Errorf("%s: simpler than %s: got %v, want %v", c.text, c.value, got, c.simpler)
		}
	}
}

// TestChange checks that changes stay within a range, and reach most of it.
func TestChange(t *testing.T) {
	r := read(t, "10..100")
	seen, value := map[string]bool{}, "50"
	for i := range uint64(2000) {
		value = r.Change(value, NewRandom(1, i))
		seen[value] = true
		if x, _, ok := quantity(value); !ok || x < 10 || x > 100 {
			t.Fatalf("%s is outside of the range", value)
		}
	}
	if len(seen) < 85 {
		t.Errorf("%d of 91 values were reached", len(seen))
	}
}

// TestBlanked checks that only the section goes, and that the lines after it keep their numbers.
func TestBlanked(t *testing.T) {
	text := "a: 1\nsearch:\n  b: 2\n  c: [1,\n    2]\nd: 3\ntune: {e: 4}"
	root := new(yamlspec.Report).Parse("x.yaml", []byte(text))
	if got, want := string(Blanked([]byte(text), root)), "a: 1\n\n\n\n\nd: 3\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTemplate checks the text of a scenario with settings and more flows.
func TestTemplate(t *testing.T) {
	root := new(yamlspec.Report).Parse("x.yaml",
		[]byte("name: n\nswitch: {pfc: {xoff: 1KB}}\nflows: [{from: h0}]\nsearch: {budget: 1}\n"))
	template := NewTemplate(root)
	got := template.Text([]Setting{{"switch.pfc.xoff", "2KB"}}, []string{"{from: h1}"}, []string{"{at: 1us}"})
	want := "switch: {pfc: {xoff: 2KB}}\nflows:\n  - {from: h0}\n  - {from: h1}\nfaults:\n  - {at: 1us}\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := template.Value("switch.pfc.xoff") + "," + template.Value("switch.pfc.xon"); got != "1KB," {
		t.Errorf("values %q, want 1KB and none", got)
	}
}
