package settings

import (
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/schema"
)

// JSONSchema is a table as an object of JSON Schema (draft 2020-12), for editors. It refers to JSONSchemaKinds as #/$defs.
func (t Table) JSONSchema() map[string]any { return t.object("") }

func (t Table) object(path string) map[string]any {
	properties := map[string]any{}
	for i := range t {
		s := &t[i]
		if s.group() != path {
			continue
		}
		if s.Kind != schema.Group {
			properties[s.last()] = s.jsonSchema()
			continue
		}
		inner := t.object(s.Name)
		if s.Doc != "" {
			inner["description"] = s.Doc
		}
		if g, ok := s.value.(*group); ok && g.off != nil {
			inner = map[string]any{"anyOf": []any{map[string]any{"const": off}, inner}}
		}
		properties[s.last()] = inner
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

// jsonSchema is what a key takes.
func (s *Setting) jsonSchema() map[string]any {
	v := map[string]any{}
	switch s.Kind {
	case schema.Choice:
		v["enum"] = s.Words()
	case schema.Integer, schema.Number:
		v["$ref"] = "#/$defs/" + s.Kind.String()
		for key, bound := range map[string]string{"minimum": s.Min, "maximum": s.Max} {
			if x, err := strconv.ParseFloat(bound, 64); err == nil {
				v[key] = x
			}
		}
	default:
		v["$ref"] = "#/$defs/" + strings.ReplaceAll(s.Kind.String(), " ", "_")
	}
	if s.Word != "" {
		v = map[string]any{"anyOf": []any{map[string]any{"const": s.Word}, v}}
	}
	v["description"] = s.Doc
	fixed := s.Default
	if fixed == "" {
		fixed = s.Text()
	}
	if fixed != "required" {
		v["description"] = s.Doc + " (default: " + fixed + ")"
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
