package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/scenario"
)

// commands make the verbs, in the order that help lists them. A verb is one file and one line here.
var commands = []func() *cobra.Command{
	newRunCommand,
	newRerunCommand,
	newSweepCommand,
	newWorkerCommand,
	newReportCommand,
	newWhyCommand,
	newViewCommand,
	newBoundCommand,
	newListCommand,
	newShowCommand,
	newValidateCommand,
	newSchemaCommand,
	newGraphCommand,
	newImportCommand,
	newCheckCommand,
	newCCCommand,
	newLabCommand,
	newTrainCommand,
	newBenchCommand,
	newDoctorCommand,
	newCleanCommand,
	newVersionCommand,
	newSweepPointCommand,
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "pausenet",
		Short: "Lossless data-center fabrics on one machine, in virtual time",
		// What a bug report needs; manifests have it too.
		Version: version(),
		Long: `pausenet is Mininet for lossless data-center fabrics. It builds a fabric of switches
and RDMA NICs on one machine, with real frames in real eBPF pipelines, and runs
incast and congestion-control experiments on it in virtual time: the same scenario
and seed give the same results, byte for byte, on any machine.

Flags may also come from the environment (PAUSENET_OUT for --out) or from a YAML file
(--config). Exit codes: 0 fine; 1 a run is broken, or it was interrupted, or a line
of a shell's input failed; 2 usage or a mistake in a file; 3 the environment, such as no
root or no space. exec has the program's; run --watch has 130 after Ctrl-C and 143 after
SIGTERM.`,
		Example: `  pausenet run incast                    a run of a millisecond, under PFC and DCQCN
  pausenet list                          the scenarios and topologies that come with it
  pausenet list --cc                     the congestion controls
  pausenet show incast --source > mine.yaml && pausenet run mine.yaml --cc dcqcn,dcon`,
		// main prints errors, without the usage text: a mistake in a file is not a question about flags.
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(c *cobra.Command, _ []string) error { return runBare(c) },
	}
	root.SetVersionTemplate(versionTemplate)
	root.SetFlagErrorFunc(flagError)
	root.Args = unknownCommand
	var config string
	root.PersistentFlags().StringVar(&config, "config", "", "configuration `file` (default: pausenet/config.yaml in the user's configuration folder)")
	_ = root.MarkPersistentFlagFilename("config", "yaml", "yml")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return applyConfiguration(c, config) }
	cobra.EnableCommandSorting = false
	for i, command := range append(liveCommands, commands...) {
		c := command()
		if i >= len(liveCommands) {
			endOnSignals(c)
		}
		withUsage(c)
		root.AddCommand(c)
	}
	return root
}

// atMostOne refuses flags that exclude each other.
func atMostOne(c *cobra.Command, names ...string) error {
	var given []string
	for _, name := range names {
		if c.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) > 1 {
		return badInput(fmt.Errorf("%s: one or the other", strings.Join(given, " and ")))
	}
	return nil
}

// notEmpty refuses a flag that is given without a value where a folder or a name is meant: nothing is named by it.
func notEmpty(c *cobra.Command, flag string) error {
	if f := c.Flags().Lookup(flag); f.Changed && strings.TrimSpace(f.Value.String()) == "" {
		return badInput(fmt.Errorf("--%s is empty: give it a value, or leave it out", flag))
	}
	return nil
}

// The flags that several commands share, each with one text.

func controllersFlag(c *cobra.Command, names *[]string) {
	c.Flags().StringSliceVar(names, "cc", nil, "congestion controls, or variants of the scenario, by `names` separated by commas, files such as ./mine.star, or all (default: the scenario's)")
	completeList(c, "cc", func(args []string) []string { return append(controllerWords(args), scenario.AllControllers) })
}

func planeFlag(c *cobra.Command, plane *string) {
	c.Flags().StringVar(plane, "plane", "auto", "`plane` that the pipelines run on: kernel, wasm, or auto, which is wasm: results are equal, and it is quicker")
	completeFlag(c, "plane", planes...)
}

func setFlag(c *cobra.Command, sets *[]string) {
	c.Flags().StringArrayVar(sets, "set", nil, "change a place of the scenario: `path=value`; may be repeated")
	_ = c.RegisterFlagCompletionFunc("set", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return settingWords(), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// figuresFlag adds --figures to a command that writes pages with plots.
func figuresFlag(c *cobra.Command, formats *[]string) {
	c.Flags().StringSliceVar(formats, "figures", nil, "also write each plot of the page, in `formats`: "+strings.Join(results.FigureFormats, ", ")+"; without a value in all")
	c.Flags().Lookup("figures").NoOptDefVal = strings.Join(results.FigureFormats, ",")
	completeList(c, "figures", always(results.FigureFormats))
}
