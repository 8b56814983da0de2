package scenario

import (
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/internal/yamlspec"
)

// quickSuffix is what a scenario's name gets when it runs in its quick form, so that its results do not take the place
// of the full ones.
const quickSuffix = "-quick"

// applyQuick changes the places that the scenario names under "quick", each by its path as --set does: its quick form,
// of the same shape and over within a minute. A scenario without is quick enough as it is.
func applyQuick(root *yamlspec.Value, dir string) *yamlspec.Value {
	changed := root
	root.Mapping().Get("quick").Mapping().All(func(path, value *yamlspec.Value) {
		changed = ReachTopology(changed, dir, path.Raw()).Change(path, value)
	})
	return changed
}

// refuseQuickSetting reports a setting of --set that goes into the quick form: its keys are paths themselves, and it
// has been applied before --set.
func refuseQuickSetting(root *yamlspec.Value, setting string) bool {
	path, value, _ := strings.Cut(setting, "=")
	word, rest, _ := strings.Cut(strings.TrimSpace(path), ".")
	if word != "quick" {
		return false
	}
	if rest == "" {
		rest = "path"
	}
	root.Report().Parse(yamlspec.SettingName, []byte(setting)).Errorf(
		"quick is what --quick changes, before --set does: set the place itself, as --set %s=%s", rest, value)
	return true
}

// quickError says that mistakes are in a scenario's quick form, which are not where its keys are.
func quickError(filename string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s in its quick form, which is with what quick changes:\n%w", filename, err)
}
