package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/internal/schema"
)

// MarshalJSON is the values for programs: units in the names of the fields, times in nanoseconds. A number that a word stands for is
// left out if it is none by itself, as auto: code that knows what it comes to gives the table of that.
func (t Table) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := t.writeJSON(&b, ""); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// writeJSON writes the object of a path's keys.
func (t Table) writeJSON(b *bytes.Buffer, path string) error {
	b.WriteByte('{')
	empty := b.Len()
	field := func(name string, v any) error {
		data, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if b.Len() > empty {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, "%q:%s", name, data)
		return nil
	}
	for i := range t {
		s := &t[i]
		name, group := s.field()
		if group != path || s.leftOut() {
			continue
		}
		var v any
		switch {
		case s.Kind == schema.Group:
			var inner bytes.Buffer
			if err := t.writeJSON(&inner, s.Name); err != nil {
				return err
			}
			if inner.Len() == len("{}") {
				continue
			}
			v = json.RawMessage(inner.Bytes())
		case s.Resolved != nil:
			v = s.Resolved()
		default:
			v = s.value.json()
		}
		if err := field(name, v); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// field is the name of a setting in views for programs, and the path of the object that it is in.
func (s *Setting) field() (name, group string) {
	switch {
	case strings.HasPrefix(s.View, "/"):
		return s.View[1:], ""
	case s.View != "":
		return s.View, s.group()
	}
	return s.last() + map[schema.Kind]string{schema.Size: "_bytes", schema.Time: "_ns", schema.Rate: "_bps"}[s.Kind], s.group()
}

// leftOut says that views for programs do not have a setting: it is not given, has no effect, or no number.
func (s *Setting) leftOut() bool {
	if g, ok := s.value.(*group); ok {
		return !holds(g.viewed)
	}
	return s.Unset && s.value.zero() || s.Word != "" && s.Means != 0 && s.Text() == s.Word
}

// Describe is the values for people, as they would write them: what has an effect, a line for each group.
func (t Table) Describe() (lines []string) {
	if top := t.words(""); top != "" {
		lines = append(lines, top)
	}
	for i := range t {
		s := &t[i]
		if g, ok := s.value.(*group); ok && s.group() == "" && holds(g.works) {
			if words := t.words(s.Name); words != "" {
				lines = append(lines, s.Name+": "+words)
			}
		}
	}
	return lines
}

// words are the keys of a group with their values.
func (t Table) words(group string) string {
	var words []string
	for i := range t {
		s := &t[i]
		text := s.Text()
		switch {
		case s.group() != group || s.Kind == schema.Group && group == "":
			continue
		case s.Kind == schema.Group && text != off:
			text = "{" + t.words(s.Name) + "}"
		case s.Kind != schema.Choice && s.Unset && s.value.zero():
			continue
		case text == "" && s.Resolved != nil:
			text = fmt.Sprint(s.Resolved())
		}
		words = append(words, s.last()+" "+text)
	}
	return strings.Join(words, ", ")
}

// Flow is the values as a scenario's file writes them, on one line: "{buffer: 22MB, pfc: {xoff: 320KB}}".
func (t Table) Flow() string { return t.flow("") }

func (t Table) flow(group string) string {
	var fields []string
	for i := range t {
		s := &t[i]
		text := s.Text()
		switch {
		case s.group() != group || s.Unset && s.value.zero():
			continue
		case s.Kind == schema.Group && text != off:
			text = t.flow(s.Name)
		case text == "":
			continue
		}
		fields = append(fields, s.last()+": "+text)
	}
	return "{" + strings.Join(fields, ", ") + "}"
}
