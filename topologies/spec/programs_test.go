package spec_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/topologies/spec"
)

// TestPrograms checks that the settings for all nodes, all of a kind, all of a group and a single node are combined:
// the most specific takes precedence, and lists are appended.
func TestPrograms(t *testing.T) {
	plan, err := spec.Parse("/lab/pod.yaml", []byte(`
star: {hosts: 3}
defaults: {private: [/tmp], env: {A: 1, B: 1}, exec: [true], nat: true}
kinds:
  host: {env: {B: 2, C: "x y"}, image: images/alpine}
groups:
  storage: {env: {B: g, C: g}, image: images/debian, exec: [g]}
  lab: {env: {A: lab}}
nodes:
  - {name: h9, kind: host, exec: "sleep 1 &", binds: [/a:/tmp:ro, b:/srv], env: {C: own}, group: lab}
links: [{from: h9, to: s0}]
change_nodes:
  - {name: [h9, s0], group: storage}
  - {name: h2, group: lab}
  - {name: h0..h1, env: {C: 3}, overlay: /etc/}
  - {name: h0, nat: false, image: /, ports: [8080:80, "[::1]:53:53/udp"]}
  - name: h0
    binds:
      - ../x:/etc
commands: {flap: [link h0 s0 down, link h0 s0 up], both: "nodes\nnet\n"}
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"s0": `{"image":"/lab/images/debian","mounts":[{"kind":"private","target":"/tmp"}],"env":["A=1","B=g","C=g"],"exec":["true","g"]}`,
		"h0": `{"image":"/","mounts":[{"kind":"bind","source":"/x","target":"/etc"},{"kind":"private","target":"/tmp"}],"env":["A=1","B=2","C=3"],"exec":["true"],` +
			`"ports":[{"machine":"127.0.0.1:8080","port":80,"protocol":"tcp"},{"machine":"[::1]:53","port":53,"protocol":"udp"}]}`,
		"h1": `{"image":"/lab/images/alpine","mounts":[{"kind":"overlay","target":"/etc"},{"kind":"private","target":"/tmp"}],"env":["A=1","B=2","C=3"],"exec":["true"],"nat":true}`,
		"h2": `{"image":"/lab/images/alpine","mounts":[{"kind":"private","target":"/tmp"}],"env":["A=lab","B=2","C=x y"],"exec":["true"],"nat":true}`,
		"h9": `{"image":"/lab/images/debian","mounts":[{"kind":"bind","source":"/lab/b","target":"/srv"},{"kind":"bind","source":"/a","target":"/tmp","read_only":true}],` +
			`"env":["A=1","B=g","C=own"],"exec":["true","g","sleep 1 \u0026"],"nat":true}`,
	} {
		if got, err := json.Marshal(plan.NodeByName(name).Programs); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v\nwant %s", name, got, err, want)
		}
	}
	if got, err := json.Marshal(plan.Commands); err != nil ||
		string(got) != `[{"name":"flap","lines":["link h0 s0 down","link h0 s0 up"]},{"name":"both","lines":["nodes","net"]}]` {
		t.Errorf("%s, %v", got, err)
	}
}

// TestGroupsRefused checks that groups are refused if they are undefined, unused or empty, or have settings that their
// nodes cannot have.
func TestGroupsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"groups: {a: {nat: true}}": `x.yaml:2:10: group "a" has no nodes: write group: a in an entry of nodes, or in change_nodes`,
		"groups: {a: {}}\nchange_nodes: [{name: h0, group: a}]": "this group is empty: give image, binds, " +
			"private, overlay, env, exec, nat, ports, or several of these",
		"groups: {ab: {exec: x}}\nchange_nodes: [{name: h0, group: aa}]": `no group "aa": did you mean "ab"?`,
		"groups: {a: {nat: true}}\nchange_nodes: [{name: s0, group: a}]": "s0 is a switch, but group a has nat " +
			"(line 2), which applies to hosts only",
		"groups: {a: {ports: 80:80}}\nchange_nodes: [{name: h0, group: a}]": "ports lead to a single host",
		"change_nodes: [{name: h0}]":                                        "this entry changes nothing: give group, image, binds,",
		"change_nodes: [{name: h0, group: ''}]":                             "the name is empty: remove group for none",
	} {
		if _, err := spec.Parse("x.yaml", []byte("star: {hosts: 2}\n"+text)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
