package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/scenario/sonic"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/topologies/clab"
	"github.com/pausenet/pausenet/topologies/spec"
)

func newImportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "import hpcc|sonic|clab",
		Short: "Import files of HPCC's simulator, a SONiC switch or containerlab",
		Long: `Make a scenario from files of HPCC's simulator, or from a SONiC switch's
configuration, or a topology from containerlab's.`,
		Example: `  pausenet import hpcc --topology mix/fat.txt --flow mix/flow.txt --out fat.yaml
  pausenet import sonic config_db.json --lookup pg_profile_lookup.ini
  pausenet import clab lab.clab.yml --out lab.yaml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newImportHPCCCommand(), newImportSONiCCommand(), newImportClabCommand())
	return c
}

func newImportHPCCCommand() *cobra.Command {
	var (
		h          scenario.HPCCImport
		load, span string
		out        importOutput
	)
	c := &cobra.Command{
		Use:   "hpcc --topology FILE (--flow FILE | --cdf FILE)",
		Short: "Make a scenario from files of HPCC's simulator",
		Long: `Write a scenario with the topology and the flows of HPCC's simulator. With
--cdf, draw the flows from a distribution of sizes, as its traffic_gen.py
does. The scenario refers to the files, so keep them: each run reads them.
With "pausenet run --export hpcc" the results are also written in the
simulator's format.`,
		Example: `  pausenet import hpcc --topology mix/fat.txt --flow mix/flow.txt --out fat.yaml
  pausenet import hpcc --topology mix/fat.txt --cdf FbHdp_distribution.txt \
      --load 0.3 --time 10ms --out hadoop.yaml
  pausenet run fat.yaml --export hpcc`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case h.Topology == "":
				return badInput(errors.New("--topology FILE is required"))
			case (h.Flows == "") == (h.CDF == ""):
				return badInput(errors.New("--flow FILE or --cdf FILE is required"))
			}
			for _, name := range []string{"load", "time"} {
				if h.CDF == "" && c.Flags().Changed(name) {
					return badInput(fmt.Errorf("--%s has no effect without --cdf: --flow %s has the flows' arrival times", name,
						h.Flows))
				}
			}
			if err := errors.Join(h.SetLoad(load), h.SetTime(span)); err != nil {
				return badInput(err)
			}
			for _, input := range []struct{ flag, name string }{{"topology", h.Topology}, {"flow", h.Flows}, {"cdf", h.CDF}} {
				if _, err := os.Stat(input.name); input.name != "" && err != nil {
					return badInput(fmt.Errorf("--%s: %w", input.flag, err))
				}
				if out.is(input.name) {
					return badInput(fmt.Errorf("--out %s is one of the input files (write to another)", out))
				}
			}
			text, err := h.Scenario(out.folder())
			if err != nil {
				return badInput(err)
			}
			if err := out.check(text); err != nil {
				return badInput(fmt.Errorf("cannot make a scenario from these files; nothing written\n%w", err))
			}
			return out.write(c, text)
		},
	}
	c.Flags().StringVar(&h.Topology, "topology", "", "topology `file`, such as mix/fat.txt")
	c.Flags().StringVar(&h.Flows, "flow", "", "flow `file`, such as mix/flow.txt")
	c.Flags().StringVar(&h.CC, "cc", "dcqcn", "congestion `controller` of run.py, which decides marking and whether "+
		"paused hosts send ACKs: "+strings.Join(scenario.HPCCControls(), ", "))
	completeController(c, func([]string) []string { return scenario.HPCCControls() })
	c.Flags().StringVar(&h.CDF, "cdf", "",
		"`file` with a size distribution, such as traffic_gen/WebSearch_distribution.txt")
	c.Flags().StringVar(&load, "load", "0.3",
		"with --cdf, the offered load as a `share` of the hosts' bandwidth, such as 0.3 or 30%")
	c.Flags().StringVar(&span, "time", "10ms", "with --cdf, the virtual `time` in which flows arrive")
	completeNothing(c, "load", "time")
	out.flag(c)
	return c
}

// importOutput holds the name of the file to write; "" or - is standard output.
type importOutput string

func (o *importOutput) flag(c *cobra.Command) {
	c.Flags().StringVar((*string)(o), "out", "", "output `file` (default: standard output)")
}

func (o importOutput) standard() bool { return o == "" || o == "-" }

// folder returns the folder from which the text refers to other files.
func (o importOutput) folder() string {
	if o.standard() {
		return "."
	}
	return filepath.Dir(string(o))
}

