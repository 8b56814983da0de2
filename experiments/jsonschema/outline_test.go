package jsonschema_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/jsonschema"
)

func TestKeysOf(t *testing.T) {
	for _, c := range []struct {
		kind, path, key string
		required        bool
		below           bool
	}{
		{"scenario", "", "topology", true, true},
		{"scenario", ".", "duration", false, false},
		{"scenario", "switch.pfc", "switch.pfc.xoff", false, false},
		{"scenario", "flows", "flows.size", true, false}, // of a list's elements
		{"topology", "star", "star.hosts", true, false},
		{"sweep", "sweep", "sweep.seeds", false, false},
	} {
		keys, err := jsonschema.KeysOf(c.kind, c.path)
		at := slices.IndexFunc(keys, func(k jsonschema.Key) bool { return k.Path == c.key })
		if err != nil || at < 0 {
			t.Errorf("%s %q: %v, %v; want %s", c.kind, c.path, keys, err, c.key)
			continue
		}
		if k := keys[at]; k.Meaning == "" || k.Required != c.required || (k.Below > 0) != c.below {
			t.Errorf("%s %q: %+v", c.kind, c.path, k)
		}
	}
	for path, want := range map[string]string{
		"swich": `scenario has no key "swich" (it has: cc, `, "switch.pcf": `switch has no key "pcf" (it has: `,
		"duration.x": `duration has no key "x"`,
	} {
		if _, err := jsonschema.KeysOf("scenario", path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	if _, err := jsonschema.KeysOf("scenaro", ""); err == nil {
		t.Error("keys of no kind")
	}
}
