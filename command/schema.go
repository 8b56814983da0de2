package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/jsonschema"
)

func newSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [" + strings.Join(jsonschema.Kinds, "|") + "]",
		Short: "Print the JSON Schema of scenario and other files",
		Long: `Print the JSON Schema (draft 2020-12) of a kind of file; the default is
scenario. An editor with the schema completes keys, explains them and
underlines mistakes. Editors with the YAML language server find the schema by
a file's first line:

  # yaml-language-server: $schema=scenario.schema.json

exercise is the schema of a lab's exercise.yaml, and hidden that of a teacher's
hidden.yaml. pausenet validate finds mistakes that a schema cannot, such as
unknown names.`,
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
