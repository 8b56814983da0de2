package keys

import (
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/schema"
)

// JSONSchema is a table as an object of JSON Schema (draft 2020-12), for editors. It refers to JSONSchemaKinds as
// #/$defs.
func (t Table) JSONSchema() map[string]any { return t.object("") }

func (t Table) object(path string) map[string]any {
	properties := map[string]any{}
	for i := range t {
		k := &t[i]
		if k.Group() != path {
			continue
		}
		if k.Kind() != schema.Group {
			properties[k.last()] = k.jsonSchema()
			continue
		}
		inner := t.object(k.Name)
		if k.Doc != "" {
			inner["description"] = k.Doc
		}
		if g, ok := k.Value.(*Group); ok && g.Off != nil {
			inner = map[string]any{"anyOf": []any{map[string]any{"const": off}, inner}}
		}
		properties[k.last()] = inner
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

// jsonSchema is what a key takes.
func (k *Key) jsonSchema() map[string]any {
	v := map[string]any{}
	switch k.Kind() {
	case schema.Choice:
		v["enum"] = k.Words()
	case schema.Integer, schema.Number:
		v["$ref"] = "#/$defs/" + k.Kind().String()
		for key, bound := range map[string]string{"minimum": k.Min, "maximum": k.Max} {
			if x, err := strconv.ParseFloat(bound, 64); err == nil {
				v[key] = x
			}
		}
	default:
		v["$ref"] = "#/$defs/" + strings.ReplaceAll(k.Kind().String(), " ", "_")
	}
	if k.Word != "" {
		v = map[string]any{"anyOf": []any{map[string]any{"const": k.Word}, v}}
	}
	v["description"] = k.Doc
	fixed := k.Default
	if fixed == "" {
		fixed = k.Text()
	}
	if fixed != "required" {
		v["description"] = k.Doc + " (default: " + fixed + ")"
	}
	return v
}

// amount is a pattern of a number with a unit.
func amount(units string) map[string]any {
	return map[string]any{"type": []any{"string", "number"}, "pattern": `^\s*\+?[0-9._]+([eE][+-]?[0-9]+)?\s*(` + units + `)\s*$`}
}

// JSONSchemaKinds are the kinds of values, by the names under which JSONSchema refers to them.
func JSONSchemaKinds() map[string]any {
	priority := map[string]any{"type": "integer", "minimum": 0, "maximum": 7}
	return map[string]any{
		"size":     amount(`|[bB]|[kKmMgGtT][bB]?|[kKmMgG][iI][bB]`),
		"rate":     amount(`|b/s|bps|bit|[kKmMgGtT](b/s|bps|bit)?`),
		"time":     map[string]any{"type": []any{"string", "integer"}, "pattern": `^\s*(0|\+?[0-9._]+([eE][+-]?[0-9]+)?\s*(ps|ns|us|µs|μs|ms|s))\s*$`, "maximum": 0},
		"number":   map[string]any{"type": []any{"string", "number"}, "pattern": `^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?(\s*/\s*[0-9.]+([eE][+-]?[0-9]+)?|%)?\s*$`},
		"integer":  map[string]any{"type": "integer"},
		"flag":     map[string]any{"type": "boolean"},
		"priority": priority,
		"priorities": map[string]any{
			"anyOf": []any{priority, map[string]any{"type": "array", "items": priority}},
		},
		"sizes_by_priority": map[string]any{
			"type": "object", "patternProperties": map[string]any{"^[0-7]$": map[string]any{"$ref": "#/$defs/size"}}, "additionalProperties": false,
		},
	}
}
