package yamlspec

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SettingName is the file name that problems of Override carry: the command-line flag that settings come from.
const SettingName = "--set"

// Override is v with one place changed, as "--set path=value" asks for: "switch.pfc.xoff=256KB", "flows.2.count=10". A
// list item is chosen by its index, or by its tag or name ("flows.burst.count=10", all items of that tag); "+" adds one
// at the end ("controllers.+=none"). Mappings on the way that are missing are made, and so is a list that "+" adds to;
// whether the keys are known is the decoder's to say, and it will point into the setting. v itself does not change.
// Problems are reported; the result is v then. Names that have dots in them, and are one word of a path all the same,
// are told as whole.
func (v *Value) Override(setting string, whole ...string) *Value {
	s := v.Report().open(SettingName, setting)
	path, text, found := strings.Cut(setting, "=")
	if !found || strings.TrimSpace(path) == "" || strings.ContainsRune(setting, '\n') {
		s.problem(1, 1, utf8.RuneCountInString(setting), "a setting is path=value, such as switch.pfc.xoff=256KB")
		return v
	}
	if strings.TrimSpace(text) == "" {
		s.problem(1, utf8.RuneCountInString(setting), 1, "a value is missing after the equals sign")
		return v
	}
	// Blanks in the path's place keep the value's columns those of the setting.
	value := s.parse(strings.Repeat(" ", utf8.RuneCountInString(path)+1) + text)
	if value == nil {
		return v
	}
	return v.Change(&Value{kind: scalar, text: path, source: s, line: 1, column: 1}, value, whole...)
}

// words are those of a path.
func words(path string, whole []string) []string {
	words := strings.Split(path, ".")
	for i := range words {
		for n := i + 2; n <= len(words); n++ {
			if slices.Contains(whole, strings.TrimSpace(strings.Join(words[i:n], "."))) {
				return append(append(slices.Clone(words[:i]), strings.Join(words[i:n], ".")), words[n:]...)
			}
		}
	}
	return words
}

// Change is v with one place changed to value. path, a scalar, names the place as settings of Override do. v itself
// does not change. Problems are reported; the result is v then.
func (v *Value) Change(path, value *Value, whole ...string) *Value {
	var parts []*Value
	column := path.column
	for _, word := range words(path.text, whole) {
		width := utf8.RuneCountInString(word)
		part := &Value{
			kind: scalar, text: strings.TrimSpace(word), source: path.source, line: path.line, column: column,
			width: max(1, width),
		}
		if part.text == "" {
			part.Errorf("a word is missing in the path")
			return v
		}
		parts = append(parts, part)
		column += width + 1
	}
	before := v.Report().Count()
	changed := v.override(parts, value)
	if v.Report().Count() != before {
		return v
	}
	return changed
}

// addItem is the word of a path that stands for an item behind a list's last.
const addItem = "+"

func (v *Value) override(path []*Value, value *Value) *Value {
	if len(path) == 0 {
		return value
	}
	part := path[0]
	changed := *v // Copied on the way down: aliases share parts of the tree.
	switch v.kind {
	case broken:
	case null:
		changed = Value{kind: mapping, source: part.source, line: part.line, column: part.column, width: part.width}
		if part.text == addItem {
			changed.kind = sequence
		}
		return changed.override(path, value)
	case scalar:
		part.Errorf("%q goes into %q, which is a single value (%s)", part.text, v.text, v.where())
		return v
	case sequence:
		changed.items = slices.Clone(v.items)
		if part.text == addItem {
			empty := &Value{kind: null, source: part.source, line: part.line, column: part.column, width: part.width}
			changed.items = append(changed.items, empty.override(path[1:], value))
			return &changed
		}
		indexes := v.choose(part)
		for _, i := range indexes {
			changed.items[i] = v.items[i].override(path[1:], value)
		}
	case mapping:
		changed.fields = slices.Clone(v.fields)
		for i, f := range v.fields {
			if f.key.text == part.text {
				changed.fields[i].value = f.value.override(path[1:], value)
				return &changed
			}
		}
		empty := &Value{kind: null, source: part.source, line: part.line, column: part.column, width: part.width}
		changed.fields = append(changed.fields, field{key: part, value: empty.override(path[1:], value)})
	}
	return &changed
}

// named is the indexes of the items whose tag or name is this, and the names that there are.
func (v *Value) named(word string) (chosen []int, names []string) {
	for i, item := range v.items {
		for _, key := range []string{"tag", "name", "title"} {
			if name := item.get(key).Raw(); name != "" {
				if name == word {
					chosen = append(chosen, i)
				}
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
				break
			}
		}
	}
	return chosen, names
}

// choose is the indexes of the items that part means.
func (v *Value) choose(part *Value) []int {
	chosen, names := v.named(part.text)
	if len(chosen) > 0 {
		return chosen
	}
	i, err := strconv.Atoi(part.text)
	switch {
	case err != nil:
		part.Errorf("no item %q in the list (%s)%s", part.text, v.where(), Suggest(part.text, names))
	case i < 0 || i >= len(v.items):
		part.Errorf("the list (%s) has %d items: 0..%d", v.where(), len(v.items), len(v.items)-1)
	default:
		return []int{i}
	}
	return nil
}

// Places are the places that Change would change, each as its path with the items of lists by index: "flows.burst.size"
// is "flows.2.size". A path that fits nowhere has none.
func (v *Value) Places(path string) []string {
	places := []string{""}
	at := []*Value{v}
	for _, word := range strings.Split(path, ".") {
		word = strings.TrimSpace(word)
		var next []string
		var below []*Value
		for i, v := range at {
			words := []string{word}
			if v.IsSequence() {
				words = v.indexes(word)
			} else if v.IsScalar() {
				words = nil
			}
			for _, w := range words {
				next = append(next, strings.TrimPrefix(places[i]+"."+w, "."))
				below = append(below, v.child(w))
			}
		}
		places, at = next, below
	}
	return places
}

// indexes are the items of a list that a word means, as words.
func (v *Value) indexes(word string) []string {
	chosen, _ := v.named(word)
	if i, err := strconv.Atoi(word); len(chosen) == 0 && err == nil && i >= 0 && i < len(v.items) {
		chosen = []int{i}
	}
	words := make([]string, len(chosen))
	for i, c := range chosen {
		words[i] = strconv.Itoa(c)
	}
	return words
}

func (v *Value) where() string {
	return v.source.name + " line " + strconv.Itoa(v.line)
}

// With is the mapping v with the value of key replaced, or added. v itself does not change.
func (v *Value) With(key string, value *Value) *Value {
	changed := *v
	changed.fields = slices.Clone(v.fields)
	for i := range changed.fields {
		if changed.fields[i].key.text == key {
			changed.fields[i].value = value
			return &changed
		}
	}
	name := &Value{kind: scalar, text: key, source: v.source, line: v.line, column: v.column, width: v.width}
	changed.fields = append(changed.fields, field{key: name, value: value})
	return &changed
}
