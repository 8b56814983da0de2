package experiments

import (
	"embed"

	"github.com/pausenet/pausenet/internal/yamlspec"
)

//go:embed builtin/*.yaml
var builtin embed.FS

var library = yamlspec.Library{Files: builtin, Kind: "scenario"}

// BuiltinNames are the names of the scenarios that come with the program, sorted.
func BuiltinNames() []string { return library.Names() }

// BuiltinSource is a built-in scenario as its author wrote it.
func BuiltinSource(name string) ([]byte, error) { return library.Source(name) }
