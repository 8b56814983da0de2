// Package jsonschema describes scenario, topology, sweep and exercise files by JSON Schema (draft 2020-12), for
// editors: completion, the meaning of keys, and mistakes as one writes. pausenet validate says more than a schema can:
// names, and what is between two keys.
//
// The settings of switches and hosts, faults and the constants of congestion controls are of their tables. The rest is
// written here, and a test holds it to the keys that the decoders ask for.
package jsonschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/keys"

	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
)

// node is a part of a schema.
type node = map[string]any

// Kinds are the kinds of files there are schemas of.
var Kinds = []string{"scenario", "topology", "sweep", "exercise", "hidden"}

// Of is the schema of a kind of file.
func Of(kind string) ([]byte, error) {
	build := map[string]func() node{
		"scenario": ofScenario, "topology": ofTopology, "sweep": ofSweep, "exercise": ofExercise, "hidden": ofHidden,
	}[kind]
	if build == nil {
		return nil, fmt.Errorf("there is no schema of %q: write one of %s", kind, strings.Join(Kinds, ", "))
	}
	schema := build()
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "pausenet " + kind
	definitions := keys.JSONSchemaKinds()
	if kind == "scenario" || kind == "topology" {
		definitions["topology"], definitions["texts"] = topologyFile(), list(node{"type": "string"})
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

func words(doc string, choices ...string) node { return node{"enum": choices, "description": doc} }

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

func count(doc string) node { return node{"type": "integer", "minimum": 1, "description": doc} }

func flag(doc string) node { return node{"type": "boolean", "description": doc} }

// names are nodes' names, or sequences of them such as H2..H15.
func names(doc string) node { return with(doc, list(node{"type": "string"})) }

// cable are the keys of cables.
func cable(n node) node {
	n["rate"] = with("rate of the links (default: 40Gbps)", ref("rate"))
	n["delay"] = with("propagation delay of the links (default: 1us)", ref("time"))
	n["interface_mtu"] = interfaceMTU()
	return n
}

func interfaceMTU() node {
	return node{
		"type": "integer", "minimum": 1280, "maximum": 9216,
		"description": "MTU of the interfaces of the links, for programs on live fabrics (default: 1500)",
	}
}

func ofTopology() node { return ref("topology") }

func topologyFile() node {
	builder := func(roles []string, keys node) node {
		patterns := node{}
		for _, role := range roles {
			patterns[role] = text("a name pattern with %d")
		}
		keys = cable(keys)
		keys["host_rate"] = with("rate of the hosts' links (default: rate)", ref("rate"))
		keys["buffer"] = with("shared buffer of the switches (default: the scenario's)", ref("size"))
		keys["names"] = object(patterns)
		return object(keys)
	}
	weight := node{
		"type": "integer", "minimum": 1, "maximum": 64,
		"description": "flows that take the link, beside those that take others of equal cost (default: 1)",
	}
	group := text("one of groups, whose programs' keys count before those of kinds and defaults")
	portsPerHost := func(keys node) node {
		keys["ports_per_host"] = count("parallel links of a host to its switch (default: 1)")
		return keys
	}
	fabricRate := func(keys node) node {
		keys["fabric_rate"] = with("rate of the links between switches (default: rate)", ref("rate"))
		return keys
	}
	return object(cable(node{
		"name": text("default: the file's"), "description": text("for people"),
		"framing": words("what frames count and take: real Ethernet, or ns-3's", "ethernet", "ns3"),
		"mtu": node{
			"type": "integer", "minimum": 64, "maximum": 9056,
			"description": "payload of a packet (default: 1000)",
		},
		"l2":   words("whether a live fabric's hosts have their gateway's link-layer address from the start (the default), or ask for it", "static", "learn"),
		"star": builder([]string{"switch", "host"}, portsPerHost(node{"hosts": count("hosts around one switch")})),
		"leafspine": builder([]string{"leaf", "spine", "host"}, portsPerHost(fabricRate(node{
			"spines": count("spine switches"), "leaves": count("leaf switches, each cabled to each spine"),
			"hosts_per_leaf": count("hosts of a leaf"),
		}))),
		"rail": builder([]string{"leaf", "spine", "host"}, fabricRate(node{
			"rails":           count("ports of a host, each at a leaf of its own"),
			"groups":          count("groups of hosts with leaves of their own (default: 1)"),
			"hosts_per_group": count("hosts of a group"), "spines": node{
				"type": "integer", "minimum": 0,
				"description": "spine switches; 0: rails meet nowhere",
			},
		})),
		"planes": builder([]string{"leaf", "spine", "host"}, fabricRate(node{
			"planes": count("ports of a host, each in a leaf-spine of its own"), "leaves": count("leaf switches of a plane"),
			"spines": node{
				"type": "integer", "minimum": 0,
				"description": "spine switches of a plane; 0: it is one switch",
			},
			"hosts_per_leaf": count("hosts of a leaf"),
		})),
		"fattree": builder([]string{"edge", "aggregation", "core", "host"}, portsPerHost(fabricRate(node{
			"k": node{"type": "integer", "minimum": 2, "description": "ports of a switch of the k-ary fat-tree; or give the numbers"}, "pods": count("pods"),
			"edges": count("edge switches of a pod"), "aggregations": count("aggregation switches of a pod"),
			"cores":          count("core switches"),
			"hosts_per_edge": count("hosts of an edge switch"),
		}))),
		"hpcc": text("a topology file of HPCC's simulator"),
		"nodes": list(object(programs(true, node{
			"name": names("the node, or several: H0..H15"), "kind": words("what they are", "host", "switch"),
			"buffer": with("shared buffer of a switch (default: the scenario's)", ref("size")), "group": group,
		}), "name", "kind")),
		"change_nodes": list(object(programs(true, node{"name": names("nodes that there are: h0..h3"), "group": group}),
			"name")),
		"defaults": with("what programs on all nodes find, in a live fabric", object(programs(false, node{}))),
		"kinds": with("the same of all hosts, or all switches", object(node{
			"host": object(programs(false, node{})), "switch": object(programs(false, node{})),
		})),
		"groups": node{
			"type": "object", "additionalProperties": object(programs(false, node{})),
			"description": "the same of all nodes that name the group, before kinds and defaults",
		},
		"commands": node{
			"type": "object", "additionalProperties": ref("texts"),
			"description": "verbs of your own for the shell of a live fabric: its lines, with $1 to $9 and $@",
		},
		"links": some(list(object(cable(node{
			"from": names("one side: each is cabled to each of the other"), "to": names("the other side"),
			"count": count("parallel links (default: 1)"), "weight": weight,
			"breakout": node{
				"type": "integer", "minimum": 2, "maximum": 8,
				"description": "into how many ports of equal rate each port of from is broken out; rate is the whole port's",
			},
		}), "from", "to")), node{
			"type": "object", "description": "changes of links that there are, by their names: leaf0-spine1", "additionalProperties": object(node{
				"rate":  with("its rate (default: as it is)", ref("rate")),
				"delay": with("its propagation delay (default: as it is)", ref("time")), "weight": weight,
				"interface_mtu": interfaceMTU(),
			}),
		}),
		"change_links": list(object(node{
			"from": names("one side of links that there are"), "to": names("the other side"),
			"rate":  with("their rate (default: as it is)", ref("rate")),
			"delay": with("their propagation delay (default: as it is)", ref("time")), "weight": weight,
			"interface_mtu": interfaceMTU(),
		}, "from", "to")),
	}))
}

// programs are the keys of what programs on nodes find.
func programs(single bool, n node) node {
	maps.Copy(n, node{
		"image":   text("a root folder in the place of the machine's files, or a container image: an archive of docker save, podman save or docker export, or an OCI layout"),
		"binds":   with("SOURCE:TARGET or SOURCE:TARGET:ro: files and folders of the machine's", ref("texts")),
		"private": with("empty folders of the node's own, in memory", ref("texts")),
		"overlay": with("the machine's folders, of which what is changed is the node's own", ref("texts")),
		"env": node{
			"type": "object", "additionalProperties": node{"type": []any{"string", "number", "boolean"}},
			"description": "variables of programs",
		},
		"exec":  with("commands for sh as the fabric comes up", ref("texts")),
		"nat":   flag("reaches the machine's network, by eth0"),
		"ports": false,
	})
	if single {
		n["ports"] = with(`"8080:80": ports of the machine that lead to the host's`, ref("texts"))
	}
	return n
}

func ofScenario() node { return scenario.Keys().JSONSchema() }

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
