package clab

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/yamlspec"
)

const web = `name: web
mgmt: {network: custom}
topology:
  defaults: {kind: linux, env: {LANG: C, A: "0"}, exec: [first]}
  kinds:
    linux: {image: alpine:3, env: {A: "1"}, binds: ["kind:/srv"]}
  groups:
    servers: {binds: ["group:/srv:rw", "other:/opt:ro,z"]}
  nodes:
    leaf: {kind: nokia_srlinux, type: ixrd3, startup-config: leaf.cfg, exec: ["sr_cli info"], ports: ["1:2"]}
    router: {image: quay.io/frrouting/frr:9.1}
    client: {image: root.tar, env: {A: "2"}, labels: {who: me}}
    server: {group: servers, exec: ["ip addr add 10.1.1.1/24 dev eth2", echo eth2x], ports: ["8081:80/tcp", "53:53/udp"]}
  links:
    - endpoints: ["leaf:e1-1", "client:eth1"]
    - {type: veth, mtu: 1600, endpoints: [{node: leaf, interface: e1-2}, {node: server, interface: eth2}]}
    - endpoints: ["leaf:e1-3", "router:eth1"]
    - endpoints: ["leaf:e1-9", "mgmt-net:x"]
    - {type: macvlan, endpoint: {node: leaf}}
`

const wantWeb = `# Made from web.clab.yml by "pausenet import clab".
name: "web"
nodes:
  - {"name":"leaf","kind":"switch","env":{"A":"0","LANG":"C"}}
  - {"name":"router","kind":"switch","binds":["kind:/srv"],"env":{"A":"1","LANG":"C"},"exec":["first"]}
  - {"name":"client","kind":"host","image":"root.tar","binds":["kind:/srv"],"env":{"A":"2","LANG":"C"},"exec":["first"]}
  - {"name":"server","kind":"host","binds":["group:/srv","other:/opt:ro"],"env":{"A":"1","LANG":"C"},"exec":["first","ip addr add 10.1.1.1/24 dev server-eth1","echo eth2x"],"ports":["8081:80","53:53/udp"]}
links:
  - {"from":"leaf","to":"client"}
  - {"from":"leaf","to":"server","interface_mtu":1600}
  - {"from":"leaf","to":"router"}
`

// TestConvert checks what becomes of each key, and that each key without a meaning is named once, with a remedy.
func TestConvert(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "root.tar"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Convert(filepath.Join(folder, "web.clab.yml"), []byte(web))
	if err != nil {
		t.Fatal(err)
	}
	if got.Text != wantWeb {
		t.Errorf("got\n%swant\n%s", got.Text, wantWeb)
	}
	for _, start := range []string{
		"mgmt: ", "router: kind linux with an image that routes becomes a switch", "links to mgmt-net lead out",
		"links of type macvlan lead out", "leaf: type: ", "leaf: startup-config: ", "leaf: exec: kind nokia_srlinux ",
		"leaf: ports: only hosts", "router, server: image: pausenet pulls none",
	} {
		if n := len(slices.DeleteFunc(slices.Clone(got.Notes), func(s string) bool { return !strings.HasPrefix(s, start) })); n != 1 {
			t.Errorf("%d notes start with %q: %q", n, start, got.Notes)
		}
	}
	if len(got.Notes) != 9 {
		t.Errorf("%d notes: %q", len(got.Notes), got.Notes)
	}
}

// TestHostsAdded checks containerlab's first example, which has two switches and no host.
func TestHostsAdded(t *testing.T) {
	got, err := Convert("srlceos01.clab.yml", []byte(`
name: srlceos01
topology:
  nodes:
    srl: {kind: nokia_srlinux, image: "ghcr.io/nokia/srlinux:23.10.1"}
    ceos: {kind: arista_ceos, image: "ceos:4.32.0F"}
  links:
    - endpoints: ["srl:ethernet-1/1", "ceos:eth1"]
`))
	if err != nil || !strings.Contains(got.Text, `{"from":"ceos-h","to":"ceos"}`) || !strings.Contains(got.Text, `{"from":"srl","to":"ceos"}`) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestMistakes(t *testing.T) {
	for text, says := range map[string]string{
		"name: x":                              `"topology"`,
		"topology: {nodes: {a: {}}}":           "node a has no kind (add kind: linux",
		"topology: {nodes: {a: {kind: host}}}": "it is the machine itself",
		"topology: {nodes: {a: {kind: linux, labels: {pausenet: hub}}}}":                            `expected host or switch, found "hub"`,
		"topology: {nodes: {a: {kind: linux}, b: {kind: linux}}, links: [{endpoints: [a:1, b:1]}]}": "joins two hosts, a and b",
		"topology: {nodes: {leaf: {kind: ceos}}, links: [{endpoints: [leaf:1, leav:1]}]}":           `did you mean "leaf"?`,
		"topology: {nodes: {a: {kind: ceos}}, links: [{endpoints: [a:1]}]}":                         "two endpoints, found 1",
		"topology: {nodes: {a: {kind: ceos}}, links: [{mtu: 9, endpoints: [a:1, a:2]}]}":            "1280",
		"topology: {nodes: [a]}": "expected a mapping",
	} {
		if got, err := Convert("x.clab.yml", []byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %+v, %v; want %q", text, got, err, says)
		}
	}
}

// TestLocated checks that mistakes which only the topology's reader finds are reported at their places in the file.
func TestLocated(t *testing.T) {
	const file = `name: x
topology:
  nodes:
    a: {kind: linux, ports: ["xx:80"]}
    c: {kind: linux}
    s: {kind: bridge}
  links:
    - endpoints: ["a:eth1", "s:eth1"]
    - endpoints: ["a:eth2", "s:eth2"]
`
	got, err := Convert("x.clab.yml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	// The generated text has the node in line 4, after a comment, the name and "nodes:".
	text := got.Located(yamlspec.Problems{{File: "x.clab.yml", Line: 4, Column: 40, Message: `"xx:80": write "MACHINE:HOST"`}}).Error()
	if !strings.HasPrefix(text, "x.clab.yml:4:5: \"xx:80\": ") || !strings.Contains(text, `4 |     a: {kind: linux, ports: ["xx:80"]}`) {
		t.Errorf("%v", text)
	}
	other := errors.New("x")
	if got, err = Convert("x.clab.yml", []byte(file)); err != nil || got.Located(nil) != nil || !errors.Is(got.Located(other), other) {
		t.Errorf("%v", err)
	}
	for line, want := range strings.Split(got.Text, "\n") { // each line of a node or link has its place
		has := line != 1 && line+1 < len(got.lines) && got.lines[line+1] != nil // line 2 has the name
		if has != strings.HasPrefix(want, "  - ") {
			t.Errorf("line %d: %s", line+1, want)
		}
	}
}

// FuzzConvert checks that any file gives a topology or an error.
func FuzzConvert(f *testing.F) {
	f.Add(web)
	f.Add("topology: {nodes: {a: {kind: linux}}, links: [{endpoints: [{node: a}, a]}]}")
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := Convert("x.clab.yml", []byte(text)); (err == nil) != (got.Text != "") {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
