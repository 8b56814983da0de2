package session

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/experiments/scenario"
)

// Examples lists files to start from.
type Examples struct {
	Scenarios   []Example  `json:"scenarios"`   // the built-ins
	Controllers []Example  `json:"controllers"` // in Starlark
	Exercises   []Exercise `json:"exercises"`
}

// Example represents a file.
type Example struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Text        string `json:"text"`
	HasQuick    bool   `json:"has_quick"` // only for scenarios
	// Recordings lists files with the replays of its runs, by controller; empty for most.
	Recordings []string `json:"recordings,omitempty"`
}

// FindExamples returns the built-in scenarios, and the controllers in a folder.
func FindExamples(controllers string) (*Examples, error) {
	all := &Examples{}
	for _, name := range scenario.BuiltinNames() {
		text, err := scenario.BuiltinSource(name)
		if err != nil {
			return nil, err
		}
		s, err := scenario.Reading{Count: true}.Parse(name+".yaml", text)
		if err != nil {
			return nil, fmt.Errorf("built-in %s: %w", name, err)
		}
		all.Scenarios = append(all.Scenarios, Example{
			Name: name, Description: s.Description, Text: string(text),
			HasQuick: s.HasQuick,
		})
	}
	files, err := filepath.Glob(filepath.Join(controllers, "*.star"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		spec, err := controllerfile.Read(file)
		if err != nil {
			return nil, err
		}
		all.Controllers = append(all.Controllers, Example{
			Name: controllerfile.Name(file), Description: spec.Summary,
			Text: string(text),
		})
	}
	all.Exercises, err = exercises()
	return all, err
}
