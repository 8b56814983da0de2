package perfetto_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/pausenet/pausenet/experiments/observe/perfetto"
	"github.com/pausenet/pausenet/experiments/observe/perfetto/perfettotest"
)

// TestRead checks that Google's library reads the written values, including the largest numbers and hostile names.
func TestRead(t *testing.T) {
	const name = `<script>"'` + "\n\u2028é"
	var file bytes.Buffer
	w := perfetto.New(&file)
	node := w.Process(7, name)
	queue := w.Track(node, name)
	depth := w.Counter(queue, "depth", perfetto.Bytes, "")
	rate := w.Counter(queue, "rate", perfetto.Other, "bit/s")
	w.Slice(&perfetto.Slice{Track: queue, Name: "later", From: 30, To: 1 << 62, Caused: 1<<64 - 1})
	w.Slice(&perfetto.Slice{
		Track: queue, Name: name, From: 0, To: 20, Causes: []uint64{1<<64 - 1},
		Notes: []perfetto.Note{{Name: "text", Text: name}, {Name: "number", Whole: -1}},
	})
	w.Value(depth, 10, -1<<63)
	w.Value(rate, 11, 1<<63-1)
	w.Instant(node, "now", 5)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := perfettotest.Read(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Tracks) != 4 || len(got.Events) != 5 {
		t.Fatalf("%+v", got)
	}
	if n := got.Tracks[1]; n.Process != 7 || n.Name != name {
		t.Errorf("%+v", n)
	}
	if d, r := got.Tracks[3], got.Tracks[4]; d.Unit != "UNIT_SIZE_BYTES" || d.Parent != 2 || r.Unit != "bit/s" ||
		!r.Counter {
		t.Errorf("%+v %+v", d, r)
	}
	s := got.Events[1]
	if s.Name != name || s.At != 0 || s.To != 20 || s.Notes["text"] != name || s.Notes["number"] != "-1" ||
		s.Flows[0] != 1<<64-1 {
		t.Errorf("%+v", s)
	}
	if got.Events[0].To != 1<<62 || got.Events[0].FlowEnds[0] != 1<<64-1 {
		t.Errorf("%+v", got.Events[0])
	}
	if got.Events[2].Value != -1<<63 || got.Events[3].Value != 1<<63-1 || got.Events[4].Name != "now" ||
		got.Events[4].At != 5 {
		t.Errorf("%+v", got.Events[2:])
	}
}

// full fails like a full disk after so many bytes.
type full struct{ room int }

var errFull = errors.New("full")

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.room {
		return 0, errFull
	}
	f.room -= len(p)
	return len(p), nil
}

// TestFull checks that Close returns the first error of writing.
func TestFull(t *testing.T) {
	w := perfetto.New(&full{100_000})
	node := w.Process(1, "a")
	for i := range int64(100_000) {
		w.Instant(node, "b", i)
	}
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
}
