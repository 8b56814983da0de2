package scenario

import (
	"embed"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/internal/files"
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

// BuiltinNames returns the names of the built-in scenarios, sorted.
func BuiltinNames() []string { return library.Names() }

// BuiltinSource returns the file of a built-in scenario.
func BuiltinSource(name string) ([]byte, error) { return library.Source(name) }

// BuiltinSweepNames returns the names of the built-in sweeps, sorted.
func BuiltinSweepNames() []string { return sweepLibrary.Names() }

// BuiltinSweepSource returns the file of a built-in sweep.
func BuiltinSweepSource(name string) ([]byte, error) { return sweepLibrary.Source(name) }

// Recipe holds the files and settings from which a scenario was read, enough to read it again on another machine.
type Recipe struct {
	File     string   `json:"file"` // of the scenario, among Sources
	Quick    bool     `json:"quick,omitempty"`
	Settings []string `json:"set,omitempty"` // of --set
	// controller files that the user named beside the scenario
	Controllers []string       `json:"controllers,omitempty"`
	Sources     []files.Source `json:"sources"` // only after Written

	sources *files.Sources
}

// Written returns the recipe with all sources that were read so far.
func (r *Recipe) Written() *Recipe {
	if r == nil {
		return nil
	}
	w := *r
	w.Sources = r.sources.List()
	return &w
}

// Load reads the scenario again from a recipe that Written returned. It reads no other files, except those that were
// too large to store; it fails if one of them has changed.
func (r *Recipe) Load() (*Scenario, error) {
	sources := files.Recorded(r.Sources)
	data, err := sources.Read(r.File, yamlspec.SpecFile)
	if err != nil {
		return nil, fmt.Errorf("the scenario: %w", err)
	}
	return Reading{Quick: r.Quick, Sets: r.Settings, Controllers: r.Controllers, Sources: sources}.Parse(r.File, data)
}

// Without returns the scenario without one of the user's settings.
func (s *Scenario) Without(set string) (*Scenario, error) {
	own := s.Recipe.Written()
	own.Settings = slices.DeleteFunc(slices.Clone(own.Settings), func(of string) bool { return of == set })
	return own.Load()
}
