package command

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/pausenet/pausenet/experiments/ccfile"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/sweep"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/topologies"
	"github.com/spf13/cobra"
)

// listing is what "list -o json" prints.
type listing struct {
	Scenarios  []listed      `json:"scenarios"`
	Sweeps     []listedSweep `json:"sweeps"`
	Topologies []listed      `json:"topologies"`
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
			return cobra.NoArgs(c, args)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
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
			if structured(format) {
				return writeStructured(out, format, l)
			}
			return l.write(out)
		},
	}
	formatFlag(c, &format)
	c.Flags().BoolVar(&controllers, "cc", false, "list the congestion controllers, or the constants of those named")
	return c
}

// listControllers lists all congestion controls, or the named ones with their constants.
func listControllers(w io.Writer, names []string, format string) error {
	specs := make([]*cc.Spec, len(names))
	for i, name := range names {
		var err error
		if ccfile.Is(name) {
			specs[i], err = ccfile.Read(name)
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
		return cc.WriteTable(w)
	}
	for i, spec := range specs {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := spec.WriteTable(w); err != nil {
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
	for _, name := range topologies.BuiltinNames() {
		p, err := topologies.Builtin(name)
		if err != nil {
			return nil, err
		}
		l.Topologies = append(l.Topologies, listed{
			Name: name, Description: p.Description, Hosts: len(p.Hosts), Switches: len(p.Switch),
		})
	}
	return l, nil
}

func (l *listing) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SCENARIO\tHOSTS\tSWITCHES\tFLOWS\tDESCRIPTION")
	for _, s := range l.Scenarios {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s\n", s.Name, s.Hosts, s.Switches, s.Flows, s.Description)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	fmt.Fprintln(t, "SWEEP\tOF\tDESCRIPTION")
	for _, s := range l.Sweeps {
		of := s.Scenarios[0]
		if n := len(s.Scenarios); n > 1 {
			of = fmt.Sprintf("%d scenarios", n)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", s.Name, of, s.Description)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	fmt.Fprintln(t, "TOPOLOGY\tHOSTS\tSWITCHES\tDESCRIPTION")
	for _, p := range l.Topologies {
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\n", p.Name, p.Hosts, p.Switches, p.Description)
	}
	return t.Flush()
}
