package command

import (
	"fmt"
	"os"
	"slices"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/spf13/cobra"
)

// subject is what a user's NAME or FILE means: a scenario, which has a topology, or a topology alone.
type subject struct {
	scenario *scenario.Scenario // nil for a topology
	topology *topologies.Plan
	source   []byte
}

// source is the text behind a user's NAME or FILE.
type source struct {
	filename string // for messages; what it names is relative to its folder
	data     []byte
	scenario bool
}

// read finds a built-in's text, or reads a file's or a stream's, once. Scenarios are found before topologies; a file is
// what its keys say.
func read(nameOrPath string) (*source, error) {
	if data, err := scenario.BuiltinSource(nameOrPath); err == nil {
		return &source{nameOrPath + ".yaml", data, true}, nil
	}
	if data, err := topologies.BuiltinSource(nameOrPath); err == nil {
		return &source{nameOrPath + ".yaml", data, false}, nil
	}
	if data, err := scenario.BuiltinSweepSource(nameOrPath); err == nil {
		return &source{nameOrPath, data, true}, nil // that it is none is for the scenarios' reader to say
	}
	filename, data, err := scenario.ReadSpec(nameOrPath)
	if os.IsNotExist(err) {
		return nil, badInput(fmt.Errorf("%q is neither a built-in nor a file%s: pausenet list has the built-ins", nameOrPath,
			yamlspec.Suggest(nameOrPath, builtinNames())))
	}
	if err != nil {
		return nil, badInput(err)
	}
	return &source{filename, data, isScenario(data)}, nil
}

// load reads and resolves what a user names.
func load(nameOrPath string, sets []string) (*subject, error) {
	s, err := read(nameOrPath)
	if err != nil {
		return nil, err
	}
	return s.parse(sets)
}

func (from *source) parse(sets []string, controllers ...string) (*subject, error) {
	s := &subject{source: from.data}
	var err error
	switch {
	case from.scenario:
		reading := scenario.Reading{Sets: sets, Controllers: controllers}
		if s.scenario, err = reading.Parse(from.filename, from.data); err == nil {
			s.topology = s.scenario.Topology
		}
	case len(sets) > 0:
		err = fmt.Errorf("%s is a topology: --set changes scenarios", from.filename)
	default:
		s.topology, err = topologies.Parse(from.filename, from.data)
	}
	if err != nil {
		return nil, badInput(err)
	}
	return s, nil
}

// isScenario says that data reads like a scenario and not like a topology. Only scenarios have these keys, but for
// sweep: that a sweep is no scenario is for their reader to say.
func isScenario(data []byte) bool {
	root := new(yamlspec.Report).Parse("", data)
	return slices.ContainsFunc([]string{
		"flows", "workloads", "topology", "routing", "duration", "switch", "host",
		"controllers", "report", "sweep",
	}, root.Has)
}

// builtinNames are the names of all that comes with the program.
func builtinNames() []string {
	return slices.Concat(scenario.BuiltinNames(), scenario.BuiltinSweepNames(), topologies.BuiltinNames())
}

// completeSubjects offers the built-ins beside files.
func completeSubjects(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return builtinNames(), cobra.ShellCompDirectiveDefault
}
