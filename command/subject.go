package command

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/machine"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/clab"
	"github.com/pausenet/pausenet/topologies/spec"
)

// subject represents what a NAME or FILE refers to: a scenario, which has a topology, or only a topology.
type subject struct {
	scenario *scenario.Scenario // nil if it is a topology
	topology *topologies.Plan
	source   []byte
	imported *clab.Topology // from a file of containerlab; nil otherwise
}

// source holds the text of a NAME or FILE.
type source struct {
	filename string // for messages; its folder is the base of relative paths in the text
	data     []byte
	scenario bool
	imported *clab.Topology
}

// read returns a built-in's text, or reads a file or stream once. Scenarios take precedence over topologies. The
// keys of a file decide its kind.
func read(nameOrPath string) (*source, error) {
	if data, err := scenario.BuiltinSource(nameOrPath); err == nil {
		return &source{filename: nameOrPath + ".yaml", data: data, scenario: true}, nil
	}
	if data, err := spec.BuiltinSource(nameOrPath); err == nil {
		return &source{filename: nameOrPath + ".yaml", data: data}, nil
	}
	if data, err := scenario.BuiltinSweepSource(nameOrPath); err == nil {
		return &source{filename: nameOrPath, data: data, scenario: true}, nil // the scenario's reader reports that it is none
	}
	filename, data, err := scenario.ReadSpec(nameOrPath)
	if os.IsNotExist(err) {
		return nil, badInput(fmt.Errorf("no built-in or file %q%s (list the built-ins with \"pausenet list\")", nameOrPath,
			spelling.Suggest(nameOrPath, builtinNames())))
	}
	if err != nil {
		return nil, badInput(err)
	}
	if clab.Is(filename) {
		t, err := clab.Convert(filename, data)
		if err != nil {
			return nil, badInput(err)
		}
		return &source{filename: filename, data: []byte(t.Text), imported: t}, nil
	}
	return &source{filename: filename, data: data, scenario: isScenario(data)}, nil
}

// load reads and resolves a NAME or FILE.
func load(nameOrPath string, sets []string) (*subject, error) {
	s, err := read(nameOrPath)
	if err != nil {
		return nil, err
	}
	return s.parse(sets)
}

func (from *source) parse(sets []string, controllers ...string) (*subject, error) {
	s := &subject{source: from.data, imported: from.imported}
	var err error
	switch {
	case from.scenario:
		reading := scenario.Reading{Memory: machine.AvailableMemory(), Sets: sets, Controllers: controllers}
		if s.scenario, err = reading.Parse(from.filename, from.data); err == nil {
			s.topology = s.scenario.Topology
		}
	case len(sets) > 0:
		err = fmt.Errorf("%s is a topology: --set applies only to scenarios", from.filename)
	default:
		if s.topology, err = spec.Parse(from.filename, from.data); from.imported != nil {
			err = from.imported.Located(err)
		}
	}
	if err != nil {
		return nil, badInput(err)
	}
	return s, nil
}

// isScenario reports whether data has keys of a scenario rather than a topology. A sweep counts as a scenario, whose
// reader reports the mistake.
func isScenario(data []byte) bool {
	root := new(yamlspec.Report).Parse("", data)
	return slices.ContainsFunc([]string{
		"flows", "workloads", "topology", "routing", "duration", "switch", "host",
		"controllers", "report", "sweep",
	}, root.Has)
}

// builtinNames returns the names of all built-ins.
func builtinNames() []string {
	return slices.Concat(scenario.BuiltinNames(), scenario.BuiltinSweepNames(), spec.BuiltinNames())
}

// completeScenarios completes built-in scenarios and files.
func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return scenario.BuiltinNames(), cobra.ShellCompDirectiveDefault
}

// completeSubjects completes built-ins and files.
func completeSubjects(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return builtinNames(), cobra.ShellCompDirectiveDefault
}

// isFolder reports whether an argument is a folder of results. A built-in's name takes precedence, as in run.
func isFolder(name string) bool {
	_, err := scenario.BuiltinSource(name)
	info, statErr := os.Stat(name)
	return err != nil && statErr == nil && info.IsDir()
}
