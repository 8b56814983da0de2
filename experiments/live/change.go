//go:build linux

package live

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// Set changes a setting of a switch, or of all: "leaf2.pfc.xoff=320KB", "switch.ecn.kmax=400KB".
func (f *Fabric) Set(setting string) error {
	node, rest, found := strings.Cut(setting, ".")
	if !found || !strings.Contains(rest, "=") {
		return errors.New("write node.setting=value, such as leaf0.pfc.xoff=320KB; switch.pfc.xoff=320KB for all switches")
	}
	var which []topologies.NodeID
	if node == "switch" {
		which = f.Plan.Switch
		node = ""
	} else {
		n, err := f.Node(node)
		if err != nil {
			return err
		}
		if n.Kind != topologies.Switch {
			return fmt.Errorf("%s is a host: settings that can change are those of switches", node)
		}
		which = []topologies.NodeID{n.ID}
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	change := "switch." + rest
	for _, id := range which {
		n := &f.Plan.Nodes[id]
		sets := append(slices.Clone(f.sets[n.Name]), change)
		s, err := f.options.Reread(sets)
		if problems := yamlspec.Problems(nil); errors.As(err, &problems) { // as for a --set that nobody has written
			return fmt.Errorf("%s: %s", setting, problems[0].Message)
		}
		if err != nil {
			return err
		}
		again, err := NewSetup(s, f.Made.Name)
		if err != nil {
			return err
		}
		own := again.Switches()[n.Index]
		if err := f.Do(func(e *engine.Engine) error { return e.SetSwitch(n.Index, own) }); err != nil {
			return err
		}
		f.sets[n.Name] = sets
	}
	return nil
}

// Between are the ports of a node that are cabled to another.
func (f *Fabric) Between(a, b string) ([]topologies.PortID, error) {
	from, err := f.Node(a)
	if err != nil {
		return nil, err
	}
	to, err := f.Node(b)
	if err != nil {
		return nil, err
	}
	ports := f.Plan.PortBetween(from.ID, to.ID)
	if len(ports) == 0 {
		return nil, fmt.Errorf("there is no link between %s and %s: links prints those there are", a, b)
	}
	return ports, nil
}

// Settings are the keys of a switch that can be changed while it works.
var Settings = settings.Switch(new(switchagent.Settings)).Live()
