package keys

import (
	"errors"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// Key declares one key of a mapping in users' files: a row of a Table.
type Key struct {
	// Name holds the path of the key below the table's mapping: "pfc.xoff".
	Name string
	// Value holds the kind of the value, bound to the variable that stores it.
	Value Value
	// Required makes the reader report a mapping without the key.
	Required bool
	// Presence describes when the mapping must have the key, if the reader checks that: "this or `size`". Empty: see
	// Required.
	Presence string
	// Default holds the default for documents; empty: the variable's value.
	Default string
	// Min and Max bound the value, both inclusive, spelled like one; empty: no bound.
	Min, Max string
	// Word holds a word that is allowed in place of a number, such as auto. The variable then holds WordValue.
	Word      string
	WordValue int64
	// Zero holds the alternative to writing 0, if 0 has no meaning: "write auto for the least that fits".
	Zero string
	// Unset is true if the variable's zero value means an absent key: it is within the bounds, and views omit it.
	Unset bool
	// Live is true if the key can be changed while a fabric runs.
	Live bool
	// View holds the name of the field in structured output, such as "mark_red"; empty: the key's last word with its
	// unit. A field that begins with "/" is at the top level.
	View string
	// Resolved returns the value that views show in place of the variable.
	Resolved func() any
	// Doc describes the key, in Markdown.
	Doc string
}

// Need makes the key required.
func (k Key) Need() Key { k.Required = true; return k }

// Present sets the text about when the mapping must have the key. The reader checks it.
func (k Key) Present(text string) Key { k.Presence = text; return k }

// Usually sets the default as documents show it.
func (k Key) Usually(text string) Key { k.Default = text; return k }

// Between bounds the value from both sides.
func (k Key) Between(least, most string) Key { k.Min, k.Max = least, most; return k }

// AtLeast bounds the value from below.
func (k Key) AtLeast(least string) Key { k.Min = least; return k }

// AtMost bounds the value from above.
func (k Key) AtMost(most string) Key { k.Max = most; return k }

// Or allows a word in place of a number. The variable then holds the value.
func (k Key) Or(word string, value int64) Key { k.Word, k.WordValue = word, value; return k }

// NotZero refuses 0, with the alternative.
func (k Key) NotZero(remedy string) Key { k.Zero = remedy; return k }

// Optional makes the variable's zero value mean that the key is absent.
func (k Key) Optional() Key { k.Unset = true; return k }

// Runtime allows changes of the key while a fabric runs.
func (k Key) Runtime() Key { k.Live = true; return k }

// As sets the field of views for programs.
func (k Key) As(view string) Key { k.View = view; return k }

// Showing sets the value that views show in place of the variable.
func (k Key) Showing(resolved func() any) Key { k.Resolved = resolved; return k }

// Means sets the description of the key, in Markdown.
func (k Key) Means(doc string) Key { k.Doc = doc; return k }

// Value represents a kind of value, bound to a variable. Functions such as Size, Time and Word return one.
type Value interface {
	kind() schema.Kind
	// decode reads v into the variable. If v has a mistake, it reports that and does not change the variable.
	decode(v *yamlspec.Value, k *Key)
	check(k *Key) error // reports a variable that is out of bounds
	text() string       // the variable as scenario files write it; empty: the key is absent
	json() any
	zero() bool
	words() []string
}

// Table holds the keys of a mapping in the order in which views have them. The key of a group stands before the keys
// in it.
type Table []Key

// Find returns the row of a key, nil if there is none.
func (t Table) Find(name string) *Key {
	return lists.Find(t, func(k *Key) bool { return k.Name == name })
}

// Within returns the rows of a group as a table, with unchanged names.
func (t Table) Within(group string) (rows Table) {
	for _, k := range t {
		if k.Group() == group {
			rows = append(rows, k)
		}
	}
	return rows
}

// Names returns the keys.
func (t Table) Names() []string {
	return lists.Map(t, func(k Key) string { return k.Name })
}

// Live returns the keys that can be changed while a fabric runs.
func (t Table) Live() (names []string) {
	for i := range t {
		if t[i].Live {
			names = append(names, t[i].Name)
		}
	}
	return names
}

// Check returns the FieldErrors of all variables that are out of bounds, joined.
func (t Table) Check() error {
	var errs []error
	for i := range t {
		errs = append(errs, t[i].Value.check(&t[i]))
	}
	return errors.Join(errs...)
}

// Differ returns the keys whose values differ from another table's of the same rows.
func (t Table) Differ(from Table) (rows []*Key) {
	for i := range t {
		if t[i].Text() != from[i].Text() {
			rows = append(rows, &t[i])
		}
	}
	return rows
}

// Kind returns the kind of the key's value.
func (k *Key) Kind() schema.Kind { return k.Value.kind() }

// Text returns the variable as scenario files write it.
func (k *Key) Text() string {
	if n, ok := k.Value.(interface{ means() int64 }); ok && k.Word != "" && n.means() == k.WordValue {
		return k.Word
	}
	return k.Value.text()
}

// Words returns the words that a Choice or a Flag takes.
func (k *Key) Words() []string { return k.Value.words() }

// requiredText replaces the default of a required key in documents.
const requiredText = "required"

// Shown returns the default as documents show it.
func (k *Key) Shown() string {
	switch {
	case k.Presence != "":
		return k.Presence
	case k.Default != "":
		return k.Default
	case k.Required:
		return requiredText
	}
	return k.Text()
}

// last returns the last word of the key's path.
func (k *Key) last() string { return k.Name[strings.LastIndexByte(k.Name, '.')+1:] }

// Group returns the path of the group that the key is in, "" for none.
func (k *Key) Group() string { return k.Name[:max(0, strings.LastIndexByte(k.Name, '.'))] }
