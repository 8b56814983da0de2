package topologies

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

// BuiltinNames are the names of the topologies that come with the program, sorted.
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

// BuiltinSource is the spec of a built-in topology, as its author wrote it.
func BuiltinSource(name string) ([]byte, error) {
	data, err := builtin.ReadFile(path.Join("builtin", name+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("no built-in topology %q%s", name, yamlspec.Suggest(name, BuiltinNames()))
	}
	return data, nil
}

// Builtin resolves a built-in topology.
func Builtin(name string) (*Plan, error) {
	data, err := BuiltinSource(name)
	if err != nil {
		return nil, err
	}
	return Parse(name+".yaml", data)
}
