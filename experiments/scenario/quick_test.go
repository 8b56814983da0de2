package scenario

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

const quickText = `
topology: star
flows:
  - {tag: a, from: h0, to: h1, size: 1MB}
  - {tag: b, from: h2, to: h1, size: 2MB}
duration: 1ms
quick:
  duration: 100us
  flows.b.size: 3KB
  topology.delay: 7us
  switch.pfc.xoff: 9KB
`

// TestQuick: only a quick run has a scenario's quick changes, under a name of its own; --set takes precedence over
// them.
func TestQuick(t *testing.T) {
	full := parse(t, quickText)
	quick, err := Reading{Quick: true, Sets: []string{"switch.pfc.xoff=8KB"}}.Parse("test.yaml", []byte(quickText))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s        *Scenario
		name     string
		duration vtime.Time
		b, xoff  units.Bytes
		delay    vtime.Time
	}{
		{full, "test", vtime.Millisecond, 2 * units.MB, switchagent.Auto, vtime.Microsecond},
		{quick, "test-quick", 100 * vtime.Microsecond, 3 * units.KB, 8 * units.KB, 7 * vtime.Microsecond},
	} {
		s := c.s
		if s.Name != c.name || s.Duration != c.duration || s.Flows[0].Size != units.MB || s.Flows[1].Size != c.b ||
			s.Switch.PFC.XOFF != c.xoff || s.Topology.Links[0].Delay != c.delay || !s.HasQuick {
			t.Errorf("%s: duration %v, flows of %v and %v, XOFF %v, delay %v", s.Name, s.Duration, s.Flows[0].Size,
				s.Flows[1].Size,
				s.Switch.PFC.XOFF, s.Topology.Links[0].Delay)
		}
	}
	plain, err := Reading{Quick: true}.Load("incast")
	if err != nil || plain.Name != "incast" || plain.HasQuick {
		t.Errorf("a scenario without a quick form: %v, %+v", err, plain)
	}
}

// TestQuickProblems point at the quick change that is wrong.
func TestQuickProblems(t *testing.T) {
	text := strings.Replace(quickText, "flows.b.size: 3KB",
		"flows.c.size: 3KB\n  flows.0.sise: 1KB\n  drain: maybe\n  a..b: 1", 1)
	_, err := Reading{Quick: true}.Parse("test.yaml", []byte(text))
	const want = `test.yaml with its quick changes applied:
test.yaml:9:9: no item "c" in the list (test.yaml line 4): did you mean "a"?
  9 |   flows.c.size: 3KB
    |         ^
test.yaml:10:11: unknown key "sise": did you mean "size"?
  10 |   flows.0.sise: 1KB
     |           ^^^^
test.yaml:11:10: "maybe" is not one of true, false
  11 |   drain: maybe
     |          ^^^^^
test.yaml:12:5: the path has an empty word: remove a dot or add the word
  12 |   a..b: 1
     |     ^`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// TestBuiltinsAreSound: every built-in can be read, in its quick form too.
func TestBuiltinsAreSound(t *testing.T) {
	for _, name := range BuiltinNames() {
		for _, quick := range []bool{false, true} {
			if _, err := (Reading{Quick: quick}).Load(name); err != nil {
				t.Errorf("%s, quick %t: %v", name, quick, err)
			}
		}
	}
}

// TestQuickFormIsNamed checks that a mistake made only by the quick form is reported as the quick form's, because the
// file looks right at that position. --set cannot change the quick form, and the error names the alternative.
func TestQuickFormIsNamed(t *testing.T) {
	const text = "topology: star\nflows: [{from: h0, to: h1, size: 1KB, start: 500us}]\nduration: 1ms\nquick: {duration: 100us}\n"
	if _, err := Parse("test.yaml", []byte(text), nil); err != nil {
		t.Fatal(err)
	}
	_, err := Reading{Quick: true}.Parse("test.yaml", []byte(text))
	const want = "test.yaml with its quick changes applied:\ntest.yaml:2:46: start 500us must be before the end of the run (duration 100us)\n"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	for setting, want := range map[string]string{
		"quick.duration=2ms": "as --set duration=2ms", "quick.flows.0.size=3KB": "as --set flows.0.size=3KB",
		"quick=x": "as --set path=x",
	} {
		for _, quick := range []bool{false, true} {
			_, err := Reading{Quick: quick, Sets: []string{setting}}.Parse("test.yaml", []byte(text))
			if err == nil || !strings.Contains(err.Error(), "--set: quick holds the changes of --quick") ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", setting, err)
			}
		}
	}
	// What --set makes of it holds in the quick form too.
	s, err := Reading{Quick: true, Sets: []string{"duration=600us"}}.Parse("test.yaml", []byte(text))
	if err != nil || s.Duration != 600*vtime.Microsecond {
		t.Errorf("%v", err)
	}
}
