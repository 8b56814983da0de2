package scenario

import (
	"embed"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/hostagent/cc"
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

// BuiltinNames are the names of the scenarios that come with the program, sorted.
func BuiltinNames() []string { return library.Names() }

// BuiltinSource is a built-in scenario as its author wrote it.
func BuiltinSource(name string) ([]byte, error) { return library.Source(name) }

// BuiltinSweepNames are the names of the sweeps that come with the program, sorted.
func BuiltinSweepNames() []string { return sweepLibrary.Names() }

// BuiltinSweepSource is a built-in sweep as its author wrote it.
func BuiltinSweepSource(name string) ([]byte, error) { return sweepLibrary.Source(name) }

// Recipe is what a scenario was read from: enough to read it again, wherever that is.
type Recipe struct {
	File     string   `json:"file"` // the scenario's, among Sources
	Quick    bool     `json:"quick,omitempty"`
	Settings []string `json:"set,omitempty"` // of --set
	// files of congestion controls that the user gave beside the scenario
	Controllers []string       `json:"controllers,omitempty"`
	Sources     []files.Source `json:"sources"` // of a Recipe that was written out

	sources *files.Sources
}

// Written is the recipe with all that was read so far.
func (r *Recipe) Written() *Recipe {
	if r == nil {
		return nil
	}
	w := *r
	w.Sources = r.sources.List()
	return &w
}

// Load reads the scenario of a recipe that was written out. Nothing else is read, but for files that were too large to
// be kept: an error says which of them have changed.
func (r *Recipe) Load() (*Scenario, error) {
	sources := files.Recorded(r.Sources)
	data, err := sources.Read(r.File, yamlspec.SpecFile)
	if err != nil {
		return nil, fmt.Errorf("the scenario: %w", err)
	}
	return Reading{Quick: r.Quick, Sets: r.Settings, Controllers: r.Controllers, Sources: sources}.Parse(r.File, data)
}

// Without returns the scenario as it is without one of the user's settings.
func (s *Scenario) Without(set string) (*Scenario, error) {
	own := s.Recipe.Written()
	own.Settings = slices.DeleteFunc(slices.Clone(own.Settings), func(of string) bool { return of == set })
	return own.Load()
}

// settingFile is a file that a constant names.
var settingFile = files.Kind{Name: "a constant's file", Most: 16 << 20}

// Resolver resolves controllers' constants. Those that name files mean them relative to the working directory.
func (s *Scenario) Resolver() cc.Resolver {
	var sources *files.Sources
	if s.Recipe != nil {
		sources = s.Recipe.sources
	}
	return cc.Resolver{ReadFile: func(path string) ([]byte, error) {
		data, err := sources.Read(path, settingFile)
		if err != nil && !files.IsRefused(err) {
			err = fmt.Errorf("%w (a relative path is relative to the working directory)", err)
		}
		return data, err
	}}
}
