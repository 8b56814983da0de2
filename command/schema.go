package command

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/jsonschema"
)

func newSchemaCommand() *cobra.Command {
	var keys, format string
	c := &cobra.Command{
		Use:   "schema [" + strings.Join(jsonschema.Kinds, "|") + "]",
		Short: "Print the JSON Schema of scenario and other files",
		Long: `Print the JSON Schema (draft 2020-12) of a kind of file; the default is
scenario. An editor with the schema completes keys, explains them and
underlines mistakes. Editors with the YAML language server find the schema by
a file's first line:

  # yaml-language-server: $schema=scenario.schema.json

exercise is the schema of a lab's exercise.yaml, and hidden that of a teacher's
hidden.yaml. pausenet validate finds mistakes that a schema cannot, such as
unknown names.

With --keys PATH, print the keys below a key instead, with their meaning. The
path . stands for the file.`,
		Example: `  pausenet schema > scenario.schema.json
  pausenet schema sweep > sweep.schema.json
  pausenet schema --keys switch.pfc`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(jsonschema.Kinds, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(c *cobra.Command, args []string) error {
			kind := jsonschema.Kinds[0]
			if len(args) > 0 {
				kind = args[0]
			}
			if c.Flags().Changed("keys") {
				return writeKeys(c.OutOrStdout(), kind, keys, format)
			}
			if format == formatYAML {
				return badInput(fmt.Errorf("-o yaml needs --keys: a JSON Schema is JSON"))
			}
			text, err := jsonschema.Of(kind)
			if err != nil {
				return badInput(err)
			}
			_, err = rawUnlessTerminal(c.OutOrStdout()).Write(text)
			return err
		},
	}
	c.Flags().StringVar(&keys, "keys", "",
		"print the keys below a `path` of the file, with their meaning (. for the file)")
	completeNothing(c, "keys")
	formatFlag(c, &format)
	return c
}

func writeKeys(w io.Writer, kind, path, format string) error {
	keys, err := jsonschema.KeysOf(kind, path)
	if err != nil {
		return badInput(fmt.Errorf("--keys: %w", err))
	}
	if structured(format) {
		return writeStructured(w, format, keys)
	}
	t := tabwriter.NewWriter(people(w), 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KEY\tMEANING")
	for _, k := range keys {
		fmt.Fprintf(t, "%s\t%s\n", k.Path, k.Meaning)
	}
	return t.Flush()
}
