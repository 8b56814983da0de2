package certificate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

// chain has one path: h0, s0, s1, s2, h2. Its buffers must be in the order of the path, in both directions.
const chain = `
nodes:
  - {name: [s0, s1, s2], kind: switch}
  - {name: [h0, h2], kind: host}
links:
  - {from: h0, to: s0}
  - {from: s0, to: s1}
  - {from: s1, to: s2}
  - {from: h2, to: s2}
`

func plan(t testing.TB, text string) *topologies.Plan {
	p, err := spec.Parse("fabric.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// valid returns a certificate of the chain by its ports: s0-eth2 to s1, s1-eth2 to s2, and back.
func valid() string {
	return `{"deadlock_certificate": 1, "topology": "chain", "failures": 1, "classes": [{"priorities": [3], "pairs": null,
"orders": [["s0-eth2", "s1-eth2", "s2-eth1", "s1-eth1"]]}]}`
}

func TestCheck(t *testing.T) {
	fabric := plan(t, chain)
	for _, c := range []struct{ name, old, new, want string }{
		{"valid", "", "", ""},
		{"order", `"s0-eth2", "s1-eth2"`, `"s1-eth2", "s0-eth2"`, "frames to s2 arrive by s0-eth2 and leave by s1-eth2"},
		{"back", `"s2-eth1", "s1-eth1"`, `"s1-eth1", "s2-eth1"`, "frames to s0 arrive by s2-eth1 and leave by s1-eth1"},
		{"missing", `, "s1-eth1"`, ``, "leave by s1-eth1"},
		{"twice", `"s1-eth1"]`, `"s1-eth1", "s0-eth2"]`, "s0-eth2 is in the order twice"},
		{"unknown", `"s1-eth1"`, `"s9-eth1"`, `no port "s9-eth1"`},
		{"one way", `null`, `[["s0", "s2"]]`, ""},
		{"one way needs less", `null,
"orders": [["s0-eth2", "s1-eth2", "s2-eth1", "s1-eth1"]]`, `[["s0", "s2"]], "orders": [["s0-eth2", "s1-eth2"]]`, ""},
		{"unknown switch", `null`, `[["s0", "s7"]]`, `lacks switch "s0" or "s7"`},
		{"version", `certificate": 1`, `certificate": 2`, "version 2"},
		{"failures", `failures": 1`, `failures": 9`, "expected 0 to 2"},
		{"no class", `"classes": [{`, `"classes": [], "x": [{`, "unknown field"},
		{"no order", `"orders": [[`, `"orders": [], "cases": [[`, "not a certificate"},
		{"trailing", `}]}`, `}]} 1`, "something follows"},
	} {
		text := strings.Replace(valid(), c.old, c.new, 1)
		got, err := Read([]byte(text))
		if err == nil {
			_, err = Check(got, fabric)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestCasesSelectOrders checks a diamond, whose paths change with failures: s0 reaches s3 by s1 or s2, and a failure of
// one link leaves the other way, which s1 then takes to reach s2 and s3.
func TestCasesSelectOrders(t *testing.T) {
	fabric := plan(t, `
nodes:
  - {name: s0..s3, kind: switch}
  - {name: h0..h3, kind: host}
links:
  - {from: h0, to: s0}
  - {from: h1, to: s1}
  - {from: h2, to: s2}
  - {from: h3, to: s3}
  - {from: s0, to: s1}
  - {from: s1, to: s2}
  - {from: s2, to: s3}
  - {from: s3, to: s0}
`)
	c := &Certificate{Version: Version, Failures: 0, Classes: []Class{{Orders: [][]string{{}}}}}
	if _, err := Check(c, fabric); err == nil {
		t.Error("an empty order holds for a ring of four")
	}
	// Without s3:s0 it is a chain: up the chain, then down it.
	name := func(a, b string) string {
		return fabric.Ports[fabric.PortsBetween(fabric.NodeByName(a).ID, fabric.NodeByName(b).ID)[0]].Name
	}
	order := []string{name("s0", "s1"), name("s1", "s2"), name("s2", "s3"), name("s3", "s2"), name("s2", "s1"), name("s1", "s0")}
	f := fabricOf(fabric)
	position, err := f.positions(&Class{Orders: [][]string{order}})
	if err != nil {
		t.Fatal(err)
	}
	sources, _ := f.sources(&Class{})
	down := make([]bool, 4)
	if _, err := f.check(down, sources, position[0]); err == nil {
		t.Error("the order of a chain holds for the ring")
	}
	down[f.port[name("s3", "s0")]/2] = true
	if n, err := f.check(down, sources, position[0]); err != nil || n != 6 { // to s3 two, to s2 one, and as many back
		t.Errorf("%d turns, %v: want 6", n, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(valid()))
	f.Add([]byte(`{"deadlock_certificate": 1, "failures": 2, "classes": [{"orders": [[], ["s1-eth1"]], "cases": [{"failed": ["s0-eth2"], "order": 1}]}]}`))
	fabric := plan(f, chain)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Read(data)
		if err != nil {
			return
		}
		if _, err := json.Marshal(c); err != nil {
			t.Fatal(err)
		}
		_, _ = Check(c, fabric)
	})
}

// TestPriorities checks that priorities are numbers in JSON. Certificates that have them in base64, as bytes, are read too.
func TestPriorities(t *testing.T) {
	text, err := json.Marshal(Priorities{0, 3, 7})
	if err != nil || string(text) != "[0,3,7]" {
		t.Errorf("got %s, %v, want [0,3,7]", text, err)
	}
	for _, text := range []string{"[3]", `"Aw=="`} {
		var p Priorities
		if err := json.Unmarshal([]byte(text), &p); err != nil || !slices.Equal(p, Priorities{3}) {
			t.Errorf("%s: got %v, %v, want priority 3", text, p, err)
		}
	}
}
