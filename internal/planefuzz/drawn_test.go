package planefuzz_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// drawnCases sets the number of cases in which every setting must be drawn.
const drawnCases = 200

// rows returns the rows of the switches' settings and the hosts', without groups.
func rows(s *switchagent.Settings, b *topologies.Balancing, h *hostagent.Settings) keys.Table {
	isGroup := func(k keys.Key) bool { return k.Kind() == schema.Group }
	return slices.DeleteFunc(slices.Concat(settings.Switch(s, b), settings.Host(h)), isGroup)
}

// TestEverySettingIsDrawn generates cases, and fails for a setting that keeps its default in all of them, and for a
// word that none of them has: the planes would never be compared with it.
func TestEverySettingIsDrawn(t *testing.T) {
	s, b, h := switchagent.Default(), topologies.DefaultBalancing(), hostagent.Default()
	defaults := rows(&s, &b, &h)
	missing := map[string]bool{}
	for i := range defaults {
		missing[defaults[i].Name] = true
		for _, word := range defaults[i].Words() {
			missing[defaults[i].Name+": "+word] = true
		}
	}
	for n := range uint64(drawnCases) {
		c := drawCase(fromSeed(1, 2*n), drawFabric(fromSeed(1, 2*n+1)))
		drawn := rows(&c.Switch, &c.Balancing, &c.Host)
		for i := range drawn {
			if drawn[i].Text() != defaults[i].Text() {
				delete(missing, drawn[i].Name)
			}
			delete(missing, drawn[i].Name+": "+drawn[i].Text())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("%s: not drawn in %d cases: draw it in drawSetting by its kind, or by hand in settings_test.go", name,
			drawnCases)
	}
}

// TestDrawnByHandNamesKeys fails for a name that would keep other keys from being drawn by their rows, or that is no
// key's any more.
func TestDrawnByHandNamesKeys(t *testing.T) {
	table := rows(new(switchagent.Settings), new(topologies.Balancing), new(hostagent.Settings))
	for i, name := range drawnByHand {
		if table.Find(name) == nil {
			t.Errorf("%q in drawnByHand: want a key of a switch or host, not a group, a pattern or an unknown name", name)
		}
		if slices.Contains(drawnByHand[:i], name) {
			t.Errorf("%q stands twice in drawnByHand", name)
		}
	}
}
