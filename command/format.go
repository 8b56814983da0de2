package command

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
)

// The output formats of most commands.
const (
	formatTable = "table"
	formatJSON  = "json"
	formatYAML  = "yaml"
)

// formatValue implements the value of a flag for an output format.
type formatValue struct {
	to  *string
	all []string
}

func (v *formatValue) String() string { return *v.to }

func (v *formatValue) Type() string { return "format" }

// Set sets the format. "text", used before version 0.1, means a table.
func (v *formatValue) Set(text string) error {
	switch {
	case text == "text":
		text = formatTable
	case strings.Contains(text, "parquet"):
		return fmt.Errorf("--parquet writes Parquet files next to any output format: use it instead")
	case strings.ContainsAny(text, "./"):
		return fmt.Errorf("expected the format, %s (to write a file, add > FILE)", choices(v.all))
	}
	if !slices.Contains(v.all, text) {
		return fmt.Errorf("expected %s", choices(v.all))
	}
	*v.to = text
	return nil
}

// choices joins words for a sentence: "a, b or c".
func choices(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// formatFlag adds -o to a command that prints a table, JSON, YAML, or its own formats.
func formatFlag(c *cobra.Command, format *string, own ...string) {
	*format = formatTable
	outputFlags(c, format, append([]string{formatTable, formatJSON, formatYAML}, own...))
}

// outputFlags adds -o, and -f and --json as synonyms.
func outputFlags(c *cobra.Command, format *string, all []string) {
	value := &formatValue{format, all}
	flags := c.Flags()
	flags.VarP(value, "output", "o", "output `format`: "+choices(all))
	flags.VarP(value, "format", "f", "same as --output")
	flags.BoolFunc("json", "same as -o json", func(string) error { return value.Set(formatJSON) })
	_ = flags.MarkHidden("format")
	completeFlag(c, "output", all...)
	completeFlag(c, "format", all...)
}

// parquetFlag adds --parquet to a command that writes tables of results.
func parquetFlag(c *cobra.Command, parquet *bool) {
	c.Flags().BoolVar(parquet, "parquet", false, "write each table as a Parquet file as well as CSV")
}

// structured reports whether a format is machine-readable.
func structured(format string) bool { return format == formatJSON || format == formatYAML }

// writeStructured writes a value as JSON or YAML.
func writeStructured(w io.Writer, format string, value any) error {
	if format != formatYAML {
		return writeJSON(w, value)
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if data, err = yaml.JSONToYAML(data); err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// writeResult writes a value as JSON or YAML, or its text for people. It returns the first error of the output.
func writeResult(w io.Writer, format string, value any, text func(w io.Writer)) error {
	if structured(format) {
		return writeStructured(w, format, value)
	}
	text(people(w))
	if o, ok := w.(*output); ok {
		return o.err
	}
	return nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
