package scenario

import (
	"embed"

	"github.com/pausenet/pausenet/internal/yamlspec"
)

//go:embed builtin/*.yaml
var builtin embed.FS

//go:embed builtin/sweeps/*.yaml
var builtinSweeps embed.FS

var (
	library      = yamlspec.Library{Files: builtin, Folder: "builtin", Kind: "scenario"}
	sweepLibrary = yamlspec.Library{Files: builtinSweeps, Folder: "builtin/sweeps", Kind: "sweep"}
)

// BuiltinNames are the names of the scenarios that come with the program, sorted.
func BuiltinNames() []string { return library.Names() }

// BuiltinSource is a built-in scenario as its author wrote it.
func BuiltinSource(name string) ([]byte, error) { return library.Source(name) }

// BuiltinSweepNames are the names of the sweeps that come with the program, sorted.
func BuiltinSweepNames() []string { return sweepLibrary.Names() }

// BuiltinSweepSource is a built-in sweep as its author wrote it.
func BuiltinSweepSource(name string) ([]byte, error) { return sweepLibrary.Source(name) }
