// Package jsonschema describes scenario, topology, sweep and exercise files by JSON Schema (draft 2020-12). With it,
// editors complete keys, show their meaning and mark mistakes. pausenet validate also checks names and the relations
// between keys, which a schema cannot express.
//
// The schemas are derived from the tables of keys (package keys) that the readers of these files use.
package jsonschema

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/experiments/lab"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

// Kinds lists the kinds of files that have a schema.
var Kinds = []string{"scenario", "topology", "sweep", "exercise", "hidden"}

// Of returns the schema of a kind of file.
func Of(kind string) ([]byte, error) {
	build := map[string]func() keys.Schema{
		"scenario": scenario.Keys().JSONSchema, "sweep": sweep.Keys().JSONSchema,
		"topology": func() keys.Schema { return keys.Ref("topology") },
		"exercise": lab.Keys().JSONSchema, "hidden": lab.HiddenKeys().JSONSchema,
	}[kind]
	if build == nil {
		return nil, fmt.Errorf("no schema of %q (choose one of %s)", kind, strings.Join(Kinds, ", "))
	}
	schema := build()
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "pausenet " + kind
	definitions := keys.JSONSchemaKinds()
	if kind == "scenario" || kind == "topology" {
		definitions["topology"] = spec.Keys().JSONSchema()
	}
	if kind == "scenario" || kind == "sweep" {
		sw, balancing, host := switchagent.Default(), topologies.DefaultBalancing(), settings.DefaultHost()
		definitions["switch"] = settings.Switch(&sw, &balancing).JSONSchema()
		definitions["host"] = settings.Host(&host).JSONSchema()
	}
	schema["$defs"] = definitions
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}
