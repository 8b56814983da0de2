package topologies_test

import (
	"encoding/json"
	"testing"

	"github.com/pausenet/pausenet/topologies"
)

// TestPrograms: what all nodes, all of a kind and a node itself have is put together; the nearest counts, lists grow.
func TestPrograms(t *testing.T) {
	plan, err := topologies.Parse("/lab/pod.yaml", []byte(`
star: {hosts: 3}
defaults: {private: [/tmp], env: {A: 1, B: 1}, exec: [true], nat: true}
kinds:
  host: {env: {B: 2, C: "x y"}, image: images/alpine}
nodes:
  - {name: h9, kind: host, exec: "sleep 1 &", binds: [/a:/tmp:ro, b:/srv]}
links: [{from: h9, to: s0}]
change_nodes:
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
		"s0": `{"mounts":[{"kind":"private","target":"/tmp"}],"env":["A=1","B=1"],"exec":["true"]}`,
		"h0": `{"image":"/","mounts":[{"kind":"bind","source":"/x","target":"/etc"},{"kind":"private","target":"/tmp"}],"env":["A=1","B=2","C=3"],"exec":["true"],` +
			`"ports":[{"machine":"127.0.0.1:8080","port":80,"protocol":"tcp"},{"machine":"[::1]:53","port":53,"protocol":"udp"}]}`,
		"h1": `{"image":"/lab/images/alpine","mounts":[{"kind":"overlay","target":"/etc"},{"kind":"private","target":"/tmp"}],"env":["A=1","B=2","C=3"],"exec":["true"],"nat":true}`,
		"h2": `{"image":"/lab/images/alpine","mounts":[{"kind":"private","target":"/tmp"}],"env":["A=1","B=2","C=x y"],"exec":["true"],"nat":true}`,
		"h9": `{"image":"/lab/images/alpine","mounts":[{"kind":"bind","source":"/lab/b","target":"/srv"},{"kind":"bind","source":"/a","target":"/tmp","read_only":true}],` +
			`"env":["A=1","B=2","C=x y"],"exec":["true","sleep 1 \u0026"],"nat":true}`,
	} {
		if got, err := json.Marshal(plan.NodeByName(name).Programs); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v\nwant %s", name, got, err, want)
		}
	}
	if got, err := json.Marshal(plan.Commands); err != nil || string(got) != `[{"name":"flap","lines":["link h0 s0 down","link h0 s0 up"]},{"name":"both","lines":["nodes","net"]}]` {
		t.Errorf("%s, %v", got, err)
	}
}
