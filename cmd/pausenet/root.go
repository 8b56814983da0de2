package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// commands make the verbs, in the order that help lists them. A verb is one file and one line here.
var commands = []func() *cobra.Command{
	newRunCommand,
	newSweepCommand,
	newListCommand,
	newShowCommand,
	newValidateCommand,
	newGraphCommand,
	newImportCommand,
	newTrainCommand,
	newBenchCommand,
	newDoctorCommand,
	newCleanCommand,
	newSweepPointCommand,
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "pausenet",
		Short: "Lossless data-center fabrics on one machine, in virtual time",
		Long: `pausenet is Mininet for lossless data-center fabrics. It builds a fabric of switches
and RDMA NICs on one machine, with real frames in real eBPF pipelines, and runs
incast and congestion-control experiments on it in virtual time: the same scenario
and seed give the same results, byte for byte, on any machine.`,
		// main prints errors, without the usage text: a mistake in a file is not a question about flags.
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	var config string
	root.PersistentFlags().StringVar(&config, "config", "", "configuration file (default: pausenet/config.yaml in the user's configuration folder)")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return applyConfiguration(c, config) }
	cobra.EnableCommandSorting = false
	for _, command := range commands {
		root.AddCommand(command())
	}
	return root
}

// formatFlag adds -f to a command that can print JSON.
func formatFlag(c *cobra.Command, format *string) {
	c.Flags().StringVarP(format, "format", "f", "text", "output format: text or json")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

// checkFormat refuses formats that there are not.
func checkFormat(format string) error {
	if format != "text" && format != "json" {
		return badInput(fmt.Errorf("format %q: text or json", format))
	}
	return nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
