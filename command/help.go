package command

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// moreHelp names the annotation with the text at the end of a command's help.
const moreHelp = "pausenet_more_help"

// flagColumn sets the column of the flags' texts. After a longer name, the text starts on the next line.
const flagColumn = 27

// writeHelpUsage writes the part of a command's help after its description, at most defaultWidth columns wide.
func writeHelpUsage(c *cobra.Command) error {
	w := c.OutOrStderr()
	fmt.Fprint(w, "Usage:")
	if c.HasAvailableSubCommands() && (!c.HasParent() || !takesWords(c)) {
		fmt.Fprintf(w, "\n  %s COMMAND [flags]", c.CommandPath())
	} else {
		fmt.Fprintf(w, "\n  %s", c.UseLine())
		if c.HasAvailableSubCommands() {
			fmt.Fprintf(w, "\n  %s COMMAND [flags]", c.CommandPath())
		}
	}
	if c.HasExample() {
		fmt.Fprintf(w, "\n\nExamples:\n%s", c.Example)
	}
	fmt.Fprintln(w)
	for _, group := range c.Groups() {
		writeHelpCommands(c, group.Title, group.ID)
	}
	writeHelpCommands(c, "Commands:", "")
	if flags := helpFlags(c.LocalNonPersistentFlags()); flags != "" {
		fmt.Fprintf(w, "\nFlags:\n%s", flags)
	}
	if global := globalFlags(c); global != "" {
		fmt.Fprintf(w, "\nGlobal flags:\n%s", global)
	}
	if text := c.Annotations[moreHelp]; text != "" {
		fmt.Fprintf(w, "\n%s\n", text)
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nUse \"%s COMMAND --help\" for the flags and examples of a command.\n", c.CommandPath())
	}
	return nil
}

// writeHelpCommands lists the subcommands of a group, if any. The group "" contains those without a group.
func writeHelpCommands(c *cobra.Command, title, group string) {
	w := c.OutOrStderr()
	for _, sub := range c.Commands() {
		if sub.GroupID != group || !sub.IsAvailableCommand() && sub.Name() != "help" {
			continue
		}
		if title != "" {
			fmt.Fprintf(w, "\n%s\n", title)
			title = ""
		}
		fmt.Fprintf(w, "  %-11s %s\n", sub.Name(), sub.Short)
	}
}

// globalFlags returns the help of the flags that every command has: the root's, and --help.
func globalFlags(c *cobra.Command) string {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.AddFlagSet(c.Root().PersistentFlags())
	if help := c.Flags().Lookup("help"); help != nil {
		flags.AddFlag(&pflag.Flag{
			Name: help.Name, Shorthand: help.Shorthand, Usage: "print this help", Value: help.Value,
			DefValue: help.DefValue,
		})
	}
	return listFlags(flags, "")
}

// helpFlags returns the help of a command's own flags except --help.
func helpFlags(flags *pflag.FlagSet) string { return listFlags(flags, "help") }

func listFlags(flags *pflag.FlagSet, except string) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == except {
			return
		}
		b.WriteString(helpFlag(f))
	})
	return b.String()
}

// helpFlag returns the help of a flag: its name, value name, text and default.
func helpFlag(f *pflag.Flag) string {
	value, text := pflag.UnquoteUsage(f)
	name := "      --" + f.Name
	if f.Shorthand != "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	switch kind := f.Value.Type(); {
	case kind == "bool" || kind == "boolfunc":
	case f.NoOptDefVal != "":
		name += "[=" + value + "]"
	default:
		name += " " + value
	}
	if !strings.Contains(text, "(default") {
		switch f.DefValue {
		case "", "0", "0s", "[]", "false":
		default:
			text += " (default " + f.DefValue + ")"
		}
	}
	lines := wrapText(text, defaultWidth-flagColumn)
	indent := strings.Repeat(" ", flagColumn)
	if utf8.RuneCountInString(name)+2 > flagColumn {
		return name + "\n" + indent + strings.Join(lines, "\n"+indent) + "\n"
	}
	return fmt.Sprintf("%-*s", flagColumn, name) + strings.Join(lines, "\n"+indent) + "\n"
}

// wrapText breaks a text at blanks into lines of at most width columns. A longer word gets a line of its own.
func wrapText(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
