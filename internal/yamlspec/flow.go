package yamlspec

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
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
		return "[" + strings.Join(lists.Map(v.items, func(item *Value) string { return item.Flow() }), ", ") + "]"
	case v.kind == mapping:
		fields := lists.Map(v.fields, func(f field) string { return f.key.Flow() + ": " + f.value.Flow() })
		return "{" + strings.Join(fields, ", ") + "}"
	}
	return "~"
}
