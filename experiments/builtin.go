package experiments

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/yamlspec"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// BuiltinNames are the names of the scenarios that come with the program, sorted.
func BuiltinNames() []string {
	entries, err := builtin.ReadDir("builtin")
	if err != nil {
		panic(err) // They are compiled in.
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	slices.Sort(names)
	return names
}

// BuiltinSource is a built-in scenario as its author wrote it.
func BuiltinSource(name string) ([]byte, error) {
	data, err := builtin.ReadFile(path.Join("builtin", name+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("no built-in scenario %q%s", name, yamlspec.Suggest(name, BuiltinNames()))
	}
	return data, nil
}
