package topologies_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/vtime"
)

// TestLongestRTT compares LongestRTT with the greatest BaseRTT of all pairs of interfaces.
func TestLongestRTT(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := spec.Parse("x.yaml", []byte(fabrics().Draw(t, "spec")))
		if err != nil {
			t.Skip(err)
		}
		if rapid.Bool().Draw(t, "hpcc") {
			p = p.WithHash(topologies.HashHPCC)
		}
		for _, lengths := range [][2]int{{1000, 60}, {4150, 300}, {1000, 60}} {
			want := vtime.Time(0)
			for from, a := range p.Interfaces {
				for to, b := range p.Interfaces {
					source, destination := &p.Ports[a], &p.Ports[b]
					if source.Node == destination.Node || !p.Joined(from, to) {
						continue
					}
					pair := topologies.Pair{From: uint8(source.Number - 1), To: uint8(destination.Number - 1)}
					want = max(want, p.BaseRTT(source.Node, destination.Node, pair, lengths[0], lengths[1]))
				}
			}
			if got := p.LongestRTT(lengths[0], lengths[1]); got != want {
				t.Fatalf("frames of %v B: %v, want %v", lengths, got, want)
			}
		}
	})
}

func TestOversubscription(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		want float64
	}{
		"star":               {"star: {hosts: 8}", 1},
		"as much up as down": {"leafspine: {spines: 8, leaves: 4, hosts_per_leaf: 8}", 1},
		"more up than down":  {"leafspine: {spines: 8, leaves: 4, hosts_per_leaf: 2}", 1},
		"3:1":                {"leafspine: {spines: 2, leaves: 4, hosts_per_leaf: 6}", 3},
		"fat tree":           {"fattree: {k: 4}", 1},
		"two leaves, one link": {"nodes:\n  - {name: h0..h5, kind: host}\n  - {name: s0..s1, kind: switch}\nlinks:\n" +
			"  - {from: h0..h3, to: s0}\n  - {from: h4..h5, to: s1}\n  - {from: s0, to: s1, rate: 80Gbps}\n", 2},
		"3:1, and 2:1 above": {"nodes:\n  - {name: h0..h5, kind: host}\n  - {name: s0..s3, kind: switch}\nlinks:\n" +
			"  - {from: h0..h2, to: s0}\n  - {from: h3..h5, to: s1}\n  - {from: s0..s1, to: s2}\n  - {from: s2, to: s3}\n", 6},
	} {
		p, err := spec.Parse("x.yaml", []byte(c.spec))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := p.Oversubscription(); got != c.want {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
}

// TestLongestRTTOfTwoPorts checks a host with two links to a switch, which sends nothing to itself. By hand: 2 x (10 +
// 1) us for the cables, and frames of 1000 and 100 bytes, with 24 of line beside, over two links of 1 Gb/s.
func TestLongestRTTOfTwoPorts(t *testing.T) {
	p, err := spec.Parse("x.yaml", []byte("rate: 1Gbps\nnodes:\n  - {name: h0..h1, kind: host}\n  - {name: s0, kind: switch}\nlinks:\n"+
		"  - {from: h0, to: s0, count: 2, delay: 10us}\n  - {from: h1, to: s0, delay: 1us}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.LongestRTT(1000, 100), 22*vtime.Microsecond+2*(1024+124)*8*vtime.Nanosecond; got != want {
		t.Errorf("%v, want %v", got, want)
	}
}
