package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// Completions of flags. A flag that takes a value completes to files unless a function here registers something else.
// TestFlagsComplete lists the flags that should complete to files.

// planes lists the values of --plane.
var planes = []string{"auto", plane.Kernel, plane.Wasm}

// completeBy completes a flag by a function. Cobra keeps every function until the process ends, so completeBy does
// nothing in serve, which builds the commands for each request.
func completeBy(c *cobra.Command, flag string, words cobra.CompletionFunc) {
	if !serving {
		_ = c.RegisterFlagCompletionFunc(flag, words)
	}
}

// completeFlag completes a flag to the given words.
func completeFlag(c *cobra.Command, flag string, words ...string) {
	completeBy(c, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// completeNothing stops flags with free-form values from completing to files.
func completeNothing(c *cobra.Command, flags ...string) {
	for _, flag := range flags {
		completeBy(c, flag, cobra.NoFileCompletions)
	}
}

// completeFolders completes folders.
var completeFolders = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)

// completeFolder completes a flag to folders.
func completeFolder(c *cobra.Command, flag string) {
	completeBy(c, flag, completeFolders)
}

// completeList completes a flag to a comma-separated list of distinct words. words receives the command's arguments.
func completeList(c *cobra.Command, flag string, words func(args []string) []string) {
	completeBy(c, flag, func(
		_ *cobra.Command, args []string, prefix string,
	) ([]string, cobra.ShellCompDirective) {
		end := strings.LastIndexByte(prefix, ',') + 1
		chosen := strings.Split(prefix[:end], ",")
		var lists []string
		for _, word := range words(args) {
			if !slices.Contains(chosen, word) {
				lists = append(lists, prefix[:end]+word)
			}
		}
		return lists, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// completeController completes --cc to one of the words. words receives the command's arguments.
func completeController(c *cobra.Command, words func(args []string) []string) {
	completeBy(c, "cc", func(
		_ *cobra.Command, args []string, _ string,
	) ([]string, cobra.ShellCompDirective) {
		return words(args), cobra.ShellCompDirectiveNoFileComp
	})
}

// always returns a function that returns words for any arguments.
func always(words []string) func([]string) []string { return func([]string) []string { return words } }

// scenarioNamed returns the first scenario that a command line names, or nil.
func scenarioNamed(args []string) *scenario.Scenario {
	if len(args) == 0 || files.IsStream(args[0]) { // only the command itself may read a stream
		return nil
	}
	s, err := scenario.Load(args[0], nil)
	if err != nil {
		return nil
	}
	return s
}

// controllerWords returns the congestion controllers, and the scenario's variants.
func controllerWords(args []string) []string {
	var words []string
	if s := scenarioNamed(args); s != nil {
		for i := range s.Variants {
			words = append(words, s.Variants[i].Name)
		}
	}
	for _, name := range cc.Names() {
		if !slices.Contains(words, name) {
			words = append(words, name)
		}
	}
	return words
}

// portWords returns the scenario's ports.
func portWords(args []string) (words []string) {
	if s := scenarioNamed(args); s != nil {
		for i := range s.Topology.Ports {
			words = append(words, scenario.PortLabel(s.Topology, s.Topology.Ports[i].ID))
		}
		slices.Sort(words)
		words = slices.Compact(words) // parallel links
	}
	return words
}

// settingWords returns the settings of switches and hosts, as --set spells them.
func settingWords() (words []string) {
	sw, balancing, host := switchagent.Default(), topologies.DefaultBalancing(), settings.DefaultHost()
	for group, table := range map[string]keys.Table{
		"switch.": settings.Switch(&sw, &balancing), "host.": settings.Host(&host),
	} {
		for i := range table {
			words = append(words, group+table[i].Name+"=")
		}
	}
	slices.Sort(words)
	return words
}
