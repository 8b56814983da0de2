package yamlspec

import (
	"encoding/json"
	"regexp"
	"strings"
)

// plain are scalars that need no quotes within a flow collection, whatever stands around them.
var plain = regexp.MustCompile(`^[A-Za-z0-9_+./-][A-Za-z0-9_+./%-]*$`)

// Flow is v on one line, as a setting's value or an item of a list in brackets may be written: "{name: a, set: {g:
// 1/16}}".
func (v *Value) Flow() string {
	switch {
	case v == nil:
		return "~"
	case v.kind == scalar && plain.MatchString(v.text):
		return v.text
	case v.kind == scalar:
		text, _ := json.Marshal(v.text) // a string is always marshalled, and YAML's double quotes take JSON's escapes
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