// is reports whether a name refers to the output, which exists.
func (o importOutput) is(name string) bool {
	x, errX := os.Stat(string(o))
	y, errY := os.Stat(name)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// input returns an error if the only input is also the output.
func (o importOutput) input(name string) error {
	if o.is(name) {
		return badInput(fmt.Errorf("--out %s is the input file (write to another)", o))
	}
	return nil
}

// check returns an error unless the text is a scenario that can run.
func (o importOutput) check(text string) error {
	s, err := scenario.Parse(filepath.Join(o.folder(), "import.yaml"), []byte(text), nil)
	if err == nil {
		err = scenario.Check(s, s.Controllers)
	}
	return err
}

func (o importOutput) write(c *cobra.Command, text string) error {
	if o.standard() {
		_, err := io.WriteString(c.OutOrStdout(), text)
		return err
	}
	return writeError(files.WriteWhole(string(o), []byte(text)))
}

func newImportSONiCCommand() *cobra.Command {
	var (
		lookup, topology, port string
		out                    importOutput
	)
	c := &cobra.Command{
		Use:   "sonic CONFIG_DB",
		Short: "Make a scenario from a SONiC switch's config_db.json",
		Long: `Read buffers, PFC, its watchdog, ECN and schedulers from a SONiC switch's
configuration, and write a scenario: one switch with a host at each port or,
with --topology, that topology with these settings on all its switches.
import warns of settings without an equivalent.

In pausenet all ports of a switch have the same settings. If the
configuration's ports differ, import uses the largest group of equal ports, or
the group of --port. It skips ports with no lossless profile, or with several,
and warns of them.

Most configurations leave the lossless profiles to the platform. --lookup
names the platform's pg_profile_lookup.ini.`,
		Example: `  pausenet import sonic config_db.json --lookup pg_profile_lookup.ini \
      --out switch.yaml
  pausenet import sonic config_db.json --topology leafspine --port Ethernet8
  pausenet check headroom switch.yaml --response 2us`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.input(args[0]); err != nil {
				return err
			}
			text, notes, err := importSONiC(args[0], lookup, topology, port, out)
			if err != nil {
				return badInput(err)
			}
			writeWarnings(c.ErrOrStderr(), args[0], notes)
			return out.write(c, text)
		},
	}
	c.Flags().StringVar(&lookup, "lookup", "", "the platform's pg_profile_lookup.ini `file`")
	c.Flags().StringVar(&topology, "topology", "",
		"apply the settings to the switches of this topology, a built-in's `name` or a file")
	c.Flags().StringVar(&port, "port", "",
		"import the ports with the same settings as this `port` (default: the largest group)")
	out.flag(c)
	completeNothing(c, "port")
	return c
}

// sonicFile limits the size of any file of a SONiC switch.
var sonicFile = files.Kind{Name: "a file of a SONiC switch", Most: 64 << 20}

// importSONiC returns the text of a scenario that can run.
func importSONiC(
	name, lookup, topology, port string, out importOutput,
) (text string, notes []string, err error) {
	within := func(file string, err error) error {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%s: %w", file, err)
	}
	data, err := files.Input(name, sonicFile)
	if err != nil {
		return "", nil, err
	}
	config, err := sonic.Parse(data)
	if err != nil {
		return "", nil, within(name, err)
	}
	var profiles sonic.Lookup
	if lookup != "" {
		if data, err = files.Input(lookup, sonicFile); err == nil {
			profiles, err = sonic.ParseLookup(data)
			err = within(lookup, err)
		}
		if err != nil {
			return "", nil, err
		}
	}
	groups, left, err := config.Switches(profiles)
	if err != nil {
		return "", nil, within(name, err)
	}
	chosen := groups[0]
	if port != "" {
		for _, u := range left {
			if u.Port.Name == port {
				return "", nil, within(name, u)
			}
		}
		if chosen = sonic.GroupOf(groups, port); chosen == nil {
			return "", nil, fmt.Errorf("--port %s: %s has no such port, or the port is down", port, name)
		}
	}
	if topology != "" {
		if _, err := os.Stat(topology); err == nil { // the scenario refers to it from its own folder
			if topology, err = relative(out.folder(), topology); err != nil {
				return "", nil, err
			}
		}
	}
	called := cmp.Or(config.Name, "sonic")
	text, notes = chosen.Scenario(filepath.Base(name), called, topology)
	notes = append(append(notes, sonic.Others(groups, chosen)...), sonic.LeftOut(left)...)
	if err := out.check(text); err != nil {
		return "", nil, fmt.Errorf("%s: cannot make a scenario from this file; nothing written\n%w", name, err)
	}
	return text, notes, nil
}

// relative returns a file's path relative to a folder.
func relative(folder, file string) (string, error) {
	from, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	return filepath.Rel(from, to)
}

func newImportClabCommand() *cobra.Command {
	var out importOutput
	c := &cobra.Command{
		Use:   "clab FILE",
		Short: "Make a topology from containerlab's .clab.yml",
		Long: `Read a topology file of containerlab and write a topology for pausenet: nodes,
links, binds, exec, env and ports, after defaults, kinds and groups are applied.
Nodes of kind linux become hosts, unless their image is a router (FRR, BIRD and
so on). All other nodes become switches. A warning names each key without an
equivalent, and says what to do instead.

"pausenet up FILE.clab.yml" imports the file itself.`,
		Example: `  pausenet import clab lab.clab.yml --out lab.yaml
  sudo pausenet up lab.clab.yml`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.input(args[0]); err != nil {
				return err
			}
			data, err := files.Input(args[0], files.Kind{Name: "a topology file of containerlab", Most: 16 << 20})
			if err != nil {
				return badInput(err)
			}
			t, err := clab.Convert(args[0], data)
			if err == nil {
				_, err = spec.Parse(args[0], []byte(t.Text))
				err = t.Located(err)
			}
			if err != nil {
				return badInput(err)
			}
			writeWarnings(c.ErrOrStderr(), args[0], t.Notes)
			return out.write(c, t.Text)
		},
	}
	out.flag(c)
	return c
}
