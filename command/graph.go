package command

import (
	"bytes"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/topologies/draw"
)

func newGraphCommand() *cobra.Command {
	var (
		dot, mermaid, svg bool
		output            string
	)
	c := &cobra.Command{
		Use:   "graph NAME|FILE",
		Short: "Draw a topology as SVG, Graphviz or Mermaid",
		Long: `Draw the topology NAME or FILE, or that of a scenario, as an SVG picture, a
Graphviz graph or a Mermaid flowchart.`,
		Example: `  pausenet graph dcon-testbed --out testbed.svg
  pausenet graph fabric.yaml --dot | dot -Tpdf > fabric.pdf
  pausenet graph leafspine --mermaid`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSubjects,
		RunE: func(c *cobra.Command, args []string) error {
			if err := atMostOne(c, "svg", "dot", "mermaid"); err != nil {
				return err
			}
			s, err := load(args[0], nil)
			if err != nil {
				return err
			}
			write := draw.SVG
			switch {
			case dot:
				write = draw.Dot
			case mermaid:
				write = draw.Mermaid
			}
			if output == "" || output == "-" {
				return write(c.OutOrStdout(), s.topology)
			}
			var b bytes.Buffer
			if err := write(&b, s.topology); err != nil {
				return err
			}
			return writeError(files.WriteWhole(output, b.Bytes()))
		},
	}
	c.Flags().BoolVar(&svg, "svg", false, "write a self-contained SVG picture (the default)")
	c.Flags().BoolVar(&dot, "dot", false, "write a Graphviz graph")
	c.Flags().BoolVar(&mermaid, "mermaid", false, "write a Mermaid flowchart, for Markdown")
	c.Flags().StringVar(&output, "out", "", "output `file` (default: standard output)")
	return c
}
