package live

import (
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
)

// TestGrantsBesideOthers checks that hosts of a live fabric grant the demand of a flow under RCCC, whatever the
// fabric's congestion control, unless its data packets carry other headers.
func TestGrantsBesideOthers(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"dcqcn": "", "rccc": "",
		"timely": "rccc needs data packets to carry a demand, but on this fabric they carry what timely needs (bring it up with --cc rccc)",
	} {
		s, err := scenario.Reading{}.Load("incast")
		if err != nil {
			t.Fatal(err)
		}
		made, err := NewSetup(s, name)
		if err != nil {
			t.Fatal(err)
		}
		hosts := made.Scenario.Topology.Hosts
		f := &scenario.Flow{Source: hosts[0], Destination: hosts[1], Size: 1 * units.MB, Pair: topologies.Pair{}}
		c, err := made.Flow(f, "rccc", 1)
		if got := made.Engine(1).Hosts.Grants; got != (want == "") ||
			slices.Contains(made.Controllers(), "rccc") != (want == "") {
			t.Errorf("%s: hosts grant: %t; controllers %v", name, got, made.Controllers())
		}
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		controller, err := c.NewController(0)
		if _, ok := controller.(cc.ByGrants); err != nil || !ok {
			t.Errorf("%s: %T, %v", name, controller, err)
		}
	}
}
