package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/pausenet/pausenet/experiments"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/spf13/cobra"
)

// subject is what a user's NAME or FILE means: a scenario, which has a topology, or a topology alone.
type subject struct {
	scenario *experiments.Scenario // nil for a topology
	topology *topologies.Plan
	source   []byte
}

// load resolves a built-in's name or a file's path. Scenarios go before topologies; a file is what its keys say.
func load(nameOrPath string, sets []string) (*subject, error) {
	if data, err := experiments.BuiltinSource(nameOrPath); err == nil {
		return parse(nameOrPath+".yaml", data, true, sets)
	}
	if data, err := topologies.BuiltinSource(nameOrPath); err == nil {
		return parse(nameOrPath+".yaml", data, false, sets)
	}
	data, err := os.ReadFile(nameOrPath)
	if os.IsNotExist(err) {
		names := append(experiments.BuiltinNames(), topologies.BuiltinNames()...)
		return nil, badInput(fmt.Errorf("%q is neither a built-in nor a file%s", nameOrPath, yamlspec.Suggest(nameOrPath, names)))
	}
	if err != nil {
		return nil, badInput(err)
	}
	return parse(nameOrPath, data, isScenario(data), sets)
}

func parse(filename string, data []byte, scenario bool, sets []string) (*subject, error) {
	s := &subject{source: data}
	var err error
	switch {
	case scenario:
		if s.scenario, err = experiments.ParseScenario(filename, data, sets); err == nil {
			s.topology = s.scenario.Topology
		}
	case len(sets) > 0:
		err = fmt.Errorf("%s is a topology: --set changes scenarios", filename)
	default:
		s.topology, err = topologies.Parse(filename, data)
	}
	if err != nil {
		return nil, badInput(err)
	}
	return s, nil
}

// isScenario says that data reads like a scenario and not like a topology. Only scenarios have these keys, but for sweep: that
// a sweep is no scenario is for their reader to say.
func isScenario(data []byte) bool {
	root := new(yamlspec.Report).Parse("", data)
	return slices.ContainsFunc([]string{"flows", "workloads", "topology", "duration", "switch", "host", "controllers", "report", "sweep"}, root.Has)
}

// completeSubjects offers the built-ins beside files.
func completeSubjects(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return append(experiments.BuiltinNames(), topologies.BuiltinNames()...), cobra.ShellCompDirectiveDefault
}
