package experiments

import "github.com/pausenet/pausenet/internal/yamlspec"

// quickSuffix is what a scenario's name gets when it runs in its quick form, so that its results do not take the place of
// the full ones.
const quickSuffix = "-quick"

// applyQuick changes the places that the scenario names under "quick", each by its path as --set does: its quick form, of
// the same shape and over within a minute. A scenario without is quick enough as it is.
func applyQuick(root *yamlspec.Value, dir string) *yamlspec.Value {
	changed := root
	root.Mapping().Get("quick").Mapping().All(func(path, value *yamlspec.Value) {
		changed = reachTopology(changed, dir, path.Raw()).Change(path, value)
	})
	return changed
}
