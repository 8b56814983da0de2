package scenario

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/internal/yamlspec"
)

// quickSuffix follows a scenario's name in its quick form, so that its results do not replace the full ones.
const quickSuffix = "-quick"

// applyQuick applies the changes that the scenario lists under "quick", by paths as for --set. The quick form has the
// same shape and finishes within a minute. A scenario without it is quick enough.
func applyQuick(root *yamlspec.Value, dir string) *yamlspec.Value {
	changed := root
	root.Mapping().Get("quick").Mapping().All(func(path, value *yamlspec.Value) {
		changed = ReachTopology(changed, dir, path.Raw()).Change(path, value)
	})
	return changed
}

// refuseQuickSetting rejects a --set of a key below quick: those keys are paths themselves, and are applied before
// --set.
func refuseQuickSetting(root *yamlspec.Value, setting string) bool {
	path, value, _ := strings.Cut(setting, "=")
	word, rest, _ := strings.Cut(strings.TrimSpace(path), ".")
	if word != "quick" {
		return false
	}
	rest = cmp.Or(rest, "path")
	root.Report().Parse(yamlspec.SettingName, []byte(setting)).Errorf(
		"quick holds the changes of --quick, which apply before --set: set the place itself, as --set %s=%s", rest, value)
	return true
}

// quickError marks mistakes in a scenario's quick form, whose positions differ from those in the file.
func quickError(filename string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s with its quick changes applied:\n%w", filename, err)
}
