package keys

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/pausenet/pausenet/internal/schema"
)

// Schema represents a part of a JSON Schema (draft 2020-12).
type Schema = map[string]any

// String holds the schema of a text.
var String = Schema{"type": "string"}

// Ref refers to a definition of the whole schema.
func Ref(name string) Schema { return Schema{"$ref": "#/$defs/" + name} }

// AnyOf returns the schema that matches any of several.
func AnyOf(of ...any) Schema { return Schema{"anyOf": of} }

// ListOf returns the schema of a list. A list of one item may omit the brackets.
func ListOf(item Schema) Schema { return AnyOf(Schema{"type": "array", "items": item}, item) }

// MapOf returns the schema of a mapping with arbitrary keys.
func MapOf(value Schema) Schema { return Schema{"type": "object", "additionalProperties": value} }

// OfTypes returns the schema that matches values of several types of JSON.
func OfTypes(types ...any) Schema { return Schema{"type": types} }

// JSONSchema returns the table as an object of JSON Schema, for editors. It refers to JSONSchemaKinds as #/$defs.
func (t Table) JSONSchema() Schema { return t.object("") }

func (t Table) object(path string) Schema {
	properties, required := Schema{}, []string(nil)
	for i := range t {
		k := &t[i]
		if k.Group() != path {
			continue
		}
		properties[k.last()] = t.describe(k)
		if k.Required {
			required = append(required, k.last())
		}
	}
	all := Schema{"type": "object", "additionalProperties": false, "properties": properties}
	if required != nil {
		all["required"] = required
	}
	return all
}

// describe returns the schema of a key's values, with its meaning.
func (t Table) describe(k *Key) Schema {
	v := t.takes(k)
	if k.Word != "" {
		v = AnyOf(Schema{"const": k.Word}, v)
	}
	doc := k.Doc
	switch fixed := k.Shown(); {
	case fixed == "" || fixed == requiredText:
	case k.Presence != "":
		doc += " (" + fixed + ")"
	default:
		doc += " (default: " + fixed + ")"
	}
	if doc = strings.TrimSpace(doc); doc != "" {
		v["description"] = doc
	}
	return v
}

// takes returns the schema of a key's values.
func (t Table) takes(k *Key) Schema {
	switch value := k.Value.(type) {
	case *Group:
		inner := t.object(k.Name)
		if value.Off != nil {
			return AnyOf(Schema{"const": off}, inner)
		}
		if value.Short != "" {
			return AnyOf(t.takes(t.Find(k.Name+"."+value.Short)), inner)
		}
		return inner
	case unread:
		return maps.Clone(value.schema())
	case *text:
		switch {
		case value.pattern != nil:
			return Schema{"type": "string", "pattern": value.pattern.String()}
		case value.choices != nil:
			return Schema{"enum": value.choices}
		}
	}
	switch kind := k.Kind(); kind {
	case schema.Choice:
		return Schema{"enum": k.Words()}
	case schema.Text:
		return maps.Clone(String)
	case schema.Texts:
		if words := k.Words(); words != nil {
			return ListOf(Schema{"enum": words})
		}
		return ListOf(String)
	case schema.Integer, schema.Number:
		v := Ref(kind.String())
		for key, bound := range map[string]string{"minimum": k.Min, "maximum": k.Max} {
			if json.Valid([]byte(bound)) {
				v[key] = json.Number(bound)
			}
		}
		return v
	default:
		return Ref(strings.ReplaceAll(kind.String(), " ", "_"))
	}
}

// amount returns the schema of a number with a unit; units is a regular expression.
func amount(units string) Schema {
	pattern := `^\s*\+?[0-9._]+([eE][+-]?[0-9]+)?\s*(` + units + `)\s*$`
	return Schema{"type": []any{"string", "number"}, "pattern": pattern}
}

// JSONSchemaKinds returns the kinds of values, by the names under which JSONSchema refers to them.
func JSONSchemaKinds() map[string]any {
	priority := map[string]any{"type": "integer", "minimum": 0, "maximum": 7}
	return map[string]any{
		"size": amount(`|[bB]|[kKmMgGtT][bB]?|[kKmMgG][iI][bB]`),
		"rate": amount(`|b/s|bps|bit|[kKmMgGtT](b/s|bps|bit)?`),
		"time": map[string]any{
			"type":    []any{"string", "integer"},
			"pattern": `^\s*(0|\+?[0-9._]+([eE][+-]?[0-9]+)?\s*(ps|ns|us|µs|μs|ms|s))\s*$`, "maximum": 0,
		},
		"number": map[string]any{
			"type":    []any{"string", "number"},
			"pattern": `^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?(\s*/\s*[0-9.]+([eE][+-]?[0-9]+)?|%)?\s*$`,
		},
		"integer":  map[string]any{"type": "integer"},
		"flag":     map[string]any{"type": "boolean"},
		"priority": priority,
		"priorities": map[string]any{
			"anyOf": []any{priority, map[string]any{"type": "array", "items": priority}},
		},
		"sizes_by_priority": map[string]any{
			"type": "object", "patternProperties": map[string]any{"^[0-7]$": map[string]any{"$ref": "#/$defs/size"}},
			"additionalProperties": false,
		},
	}
}
