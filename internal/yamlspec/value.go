package yamlspec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/spelling"
)

type kind uint8

const (
	null kind = iota
	scalar
	sequence
	mapping
	broken // decodes to nothing, and has no further problems, because one was reported
)

func (k kind) String() string {
	return [...]string{"nothing", "a single value", "a list", "a mapping", "a mistake"}[k]
}

// Value represents a value in a file with its position: a scalar, a sequence, a mapping or nothing. A nil *Value is
// absent. All methods accept it, decode nothing and report nothing, so that defaults remain.
type Value struct {
	kind   kind
	text   string   // for a scalar
	items  []*Value // for a sequence
	fields []field  // for a mapping, in the file's order

	source              *source
	line, column, width int
}

type field struct {
	key, value *Value
	merged     bool // inserted by "<<"
}

// Errorf reports a problem at v.
func (v *Value) Errorf(format string, args ...any) {
	if v != nil {
		v.source.problemAt(v, v.line, v.column, v.width, fmt.Sprintf(format, args...))
	}
}

// Path returns the path of v, a value or a key, in its file, in the form of --set: "flows.2.size". It is empty for the
// whole file. Inside a setting of --set it is the setting's path.
func (v *Value) Path() string {
	if v == nil {
		return ""
	}
	if v.source.name == SettingName {
		path, _, _ := strings.Cut(v.source.text, "=")
		return strings.TrimSpace(path)
	}
	path, _ := v.source.root.find(v)
	return strings.Join(path, ".")
}

// find returns the path from v to a value or key below it. It compares positions, because --set and variants copy
// values.
func (v *Value) find(what *Value) (path []string, found bool) {
	is := func(x *Value) bool {
		return x == what || x.kind == what.kind && x.source == what.source && x.line == what.line &&
			x.column == what.column && x.width == what.width
	}
	if v == nil || is(v) {
		return nil, v != nil
	}
	for i, item := range v.items {
		if path, found := item.find(what); found {
			return append([]string{strconv.Itoa(i)}, path...), true
		}
	}
	for _, f := range v.fields {
		if is(f.key) {
			return []string{f.key.text}, true
		}
		if path, found := f.value.find(what); found {
			return append([]string{f.key.text}, path...), true
		}
	}
	return nil, false
}

// Line returns the line of v, counted from 1, or 0 for an absent value.
func (v *Value) Line() int {
	if v == nil {
		return 0
	}
	return v.line
}

// File returns the name of the file that contains v.
func (v *Value) File() string {
	if v == nil {
		return ""
	}
	return v.source.name
}

// Report returns the report that receives v's problems.
func (v *Value) Report() *Report { return v.source.report }

// IsScalar reports whether v is a single value.
func (v *Value) IsScalar() bool { return v != nil && v.kind == scalar }

// IsSequence reports whether v is a list.
func (v *Value) IsSequence() bool { return v != nil && v.kind == sequence }

// IsMapping reports whether v is a mapping.
func (v *Value) IsMapping() bool { return v != nil && v.kind == mapping }

// Has reports whether v is a mapping with the key.
func (v *Value) Has(key string) bool { return v != nil && v.get(key) != nil }

func (v *Value) get(key string) *Value {
	for _, f := range v.fields {
		if f.key.text == key {
			return f.value
		}
	}
	return nil
}

// At returns the value at a path such as "pfc.xoff" below v, or the deepest value on the path that exists.
func (v *Value) At(path string) *Value {
	for _, part := range strings.Split(path, ".") {
		next := v.child(part)
		if next == nil {
			break
		}
		v = next
	}
	return v
}

func (v *Value) child(part string) *Value {
	if v == nil {
		return nil
	}
	if v.kind == sequence {
		if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(v.items) {
			return v.items[i]
		}
		return nil
	}
	return v.get(part)
}

func (v *Value) size() int {
	n := 1
	for _, x := range v.items {
		n += x.size()
	}
	for _, f := range v.fields {
		n += 1 + f.value.size()
	}
	return n
}

// Items returns the values of a sequence; a single value counts as a sequence of one. It reports any other value.
func (v *Value) Items() []*Value {
	switch {
	case v == nil || v.kind == null || v.kind == broken:
		return nil
	case v.kind == sequence:
		return v.items
	case v.kind == scalar:
		return []*Value{v}
	}
	v.Errorf("expected a list, found %v", v.kind)
	return nil
}

