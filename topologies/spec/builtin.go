package spec

import (
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
)

var library = yamlspec.Library{Files: topologies.Builtin, Folder: "builtin", Kind: "topology"}

// BuiltinNames returns the names of the built-in topologies, sorted.
func BuiltinNames() []string { return library.Names() }

// BuiltinSource returns the file of a built-in topology.
func BuiltinSource(name string) ([]byte, error) { return library.Source(name) }

// Builtin resolves a built-in topology.
func Builtin(name string) (*topologies.Plan, error) {
	data, err := BuiltinSource(name)
	if err != nil {
		return nil, err
	}
	return Parse(name+".yaml", data)
}
