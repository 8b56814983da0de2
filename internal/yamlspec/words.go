package yamlspec

import (
	"iter"
	"strconv"
)

// WordReader reads a file as words, as C++ streams do. Line breaks are blanks.
type WordReader struct {
	report *Report
	name   string
	next   func() (*Value, bool)
	stop   func()
	last   *Value
	ended  bool
}

// Words reads data as words. The caller must close the reader.
func (r *Report) Words(name string, data []byte) *WordReader {
	w := &WordReader{report: r, name: name}
	s := r.table(name, data)
	w.ended = s == nil
	w.next, w.stop = iter.Pull(func(yield func(*Value) bool) {
		for number, text := range s.content() {
			for f := range s.fields(text, number, "") {
				if !yield(f) {
					return
				}
			}
		}
	})
	return w
}

// Close ends the reading.
func (w *WordReader) Close() { w.stop() }

// Next returns the next word, or nil after the last. It reports a missing word once.
func (w *WordReader) Next(what string) *Value {
	v, ok := w.next()
	switch {
	case ok:
		w.last = v
		return v
	case w.ended:
	case w.last == nil:
		w.report.Problem(w.name, "the file is empty")
	default:
		w.last.Errorf("the file ends before the %s", what)
	}
	w.ended = true
	return nil
}

// Last returns the last word that was read.
func (w *WordReader) Last() *Value { return w.last }

// Int reads a whole number within least..most.
func (w *WordReader) Int(into *int, what string, least, most int) bool {
	v := w.Next(what)
	if v == nil {
		return false
	}
	n, err := strconv.Atoi(v.Raw())
	switch {
	case err != nil:
		v.Errorf("%q is not a %s", v.Raw(), what)
	case n < least || n > most:
		v.Errorf("%s %d is outside %d..%d", what, n, least, most)
	default:
		*into = n
		return true
	}
	return false
}