// Mappings returns the items of a list of mappings. It reports other items with a text that shows a mapping: "a flow
// must be a mapping such as {from: h0, to: h1, size: 1MB}".
func (v *Value) Mappings(example string) []*Value {
	var mappings []*Value
	for _, item := range v.Items() {
		if item.IsMapping() {
			mappings = append(mappings, item)
		} else {
			item.Errorf("%s", example)
		}
	}
	return mappings
}

// Mapping represents a mapping during decoding. Each key that the decoder gets becomes a known one; Done reports the
// others as unknown:
//
//	m := v.Mapping()
//	m.Get("buffer").Bytes(&s.Buffer)
//	m.Get("quanta").Int(&s.Quanta, 1, 65535)
//	m.Done()
type Mapping struct {
	value  *Value
	known  []string
	before int // number of problems before decoding started
}

// Mapping starts to decode v as a mapping. It reports any other value, except an absent one.
func (v *Value) Mapping() *Mapping {
	if v != nil && v.kind != mapping {
		if v.kind != null && v.kind != broken {
			v.Errorf("expected a mapping (key: value), found %v", v.kind)
		}
		v = nil
	}
	m := &Mapping{value: v}
	if v != nil {
		m.before = v.Report().Count()
	}
	return m
}

// Sound reports whether there were no mistakes since Mapping returned m.
func (m *Mapping) Sound() bool { return m.value == nil || m.value.Report().Count() == m.before }

// Get returns the value of key, nil if it is absent.
func (m *Mapping) Get(key string) *Value {
	m.known = append(m.known, key)
	if m.value == nil {
		return nil
	}
	return m.value.get(key)
}

// Need returns the value of key, and reports a missing key.
func (m *Mapping) Need(key string) *Value {
	v := m.Get(key)
	if v == nil && m.value != nil {
		m.value.Errorf("missing key %q", key)
	}
	return v
}

// Key returns the key itself, for problems that concern its presence.
func (m *Mapping) Key(key string) *Value {
	if m.value != nil {
		for _, f := range m.value.fields {
			if f.key.text == key {
				return f.key
			}
		}
	}
	return nil
}

// All calls each for the keys and values in the file's order, for mappings with arbitrary keys.
func (m *Mapping) All(each func(key, value *Value)) {
	if m.value == nil {
		return
	}
	for _, f := range m.value.fields {
		m.known = append(m.known, f.key.text)
		each(f.key, f.value)
	}
}

// Done reports the keys that the decoder did not read.
func (m *Mapping) Done() {
	if m.value == nil {
		return
	}
	known := make(map[string]bool, len(m.known))
	names := make([]string, 0, len(m.known)) // some are read twice
	for _, k := range m.known {
		if !known[k] {
			names = append(names, k)
		}
		known[k] = true
	}
	for _, f := range m.value.fields {
		if !known[f.key.text] {
			f.key.Errorf("unknown key %q%s", f.key.text, m.suggest(f.key.text, names))
		}
	}
}

// suggest returns a suggestion for an unknown key of m, which may belong one level deeper or elsewhere in the file.
func (m *Mapping) suggest(key string, known []string) string {
	for _, f := range m.value.fields {
		if f.value.Has(key) {
			return fmt.Sprintf(": did you mean \"%s.%s\"?", f.key.text, key)
		}
	}
	if own := aliases[key]; slices.Contains(known, own) {
		return fmt.Sprintf(": did you mean %q?", own)
	}
	if elsewhere := m.value.source.report.Elsewhere; elsewhere != nil && spelling.Nearest(key, known) == "" {
		if paths := elsewhere(key); len(paths) > 0 {
			return fmt.Sprintf(": did you mean %q?", paths[0])
		}
	}
	return spelling.Suggest(key, known)
}

// aliases maps keys of other tools and of results files to keys of specs.
var aliases = map[string]string{
	"src": "from", "source": "from", "dst": "to", "dest": "to", "destination": "to", "bytes": "size", "size_bytes": "size",
	"start_time": "start",
	"bandwidth":  "rate", "latency": "delay",
}
