package yamlspec

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/spelling"
)

// SettingName replaces the file name in problems of Override: the command-line flag of the settings.
const SettingName = "--set"

// Override returns v with one value changed, as "--set path=value" says: "switch.pfc.xoff=256KB", "flows.2.count=10".
//
// A path selects a list item by its index, or by its tag or name ("flows.burst.count=10" for all items with that tag).
// "+" appends an item ("controllers.+=none"). Override creates missing mappings on the path, and a list for "+". It
// does not check keys: the decoder does, and its problems point into the setting.
//
// v itself does not change. Override reports problems, and returns v in that case. whole lists names with dots that
// are one word of a path.
func (v *Value) Override(setting string, whole ...string) *Value {
	s := v.Report().open(SettingName, setting)
	path, text, found := strings.Cut(setting, "=")
	if !found || strings.TrimSpace(path) == "" || strings.ContainsRune(setting, '\n') {
		s.problem(1, 1, utf8.RuneCountInString(setting), "a setting must be path=value, such as switch.pfc.xoff=256KB")
		return v
	}
	if strings.TrimSpace(text) == "" {
		s.problem(1, utf8.RuneCountInString(setting), 1, "the value after the equals sign is missing")
		return v
	}
	// Blanks in place of the path keep the columns of the value.
	value := s.parse(strings.Repeat(" ", utf8.RuneCountInString(path)+1) + text)
	if value == nil {
		return v
	}
	return v.Change(&Value{kind: scalar, text: path, source: s, line: 1, column: 1}, value, whole...)
}

// words splits a path into its words.
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

// Change returns v with one value changed. path, a scalar, names it as settings of Override do. v itself does not
// change. Change reports problems, and returns v in that case.
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
			part.Errorf("the path has an empty word: remove a dot or add the word")
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

// addItem appends an item to a list when a path ends with this word.
const addItem = "+"

func (v *Value) override(path []*Value, value *Value) *Value {
	if len(path) == 0 {
		return value
	}
	part := path[0]
	changed := *v // Copy each value on the path, because aliases share parts of the tree.
	switch v.kind {
	case broken:
	case null:
		changed = Value{kind: mapping, source: part.source, line: part.line, column: part.column, width: part.width}
		if part.text == addItem {
			changed.kind = sequence
		}
		return changed.override(path, value)
	case scalar:
		part.Errorf("%q is below %q, which is a single value (%s): remove it from the path", part.text, v.text, v.where())
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

// named returns the indexes of the items with a tag or name, and all names of the list.
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

// choose returns the indexes of the items that part selects.
func (v *Value) choose(part *Value) []int {
	chosen, names := v.named(part.text)
	if len(chosen) > 0 {
		return chosen
	}
	i, err := strconv.Atoi(part.text)
	switch {
	case err != nil:
		part.Errorf("no item %q in the list (%s)%s", part.text, v.where(), spelling.Suggest(part.text, names))
	case i < 0 || i >= len(v.items):
		part.Errorf("index out of range: the list (%s) has only %d items, choose from 0 to %d", v.where(), len(v.items),
			len(v.items)-1)
	default:
		return []int{i}
	}
	return nil
}

// Paths returns the paths that Change would change, with list items by index: "flows.burst.size" becomes
// "flows.2.size". It returns none if the path does not exist.
func (v *Value) Paths(path string) []string {
	paths := []string{""}
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
				next = append(next, strings.TrimPrefix(paths[i]+"."+w, "."))
				below = append(below, v.child(w))
			}
		}
		paths, at = next, below
	}
	return paths
}

// indexes returns the indexes of the list items that a word selects, as words.
func (v *Value) indexes(word string) []string {
	chosen, _ := v.named(word)
	if i, err := strconv.Atoi(word); len(chosen) == 0 && err == nil && i >= 0 && i < len(v.items) {
		chosen = []int{i}
	}
	return lists.Map(chosen, strconv.Itoa)
}

func (v *Value) where() string {
	return v.source.name + " line " + strconv.Itoa(v.line)
}

// With returns the mapping v with the value of key replaced or added. v itself does not change.
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
