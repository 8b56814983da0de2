package command

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// still implements a bar that does not move.
type still struct {
	name string
	done float64
}

func (s *still) title() string    { return s.name }
func (s *still) part() float64    { return s.done }
func (s *still) describe() string { return " of a run" }

// TestBars checks how bars look, that a narrow screen cuts their lines, and that a low one hides the first ones until
// the end.
func TestBars(t *testing.T) {
	var out bytes.Buffer
	b := &bars{out: &out, size: func() (int, int) { return 32, 3 }, end: make(chan struct{})}
	for _, s := range []still{{"a", 0}, {"long", 0.5}, {"b", 1}} {
		b.add(&s)
	}
	_, _ = b.Write([]byte("a line\n"))
	b.draw(false)
	want := "a line\nlong [========>---------] of a \nb    [==================] of a \n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out.Reset()
	b.draw(true)
	want = "\x1b[2A\x1b[Ja    [------------------] of a \nlong [========>---------] of a \nb    [==================] of a \n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestBarsClose checks that close draws what was written last, and waits until it is on the screen.
func TestBarsClose(t *testing.T) {
	var out screen
	b := startBars(&out, time.Hour, func() (int, int) { return 80, 24 })
	_, _ = b.Write([]byte("the last line\n"))
	b.close()
	if got := out.left(); !strings.HasPrefix(got, "the last line\n") {
		t.Errorf("got %q", got)
	}
}
