// Package jsonschema describes scenario, topology, sweep and exercise files by JSON Schema (draft 2020-12), for
// editors: completion, the meaning of keys, and mistakes as one writes. pausenet validate says more than a schema can:
// names, and what is between two keys.
//
// The keys are those of the tables by which these files are read.
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
)

// Kinds are the kinds of files there are schemas of.
var Kinds = []string{"scenario", "topology", "sweep", "exercise", "hidden"}

// Of is the schema of a kind of file.
func Of(kind string) ([]byte, error) {
	build := map[string]func() keys.Schema{
		"scenario": scenario.Keys().JSONSchema, "sweep": sweep.Keys().JSONSchema,
		"topology": func() keys.Schema { return keys.Ref("topology") },
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
		sw, host := switchagent.Default(), settings.DefaultHost()
		definitions["switch"], definitions["host"] = settings.Switch(&sw).JSONSchema(), settings.Host(&host).JSONSchema()
	}
	schema["$defs"] = definitions
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}
