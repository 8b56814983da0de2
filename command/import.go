package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
)

func newImportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "import hpcc",
		Short:   "Make a scenario of another simulator's files",
		Example: "  pausenet import hpcc --topology mix/fat.txt --flow mix/flow.txt -o fat.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newImportHPCCCommand())
	return c
}

func newImportHPCCCommand() *cobra.Command {
	var (
		h                  scenario.HPCCImport
		load, span, output string
	)
	c := &cobra.Command{
		Use:   "hpcc --topology FILE (--flow FILE | --cdf FILE)",
		Short: "Make a scenario of files of HPCC's simulator",
		Long: `import hpcc writes a scenario that runs a topology file and a flow file of HPCC's
simulator, or, in the place of flows, the ones that its traffic_gen.py would draw from
a distribution of sizes. The files stay where they are and are read when the scenario
is. With run --export hpcc the results are written as the simulator writes them.`,
		Example: `  pausenet import hpcc --topology mix/fat.txt --flow mix/flow.txt -o fat.yaml
  pausenet import hpcc --topology mix/fat.txt --cdf FbHdp_distribution.txt --load 0.3 --time 10ms -o hadoop.yaml
  pausenet run fat.yaml --export hpcc`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case h.Topology == "":
				return badInput(errors.New("--topology FILE is needed"))
			case (h.Flows == "") == (h.CDF == ""):
				return badInput(errors.New("either --flow FILE or --cdf FILE is needed"))
			}
			for _, name := range []string{"load", "time"} {
				if h.CDF == "" && c.Flags().Changed(name) {
					return badInput(fmt.Errorf("--%s goes with --cdf: the flows of --flow %s arrive as the file says", name, h.Flows))
				}
			}
			if err := errors.Join(h.SetLoad(load), h.SetTime(span)); err != nil {
				return badInput(err)
			}
			folder := "."
			if output != "" && output != "-" {
				folder = filepath.Dir(output)
			}
			for _, input := range []struct{ flag, name string }{{"topology", h.Topology}, {"flow", h.Flows}, {"cdf", h.CDF}} {
				if _, err := os.Stat(input.name); input.name != "" && err != nil {
					return badInput(fmt.Errorf("--%s: %w", input.flag, err))
				}
				if sameFile(input.name, output) {
					return badInput(fmt.Errorf("--output %s is one of the files to be read: write to another", output))
				}
			}
			text, err := h.Scenario(folder)
			if err != nil {
				return badInput(err)
			}
			s, err := scenario.Parse(filepath.Join(folder, "import.yaml"), []byte(text), nil)
			if err == nil {
				err = scenario.Check(s, s.Controllers)
			}
			if err != nil {
				return badInput(fmt.Errorf("the files make no scenario that can run; nothing is written\n%w", err))
			}
			if output == "" || output == "-" {
				_, err := c.OutOrStdout().Write([]byte(text))
				return err
			}
			return writeError(files.WriteWhole(output, []byte(text)))
		},
	}
	c.Flags().StringVar(&h.Topology, "topology", "", "topology `file` (mix/fat.txt)")
	c.Flags().StringVar(&h.Flows, "flow", "", "flow `file` (mix/flow.txt)")
	c.Flags().StringVar(&h.CDF, "cdf", "", "`file` of a size distribution (traffic_gen/WebSearch_distribution.txt)")
	c.Flags().StringVar(&load, "load", "0.3", "with --cdf: `part` of the hosts' bandwidth that arrives, as 0.3 or 30%")
	c.Flags().StringVar(&span, "time", "10ms", "with --cdf: for how much virtual `time` flows arrive")
	completeNothing(c, "load", "time")
	c.Flags().StringVarP(&output, "output", "o", "", "write to this `file` (default: standard output)")
	return c
}

// sameFile says whether two names are one existing file.
func sameFile(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
