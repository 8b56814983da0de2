package keys

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/internal/schema"
)

// MarshalJSON returns the values for structured output, with units in the names of the fields and times in nanoseconds.
// It omits values such as auto, which are words instead of numbers. For their actual values, code marshals a table of
// these.
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
		k := &t[i]
		name, group := k.field()
		if group != path || k.leftOut() {
			continue
		}
		var v any
		switch {
		case k.Kind() == schema.Group:
			var inner bytes.Buffer
			if err := t.writeJSON(&inner, k.Name); err != nil {
				return err
			}
			if inner.Len() == len("{}") {
				continue
			}
			v = json.RawMessage(inner.Bytes())
		case k.Resolved != nil:
			v = k.Resolved()
		default:
			v = k.Value.json()
		}
		if err := field(name, v); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// suffixes holds the units in the names of fields.
var suffixes = map[schema.Kind]string{schema.Size: "_bytes", schema.Time: "_ns", schema.Rate: "_bps"}

// field returns the name of a setting in views for programs, and the path of the object that it is in.
func (k *Key) field() (name, group string) {
	switch {
	case strings.HasPrefix(k.View, "/"):
		return k.View[1:], ""
	case k.View != "":
		return k.View, k.Group()
	}
	return k.last() + suffixes[k.Kind()], k.Group()
}

// leftOut reports whether structured output omits a setting: it is absent, has no effect, or is not a number.
func (k *Key) leftOut() bool {
	if g, ok := k.Value.(*Group); ok {
		return !holds(g.Viewed)
	}
	return k.Unset && k.Value.zero() || k.Word != "" && k.WordValue != 0 && k.Text() == k.Word
}

// Describe returns the values for people, as they would write them: settings that have an effect, a line for each
// group.
func (t Table) Describe() (lines []string) {
	if top := t.words(""); top != "" {
		lines = append(lines, top)
	}
	for i := range t {
		k := &t[i]
		if g, ok := k.Value.(*Group); ok && k.Group() == "" && holds(g.Works) {
			if words := t.words(k.Name); words != "" {
				lines = append(lines, k.Name+": "+words)
			}
		}
	}
	return lines
}

// words returns the keys of a group with their values.
func (t Table) words(group string) string {
	var words []string
	for i := range t {
		k := &t[i]
		text := k.Text()
		switch {
		case k.Group() != group || k.Kind() == schema.Group && group == "":
			continue
		case k.Kind() == schema.Group && text != off:
			text = "{" + t.words(k.Name) + "}"
		case k.Kind() != schema.Choice && k.Unset && k.Value.zero():
			continue
		case text == "" && k.Resolved != nil:
			text = fmt.Sprint(k.Resolved())
		}
		words = append(words, k.last()+" "+text)
	}
	return strings.Join(words, ", ")
}

// Flow returns the values as a scenario's file writes them, on one line: "{buffer: 22MB, pfc: {xoff: 320KB}}".
func (t Table) Flow() string { return t.flow("") }

func (t Table) flow(group string) string {
	var fields []string
	for i := range t {
		k := &t[i]
		text := k.Text()
		switch {
		case k.Group() != group || k.Unset && k.Value.zero():
			continue
		case k.Kind() == schema.Group && text != off:
			text = t.flow(k.Name)
		case text == "":
			continue
		}
		fields = append(fields, k.last()+": "+text)
	}
	return "{" + strings.Join(fields, ", ") + "}"
}
