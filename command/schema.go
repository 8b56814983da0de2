package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/jsonschema"
)

func newSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [" + strings.Join(jsonschema.Kinds, "|") + "]",
		Short: "Print the JSON Schema of scenario, topology, sweep or exercise files",
		Long: `schema prints the JSON Schema (draft 2020-12) of a kind of file, of scenarios unless another
is named. An editor completes keys by it, shows what they mean and underlines mistakes. One
with the YAML language server finds it by a file's first line:

  # yaml-language-server: $schema=scenario.schema.json

exercise is of a lab's exercise.yaml, hidden of hidden.yaml, which a teacher adds to one.
validate says more than a schema can: names, and what is between two keys.`,
		Example: `  pausenet schema > scenario.schema.json
  pausenet schema sweep > sweep.schema.json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(jsonschema.Kinds, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(c *cobra.Command, args []string) error {
			kind := jsonschema.Kinds[0]
			if len(args) > 0 {
				kind = args[0]
			}
			text, err := jsonschema.Of(kind)
			if err != nil {
				return badInput(err)
			}
			_, err = rawUnlessTerminal(c.OutOrStdout()).Write(text)
			return err
		},
	}
}
