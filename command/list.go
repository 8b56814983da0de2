package command

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/spf13/cobra"
)

// listing represents the output of "list -o json".
type listing struct {
	Scenarios  []listed      `json:"scenarios,omitempty"`
	Sweeps     []listedSweep `json:"sweeps,omitempty"`
	Topologies []listed      `json:"topologies,omitempty"`
}

type listedSweep struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Scenarios   []string `json:"scenarios"`
}

type listed struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Flows       int    `json:"flows,omitempty"`
	Hosts       int    `json:"hosts"`
	Switches    int    `json:"switches"`
}

func newListCommand() *cobra.Command {
	var (
		format      string
		controllers bool
	)
	c := &cobra.Command{
		Use:   "list [scenarios|sweeps|topologies|--cc [NAME...]]",
		Short: "List built-in scenarios, sweeps, topologies and controllers",
		Long: `List the built-in scenarios, sweeps and topologies. Their names work wherever
a command takes a scenario, sweep or topology. To list one kind only, name it.

With --cc, list the congestion controllers. With --cc NAME or a controller's
file, list its constants, which --set cc.NAME.CONSTANT=VALUE changes.`,
		Example: `  pausenet list
  pausenet list topologies
  pausenet list --cc
  pausenet list --cc dcqcn timely+win
  pausenet list --cc ./mine.star`,
		Args: func(c *cobra.Command, args []string) error {
			if controllers {
				return nil
			}
			if len(args) == 1 && slices.Contains(listKinds, args[0]) {
				return nil
			}
			return cobra.NoArgs(c, args)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if !controllers && len(args) == 0 {
				return listKinds, cobra.ShellCompDirectiveNoFileComp
			}
			if !controllers {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return cc.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			out := c.OutOrStdout()
			if controllers {
				return listControllers(out, args, format)
			}
			l, err := builtins()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				l.keep(args[0])
			}
			return writeResult(out, format, l, l.write)
		},
	}
	formatFlag(c, &format)
	c.Flags().BoolVar(&controllers, "cc", false, "list the congestion controllers, or the constants of those named")
	return c
}

// listControllers lists all congestion controllers, or the named ones with their constants.
func listControllers(w io.Writer, names []string, format string) error {
	specs := make([]*cc.Spec, len(names))
	for i, name := range names {
		var err error
		if controllerfile.Is(name) {
			specs[i], err = controllerfile.Read(name)
		} else {
			specs[i], err = cc.Lookup(name)
		}
		if err != nil {
			return badInput(err)
		}
	}
	switch {
	case structured(format):
		return cc.WriteJSON(w, specs...)
	case len(specs) == 0:
		return cc.WriteTable(people(w))
	}
	for i, spec := range specs {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := spec.WriteTable(people(w)); err != nil {
			return err
		}
	}
	return nil
}

func builtins() (*listing, error) {
	l := &listing{}
	for _, name := range scenario.BuiltinNames() {
		s, err := scenario.Reading{Count: true}.Load(name)
		if err != nil {
			return nil, err
		}
		l.Scenarios = append(l.Scenarios, listed{
			Name: name, Description: s.Description, Flows: s.FlowCount(),
			Hosts: len(s.Topology.Hosts), Switches: len(s.Topology.Switch),
		})
	}
	for _, name := range scenario.BuiltinSweepNames() {
		s, err := sweep.Load(name)
		if err != nil {
			return nil, err
		}
		l.Sweeps = append(l.Sweeps, listedSweep{name, s.Description, s.Scenarios})
	}
	for _, name := range spec.BuiltinNames() {
		p, err := spec.Builtin(name)
		if err != nil {
			return nil, err
		}
		l.Topologies = append(l.Topologies, listed{
			Name: name, Description: p.Description, Hosts: len(p.Hosts), Switches: len(p.Switch),
		})
	}
	return l, nil
}

// The kinds of built-ins that list accepts.
const (
	listScenarios  = "scenarios"
	listSweeps     = "sweeps"
	listTopologies = "topologies"
)

var listKinds = []string{listScenarios, listSweeps, listTopologies}

// keep drops all other kinds.
func (l *listing) keep(kind string) {
	switch kind {
	case listScenarios:
		*l = listing{Scenarios: l.Scenarios}
	case listSweeps:
		*l = listing{Sweeps: l.Sweeps}
	case listTopologies:
		*l = listing{Topologies: l.Topologies}
	}
}

// purpose returns the first sentence of a description.
func purpose(description string) string {
	first, _, _ := strings.Cut(description, ". ")
	return strings.TrimSuffix(first, ".")
}

// write prints the names of each kind with their purposes, one per line.
func (l *listing) write(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	sections := 0
	section := func(kind string, n int, row func(i int) (name, description string)) {
		if n == 0 {
			return
		}
		if sections++; sections > 1 {
			fmt.Fprintln(t, "\t")
		}
		fmt.Fprintf(t, "%s\tPURPOSE\n", kind)
		for i := range n {
			name, description := row(i)
			fmt.Fprintf(t, "%s\t%s\n", name, purpose(description))
		}
	}
	section("SCENARIO", len(l.Scenarios), func(i int) (_, _ string) {
		return l.Scenarios[i].Name, l.Scenarios[i].Description
	})
	section("SWEEP", len(l.Sweeps), func(i int) (_, _ string) { return l.Sweeps[i].Name, l.Sweeps[i].Description })
	section("TOPOLOGY", len(l.Topologies), func(i int) (_, _ string) {
		return l.Topologies[i].Name, l.Topologies[i].Description
	})
	t.Flush()
	fmt.Fprint(w, "\nDetails: pausenet show NAME. Congestion controllers: pausenet list --cc.\n")
}
