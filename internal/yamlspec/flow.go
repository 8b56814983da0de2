package yamlspec

import (
	"encoding/json"
	"regexp"
	"strings"
)

// plain matches scalars that never need quotes within a flow collection.
var plain = regexp.MustCompile(`^[A-Za-z0-9_+./-][A-Za-z0-9_+./%-]*$`)

// Flow returns v on one line, as a setting's value or an item of a list in brackets is written: "{name: a, set:
// {g: 1/16}}".
func (v *Value) Flow() string {
	switch {
	case v == nil:
		return "~"
	case v.kind == scalar && plain.MatchString(v.text):
		return v.text
	case v.kind == scalar:
		// a string can always be marshalled, and YAML's double quotes accept JSON's escapes
		text, _ := json.Marshal(v.text)
		return string(text)
	case v.kind == sequence:
		items := make([]string, len(v.items))
		for i, item := range v.items {
			items[i] = item.Flow()
		}
		return "[" + strings.Join(items, ", ") + "]"
	case v.kind == mapping:
		fields := make([]string, len(v.fields))
		for i, f := range v.fields {
			fields[i] = f.key.Flow() + ": " + f.value.Flow()
		}
		return "{" + strings.Join(fields, ", ") + "}"
	}
	return "~"
}
