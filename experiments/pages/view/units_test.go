package view_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/units"
)

// TestUnitsOfPages: pages spell units as the program does.
func TestUnitsOfPages(t *testing.T) {
	script, err := os.ReadFile("page/format.js")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]units.Unit{"rates": units.Rates, "sizes": units.Sizes, "times": units.Times} {
		list := regexp.MustCompile(`const ` + name + ` = (.*);`).FindSubmatch(script)
		if list == nil {
			t.Errorf("format.js has no %s", name)
			continue
		}
		var pairs [][2]any
		if err := json.Unmarshal(list[1], &pairs); err != nil {
			t.Fatal(name, err)
		}
		var got []units.Unit
		for _, p := range pairs {
			got = append(got, units.Unit{Name: p[0].(string), Size: p[1].(float64)})
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s of format.js are %v, want %v", name, got, want)
		}
	}
}
