package keys

import (
	"regexp"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// text implements Value for a text.
type text struct {
	of      schema.Kind
	field   *string
	choices []string       // nil: any text
	pattern *regexp.Regexp // nil: any text
	rule    string         // description of the pattern, for messages
	many    bool           // the choices are too many to list in a message
}

// Text declares a key whose value is any text.
func Text(name string, field *string) Key {
	return Key{Name: name, Value: &text{of: schema.Text, field: field}}
}

// Choice declares a key whose value is one of some words.
func Choice(name string, field *string, words ...string) Key {
	return Key{Name: name, Value: &text{of: schema.Choice, field: field, choices: words}}
}

// OneOf declares a key whose value is one of many words: messages suggest the nearest, and do not list them.
func OneOf(name string, field *string, words ...string) Key {
	return Key{Name: name, Value: &text{of: schema.Choice, field: field, choices: words, many: true}}
}

// Matching declares a key whose value matches a pattern. The rule describes the pattern: "a tag is letters and digits".
func Matching(name string, field *string, pattern *regexp.Regexp, rule string) Key {
	return Key{Name: name, Value: &text{of: schema.Text, field: field, pattern: pattern, rule: rule}}
}

func (t *text) decode(v *yamlspec.Value, k *Key) {
	read := ""
	switch {
	case t.choices != nil && !t.many:
		v.Choice(t.field, t.choices...)
	case !v.String(&read):
	case t.many && !slices.Contains(t.choices, read):
		v.Errorf("no %s %q%s", k.last(), read, spelling.Suggest(read, t.choices))
	case t.pattern != nil && !t.pattern.MatchString(read):
		v.Errorf("%s %q: %s", k.last(), read, t.rule)
	default:
		*t.field = read
	}
}

func (t *text) check(k *Key) error {
	if t.choices != nil && !slices.Contains(t.choices, *t.field) {
		return schema.Errorf(k.Name, "%q is not one of %s", *t.field, strings.Join(t.choices, ", "))
	}
	return nil
}

func (t *text) kind() schema.Kind { return t.of }
func (t *text) text() string      { return *t.field }
func (t *text) json() any         { return *t.field }
func (t *text) zero() bool        { return *t.field == "" }

func (t *text) words() []string {
	if t.many {
		return nil
	}
	return t.choices
}

// texts implements Value for a list of texts.
type texts[T ~string] struct {
	field   *[]T
	choices []string // nil: any text
}

// Texts declares a key whose value is a list of texts. One may stand without brackets.
func Texts(name string, field *[]string) Key {
	return Key{Name: name, Value: texts[string]{field, nil}}
}

// Choices declares a key whose value is a list of some words. One may stand without brackets.
func Choices[T ~string](name string, field *[]T, words ...T) Key {
	return Key{Name: name, Value: texts[T]{field, plain(words)}}
}

// plain returns words as strings.
func plain[T ~string](words []T) []string {
	return lists.Map(words, func(word T) string { return string(word) })
}

func (t texts[T]) decode(v *yamlspec.Value, _ *Key) {
	for _, item := range v.Items() {
		read := ""
		if t.choices == nil && item.String(&read) || t.choices != nil && item.Choice(&read, t.choices...) {
			*t.field = append(*t.field, T(read))
		}
	}
}

func (t texts[T]) kind() schema.Kind { return schema.Texts }
func (t texts[T]) check(*Key) error  { return nil }
func (t texts[T]) text() string      { return strings.Join(plain(*t.field), ", ") }
func (t texts[T]) json() any         { return *t.field }
func (t texts[T]) zero() bool        { return len(*t.field) == 0 }
func (t texts[T]) words() []string   { return t.choices }

// unread represents a value that the table's user reads, because its meaning depends on other parts of the file.
type unread struct {
	of     schema.Kind
	shown  string // description of the values in documents
	schema func() Schema
}

// Names declares a key whose value is a list of names, or of sequences of names such as H2..H15. The table's user reads
// it.
func Names(name string) Key {
	return Key{Name: name, Value: unread{schema.Names, schema.Names.String(), func() Schema { return ListOf(String) }}}
}

// List declares a key whose value is a list of mappings with the keys of a table. The table's user reads it.
func List(name string, of func() Table) Key {
	describe := func() Schema { return ListOf(of().JSONSchema()) }
	return Key{Name: name, Value: unread{schema.List, schema.List.String(), describe}}
}

// Mapping declares a key whose value is a mapping with the keys of a table. The table's user reads it.
func Mapping(name string, of func() Table) Key {
	return Other(name, schema.Group.String(), func() Schema { return of().JSONSchema() })
}

// Other declares a key whose value the table's user reads. shown describes its values in documents, and describe
// returns its JSON Schema.
func Other(name, shown string, describe func() Schema) Key {
	return Key{Name: name, Value: unread{schema.Other, shown, describe}}
}

func (u unread) decode(*yamlspec.Value, *Key) {}
func (u unread) kind() schema.Kind            { return u.of }
func (u unread) check(*Key) error             { return nil }
func (u unread) text() string                 { return "" }
func (u unread) json() any                    { return nil }
func (u unread) zero() bool                   { return true }
func (u unread) words() []string              { return nil }
