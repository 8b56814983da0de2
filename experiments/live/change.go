//go:build linux

package live

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// Set changes a setting of one switch or of all: "leaf2.pfc.xoff=320KB", "switch.ecn.kmax=400KB". It returns
// warnings about valid settings that are probably wrong.
func (f *Fabric) Set(setting string) (warnings []string, err error) {
	key, _, assigned := strings.Cut(setting, "=")
	node, _, dotted := strings.Cut(key, ".")
	if _, err := f.Node(node); err != nil && assigned {
		if path := pathOf(key); path != "" {
			return nil, fmt.Errorf("unknown key %q: did you mean %q?", key, path)
		}
	}
	if !dotted || !assigned {
		return nil, errors.New("expected NODE.SETTING=VALUE, such as leaf0.pfc.xoff=320KB, or " +
			"switch.pfc.xoff=320KB for all switches")
	}
	var which []topologies.NodeID
	if node == "switch" {
		which = f.Plan.Switch
	} else {
		n, err := f.Node(node)
		if err != nil {
			return nil, err
		}
		if n.Kind != topologies.Switch {
			return nil, fmt.Errorf("%s is a host, but only settings of switches can change", node)
		}
		which = []topologies.NodeID{n.ID}
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	before := f.warnings(which)
	change := "switch" + strings.TrimPrefix(setting, node)
	for _, id := range which {
		n := &f.Plan.Nodes[id]
		sets := append(slices.Clone(f.sets[n.Name]), change)
		again, err := f.reread(sets)
		if problems := yamlspec.Problems(nil); errors.As(err, &problems) { // as for a --set that the user did not write
			return nil, fmt.Errorf("%s: %s", setting, problems[0].Message)
		}
		if err != nil {
			return nil, err
		}
		own, balancing := again.Switches()[n.Index], &again.Scenario.Topology.Balancing
		if err := f.Do(func(e *engine.Engine) error {
			if err := settings.CheckLive(e.Settings(n.Index), own, &f.Plan.Balancing, balancing); err != nil {
				return err
			}
			return e.SetSwitch(n.Index, own)
		}); err != nil {
			return nil, err
		}
		f.sets[n.Name] = sets
	}
	return slices.DeleteFunc(f.warnings(which), func(text string) bool { return slices.Contains(before, text) }), nil
}

// pathOf returns the path of a setting that a key names without its first parts: switch.pfc.xoff for xoff or pfc.xoff.
// It is empty if there is none.
func pathOf(key string) string {
	for _, name := range Settings {
		if path := "switch." + name; strings.HasSuffix(path, "."+key) {
			return path
		}
	}
	return ""
}

// reread returns the fabric's setup with additional settings.
func (f *Fabric) reread(sets []string) (*Setup, error) {
	s, err := f.options.Reread(sets)
	if err != nil {
		return nil, err
	}
	return NewSetup(s, f.Made.Name)
}

// warnings returns likely mistakes in the current settings of some switches. Switches with equal settings share a
// warning.
func (f *Fabric) warnings(which []topologies.NodeID) (texts []string) {
	for len(which) > 0 {
		sets := f.sets[f.Plan.Nodes[which[0]].Name]
		var alike []int
		which = slices.DeleteFunc(slices.Clone(which), func(id topologies.NodeID) bool {
			n := &f.Plan.Nodes[id]
			same := slices.Equal(f.sets[n.Name], sets)
			if same {
				alike = append(alike, n.Index)
			}
			return same
		})
		if s, err := f.reread(sets); err == nil {
			texts = append(texts, s.Warnings(alike...)...)
		}
	}
	return texts
}

// isPort reports whether a name refers to one port of a node.
func (f *Fabric) isPort(name string) bool {
	_, err := scenario.FindPorts(f.Plan, name)
	return err == nil
}

// Between returns the ports of node a that are connected to node b. Either may be one port of a node ("h0.2").
func (f *Fabric) Between(a, b string) ([]topologies.PortID, error) {
	for _, name := range []string{a, b} {
		if _, err := f.Node(name); err != nil && !f.isPort(name) {
			return nil, err
		}
	}
	ports, err := scenario.FindPorts(f.Plan, a+":"+b)
	if err != nil {
		return nil, fmt.Errorf("no link between %s and %s (list them with \"links\")", a, b)
	}
	return ports, nil
}

// Settings lists the keys of a switch that can change while it works.
var Settings = settings.Switch(new(switchagent.Settings), new(topologies.Balancing)).Live()
