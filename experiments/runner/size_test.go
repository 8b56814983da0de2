package runner

import (
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/topologies"
)

// TestLargeFabrics checks fabrics with an eighth of the maximum number of hosts: each host sends to one and receives
// from one, and everything arrives. The maximum would take half a minute of processor time.
func TestLargeFabrics(t *testing.T) {
	testenv.WholeScenario(t)
	const hosts = topologies.MaxHosts / 8
	for name, topology := range map[string]string{
		"leaf-spine": "leafspine: {spines: 32, leaves: 512, hosts_per_leaf: 32}",
		"fat-tree":   "fattree: {pods: 32, edges: 16, aggregations: 16, cores: 256, hosts_per_edge: 32}",
	} {
		t.Run(name, func(t *testing.T) {
			s := parse(t, "name: large\ntopology: {rate: 100Gbps, "+topology+"}\ncontrollers: [dcqcn]\n"+
				"workloads: [{tag: all, permutation: {size: 2KB}}]\nduration: 1ms\ndrain: true\n"+
				"expect_unused: [pfc, ecn, controller]\nsample: {flows: none}\n")
			o := run(t, s, "dcqcn", Options{Plane: wasmplane.Open})
			flows := o.table("flows.csv").Rows
			if o.Summary.Flows.Completed != hosts || len(flows) != hosts ||
				o.Summary.Verdict.Status != measure.Pass {
				t.Errorf("%d flows have ended, %d are written down: %+v", o.Summary.Flows.Completed, len(flows), o.Summary.Verdict)
			}
			receivers := map[string]bool{}
			for _, f := range flows {
				if f["fct_ns"] != "" {
					receivers[f["dst"]] = true
				}
			}
			if len(receivers) != hosts {
				t.Errorf("%d hosts have received something", len(receivers))
			}
		})
	}
}
