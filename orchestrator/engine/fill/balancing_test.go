package fill

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

// TestCheckBalancing refuses load balancing that does not suit a topology.
func TestCheckBalancing(t *testing.T) {
	const own, hpcc = topologies.HashOwn, topologies.HashHPCC
	for _, c := range []struct {
		hash   topologies.Hash
		spines int
		set    topologies.Balancing
		want   string // the start of the error; "": none
	}{
		{hpcc, 4, topologies.DefaultBalancing(), ""},
		{own, 4, topologies.Balancing{Seed: 3}, ""},
		{hpcc, 4, topologies.Balancing{Seed: 3}, "load_balancing has no effect"},
		{hpcc, 4, topologies.Balancing{Seed: topologies.OwnSeed, Mode: topologies.BalanceSpray}, "load_balancing has no effect"},
		{own, 256, topologies.Balancing{Mode: topologies.BalanceAdaptive}, ""},
		{own, 257, topologies.Balancing{Mode: topologies.BalanceSpray}, ""},
		{
			own, 257,
			topologies.Balancing{Mode: topologies.BalanceAdaptive},
			"load_balancing.mode adaptive compares 256 queues at most, and leaf1 has 257 equal-cost ports",
		},
	} {
		plan, err := spec.Parse("x.yaml", fmt.Appendf(nil, "leafspine: {spines: %d, leaves: 2, hosts_per_leaf: 1}", c.spines))
		if err != nil {
			t.Fatal(err)
		}
		err = CheckBalancing(plan.WithHash(c.hash), &c.set)
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%d spines, hash %v, %+v: got %v, want %q", c.spines, c.hash, c.set, err, c.want)
		}
	}
}
