package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// TestPlacements checks that ranks are at the hosts of the placement, and random ones at those of the seed.
func TestPlacements(t *testing.T) {
	hostsOf := func(placement string, seed int) string {
		s, err := Parse("x.yaml", fmt.Appendf(nil, `
topology: {leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 3}}
duration: 1ms
seed: %d
workloads: [{collective: {kind: allreduce, size: 1MB, ranks: [h0, h3, h1, h4, h2], placement: %s}}]
`, seed, placement), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, id := range s.Workloads[0].Hosts {
			names = append(names, s.Topology.Nodes[id].Name)
		}
		return strings.Join(names, " ")
	}
	for placement, want := range map[string]string{
		"given": "h0 h3 h1 h4 h2", "packed": "h0 h1 h2 h3 h4", "across-racks": "h0 h3 h1 h4 h2",
	} {
		if got := hostsOf(placement, 1); got != want {
			t.Errorf("%s: %s, want %s", placement, got, want)
		}
	}
	all := map[string]bool{}
	for seed := range 20 {
		got := hostsOf("random", seed)
		if again := hostsOf("random", seed); again != got {
			t.Errorf("seed %d: %s and %s", seed, got, again)
		}
		names := strings.Fields(got)
		if slices.Sort(names); strings.Join(names, " ") != "h0 h1 h2 h3 h4" {
			t.Errorf("seed %d: %s", seed, got)
		}
		all[got] = true
	}
	if len(all) < 10 {
		t.Errorf("%d orders by 20 seeds", len(all))
	}
}

// TestFlowsThatWait checks that each message is a flow between its ranks' hosts without a start time, and that all
// messages of a connection take one path.
func TestFlowsThatWait(t *testing.T) {
	s, err := Parse("x.yaml", []byte(`
topology: {leafspine: {spines: 4, leaves: 4, hosts_per_leaf: 2}}
duration: 1ms
flows: [{from: h0, to: h7, size: 1KB}]
workloads:
  - {tag: other, permutation: {size: 1KB}}
  - {tag: sum, collective: {kind: allreduce, size: 8MB, chunks: 2}, cc: dctcp}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	u, err := NewSetup(s, "dctcp", 1)
	if err != nil {
		t.Fatal(err)
	}
	w := &s.Workloads[1]
	if len(s.Flows) != 1+8+2*14*8 || w.First() != 9 || w.View.Flows != 224 {
		t.Fatalf("%d flows, the first of the workload's %d of %d", len(s.Flows), w.First(), w.View.Flows)
	}
	ports := map[[2]topologies.NodeID]uint16{}
	for i := w.First(); i < len(s.Flows); i++ {
		f := &s.Flows[i]
		if !f.Waits() || f.Start != vtime.Never || f.Size != 500*1000 || f.Tag != "sum" || f.Extra().CC != "dctcp" {
			t.Fatalf("flow %d: %+v", i, f)
		}
		pair := [2]topologies.NodeID{f.Source, f.Destination}
		if port, known := ports[pair]; known && port != u.Flows[i].Ports.Source {
			t.Errorf("flow %d of a connection has port %d, and others %d", i, u.Flows[i].Ports.Source, port)
		}
		ports[pair] = u.Flows[i].Ports.Source
	}
	if len(ports) != 8 {
		t.Errorf("%d connections", len(ports))
	}
}

// TestCollectivesOfSomeRanks: a step of a job may name the ranks that take part, by their hosts, wherever the placement
// has them.
func TestCollectivesOfSomeRanks(t *testing.T) {
	const text = "topology: {leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4}}\nduration: 1ms\nworkloads:\n" +
		"  - job: {ranks: h0..h5, placement: random, steps: [{collective: {kind: allreduce, size: 1KB, ranks: [h4, h1]}}, " +
		"{collective: {kind: broadcast, size: 1KB, ranks: [h0, h2, h3]%s}}]}\n"
	for root, want := range map[string]string{"": "h0", ", root: h3": "h3"} {
		s, err := Parse("x.yaml", fmt.Appendf(nil, text, root), nil)
		if err != nil {
			t.Fatal(err)
		}
		pairs := map[string]int{}
		for i := range s.Flows {
			pairs[s.Topology.Nodes[s.Flows[i].Source].Name+" "+s.Topology.Nodes[s.Flows[i].Destination].Name]++
		}
		if len(s.Flows) != 4+2*2 || pairs["h4 h1"] != 2 || pairs["h1 h4"] != 2 {
			t.Errorf("%v", pairs)
		}
		steps := s.Workloads[0].View.Steps
		if steps[1].Root != want || steps[1].describe() != "broadcast of 1KB by tree among h0, h2, h3" {
			t.Errorf("%+v", steps[1])
		}
	}
	for ranks, want := range map[string]string{
		"[h0, h6, h2]": "h6 is not one of the ranks", "[h0, h2, h0]": "h0 is listed twice",
		"h0": "a collective needs at least two ranks", "[h0, h2], root: h1": "h1 is not one of the ranks",
	} {
		_, err := Parse("x.yaml", []byte(strings.Replace(fmt.Sprintf(text, ""), "[h0, h2, h3]", ranks, 1)), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", ranks, err, want)
		}
	}
}

// FuzzMessages: whatever a table of messages has in it, it is refused, or the messages have an order.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("id,src,dst,size_bytes,after,start_ns,compute_ns\na,h0,h1,10,,5,\nb,h1,h2,10,a,,7\nc,h1,h0,1,a b,,\n"))
	f.Add([]byte("id,src,dst,size_bytes,after\na,h0,h1,10,b\nb,h1,h0,10,a\n"))
	f.Add([]byte("id,src\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		sources := files.Recorded(nil)
		sources.Add("m.csv", data)
		s, err := Reading{Sources: sources}.Parse("x.yaml",
			[]byte("topology: {star: {hosts: 3}}\nduration: 1ms\nworkloads: [{messages: m.csv}]\n"))
		if err != nil {
			return
		}
		if g := s.Workloads[0].Graph; len(s.Flows) != len(g.Messages) {
			t.Fatalf("%d flows of %d messages", len(s.Flows), len(g.Messages))
		} else if order, _ := g.Order(); order == nil {
			t.Fatal("messages wait for each other")
		}
	})
}

// TestChakraFiles checks traces with one file for each rank, from 0 on. A missing one in between is named.
func TestChakraFiles(t *testing.T) {
	attribute := func(name string, value uint64) []byte {
		a := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name)
		return protowire.AppendVarint(protowire.AppendTag(a, 9, protowire.VarintType), value) // int64_val
	}
	node := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
	node = protowire.AppendVarint(protowire.AppendTag(node, 3, protowire.VarintType), 7) // COMM_COLL_NODE
	for _, a := range [][]byte{attribute("comm_type", 0), attribute("comm_size", 1_000_000)} {
		node = protowire.AppendBytes(protowire.AppendTag(node, 10, protowire.BytesType), a)
	}
	trace := protowire.AppendBytes(protowire.AppendBytes(nil, nil), node) // the trace's metadata before it
	dir := t.TempDir()
	for _, rank := range []string{"0", "1", "2"} {
		if err := os.WriteFile(filepath.Join(dir, "t."+rank+".et"), trace, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const text = "topology: star\nduration: 1ms\nworkloads: [{tag: x, chakra: {files: t.%d.et, algorithm: ring}}]\n"
	s, err := Parse(filepath.Join(dir, "x.yaml"), []byte(text), nil)
	if err != nil || len(s.Flows) != 2*(3-1)*3 {
		t.Errorf("%v, want the 12 messages of a ring of three", err)
	}
	if text := s.Workloads[0].Warning; text != "" {
		t.Error(text)
	}
	dangling := protowire.AppendVarint(protowire.AppendTag(node, 5, protowire.VarintType), 9) // data_deps
	if err := os.WriteFile(filepath.Join(dir, "t.1.et"), protowire.AppendBytes(protowire.AppendBytes(nil, nil), dangling),
		0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = Parse(filepath.Join(dir, "x.yaml"), []byte(text), nil); err != nil {
		t.Fatal(err)
	}
	if text := s.Workloads[0].Warning; !strings.HasPrefix(text,
		"the traces lack nodes on which others depend, and 1 such dependencies are ignored") {
		t.Errorf("%q", text)
	}
	if err := os.Remove(filepath.Join(dir, "t.1.et")); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(filepath.Join(dir, "x.yaml"), []byte(text), nil); err == nil ||
		!strings.Contains(err.Error(), "t.2.et exists, but t.1.et does not") {
		t.Errorf("%v", err)
	}
}
