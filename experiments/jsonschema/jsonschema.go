// Package jsonschema describes scenario, topology, sweep and exercise files by JSON Schema (draft 2020-12), for
// editors: completion, the meaning of keys, and mistakes as one writes. pausenet validate says more than a schema can:
// names, and what is between two keys.
//
// The keys are those of the tables by which these files are read.
package jsonschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/pausenet/pausenet/experiments/lab"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/keys"

	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// node is a part of a schema.
type node = map[string]any

// Kinds are the kinds of files there are schemas of.
var Kinds = []string{"scenario", "topology", "sweep", "exercise", "hidden"}

// Of is the schema of a kind of file.
func Of(kind string) ([]byte, error) {
	build := map[string]func() node{
		"scenario": scenario.Keys().JSONSchema, "topology": func() node { return ref("topology") }, "sweep": ofSweep,
		"exercise": lab.Keys().JSONSchema, "hidden": lab.HiddenKeys().JSONSchema,
	}[kind]
	if build == nil {
		return nil, fmt.Errorf("there is no schema of %q: write one of %s", kind, strings.Join(Kinds, ", "))
	}
	schema := build()
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "pausenet " + kind
	definitions := keys.JSONSchemaKinds()
	if kind == "scenario" || kind == "topology" {
		definitions["topology"] = topologies.Keys().JSONSchema()
	}
	if kind == "scenario" || kind == "sweep" {
		definitions["switch"], definitions["host"] = switchSettings(), hostSettings()
	}
	schema["$defs"] = definitions
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}

func ref(name string) node { return node{"$ref": "#/$defs/" + name} }

func text(doc string) node { return node{"type": "string", "description": doc} }

// with is a node with a description.
func with(doc string, n node) node {
	n = maps.Clone(n)
	n["description"] = doc
	return n
}

// some is one of several nodes.
func some(nodes ...node) node { return node{"anyOf": nodes} }

// list is a list of items; one may stand without brackets.
func list(item node) node { return some(node{"type": "array", "items": item}, item) }

func object(properties node, required ...string) node {
	n := node{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		n["required"] = required
	}
	return n
}

// names are nodes' names, or sequences of them such as H2..H15.
func names(doc string) node { return with(doc, list(node{"type": "string"})) }

func switchSettings() node {
	s := switchagent.Default()
	return with("settings of every switch", settings.Switch(&s).JSONSchema())
}

func hostSettings() node {
	s := settings.DefaultHost()
	return with("settings of every host", settings.Host(&s).JSONSchema())
}

func ofSweep() node {
	values := list(node{"type": []any{"string", "number", "boolean"}})
	return object(node{
		"name": text("default: the file's"), "description": text("for people"),
		"sweep": object(node{
			"scenario": names("built-ins' names or files' paths"),
			"parameters": node{
				"type": "object", "additionalProperties": values,
				"description": "places of the scenario, as --set names them, and their values",
			},
			"controllers": scenario.Keys().JSONSchema()["properties"].(node)["controllers"],
			"seeds":       with("numbers and ranges", list(node{"type": []any{"string", "integer"}})),
			"metrics": list(with("what tables and charts show; with :TAG, of the flows with this tag", some(
				node{"enum": measure.MetricNames()}, node{"pattern": "^[a-z0-9_]+:.+$"},
			))),
		}, "scenario"),
	}, "sweep")
}
