package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/scenario"
)

// atMostOne returns an error if more than one of the flags is given.
func atMostOne(c *cobra.Command, names ...string) error {
	var given []string
	for _, name := range names {
		if c.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) > 1 {
		return badInput(fmt.Errorf("%s: use only one of them", strings.Join(given, " and ")))
	}
	return nil
}

// excludes returns an error if a flag and one of the others are given.
func excludes(c *cobra.Command, flag string, others ...string) error {
	for _, other := range others {
		if err := atMostOne(c, flag, other); err != nil {
			return err
		}
	}
	return nil
}

// needs returns an error if a flag is given without the one that gives it an effect.
func needs(c *cobra.Command, flag, other string) error {
	f := c.Flags().Lookup(flag)
	if _, configured := f.Annotations[configuredFlag]; f.Changed && !configured && !c.Flags().Changed(other) {
		return badInput(fmt.Errorf("--%s has an effect only with --%s (add it, or leave --%[1]s out)", flag, other))
	}
	return nil
}

// notEmpty returns an error if a flag for a folder or name has an empty value.
func notEmpty(c *cobra.Command, flag string) error {
	if f := c.Flags().Lookup(flag); f.Changed && strings.TrimSpace(f.Value.String()) == "" {
		return badInput(fmt.Errorf("--%s is empty (give it a value, or leave it out)", flag))
	}
	return nil
}

// Flags that several commands share.

func controllersFlag(c *cobra.Command, names *[]string) {
	c.Flags().StringSliceVar(names, "cc", nil, "congestion controllers or variants, separated by commas: `names`, files "+
		"such as ./mine.star, or all (default: the scenario's)")
	completeList(c, "cc", func(args []string) []string { return append(controllerWords(args), scenario.AllControllers) })
}

// planeFlag adds --plane. both is bothPlanes for commands that take it, or nothing.
func planeFlag(c *cobra.Command, plane *string, both ...string) {
	usage := "`plane` to run the pipelines on: wasm, kernel (slower, needs root), or auto (wasm); results are equal"
	if len(both) > 0 {
		usage += "; both: compare these"
	}
	c.Flags().StringVar(plane, "plane", "auto", usage)
	completeFlag(c, "plane", slices.Concat(planes, both)...)
}

func setFlag(c *cobra.Command, sets *[]string) {
	c.Flags().StringArrayVar(sets, "set", nil, "change a key of the scenario: `path=value`; repeatable")
	completeBy(c, "set", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return settingWords(), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// figuresFlag adds --figures to a command that writes pages with plots.
func figuresFlag(c *cobra.Command, formats *[]string) {
	c.Flags().StringSliceVar(formats, "figures", nil,
		"also write each plot as a file, in these `formats`: "+strings.Join(results.FigureFormats, ", ")+
			" (all if none is given)")
	c.Flags().Lookup("figures").NoOptDefVal = strings.Join(results.FigureFormats, ",")
	completeList(c, "figures", always(results.FigureFormats))
}
