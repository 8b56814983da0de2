package command

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pausenet/pausenet/internal/spelling"
)

// habits maps words of other tools, and of our own shell, to our commands.
var habits = map[string]string{
	// containerlab, Kathara
	"deploy": "up", "create": "up", "start": "up", "destroy": "down", "delete": "down", "stop": "down",
	"attach": "shell", "cli": "shell", "ssh": "exec", "ps": "inspect", "ls": "list",
	"simulate": "run", "sim": "run", "plot": "report", "replay": "view", "topology": "graph",
	"headroom": "check headroom", "sonic": "import sonic", "hpcc": "import hpcc", "new": "cc new", "grade": "lab grade",
}

// traces lists formats that users try to import, but that a scenario reads directly.
var traces = map[string]string{
	"goal":   "goal: {file: NAME}",
	"chakra": "chakra: {files: NAME.%d.et}",
	"csv":    "csv: NAME",
}

// fewNames limits the number of names that a message lists.
const fewNames = 8

// withUsage adds the usage line to errors about the arguments of a command and its subcommands.
func withUsage(c *cobra.Command) {
	for _, sub := range c.Commands() {
		withUsage(sub)
	}
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		err := check(c, args)
		switch {
		case err == nil:
			return nil
		case c.HasAvailableSubCommands() && !takesWords(c):
			return unknownCommand(c, args)
		case strings.HasPrefix(err.Error(), "unknown command"): // cobra.NoArgs reports any word so
			err = fmt.Errorf("unexpected argument %q", args[0])
		case strings.HasPrefix(err.Error(), "requires"), strings.HasPrefix(err.Error(), "accepts") && len(args) == 0:
			err = errors.New("an argument is missing")
		case strings.HasPrefix(err.Error(), "accepts"):
			err = errors.New("wrong number of arguments")
		}
		return fmt.Errorf("%w: write %s", err, c.UseLine())
	}
}

// takesWords reports whether a command with subcommands also takes arguments.
func takesWords(c *cobra.Command) bool { return c.ValidArgsFunction != nil }

// unknownCommand returns an error for an unknown subcommand, with a suggestion.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	word := args[0]
	err := fmt.Errorf("unknown command %q for %q", word, c.CommandPath())
	if written, ok := traces[word]; ok && c.Name() == "import" {
		return fmt.Errorf("%w: name such a file in a scenario, as in workloads: [{%s}] (docs/collectives.md)", err, written)
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	meant, ok := habits[word]
	if !ok || c.HasParent() {
		meant = spelling.Nearest(word, names)
	}
	switch {
	case meant == "" && len(names) <= fewNames:
		return fmt.Errorf("%w (expected %s)", err, strings.Join(names, ", "))
	case meant == "":
		return fmt.Errorf("%w (list them with \"%s --help\")", err, c.CommandPath())
	}
	return fmt.Errorf("%w: did you mean %q?", err, meant)
}

// flagError rephrases cobra's error about a flag, with a suggestion.
func flagError(c *cobra.Command, err error) error {
	var (
		invalid *pflag.InvalidValueError
		unknown *pflag.NotExistError
	)
	switch {
	case errors.As(err, &invalid):
		return numberError(invalid)
	case errors.As(err, &unknown):
		if words := c.Flags().Args(); len(words) > 0 && c.HasAvailableSubCommands() && !takesWords(c) {
			return unknownCommand(c, words) // in "deploy -t FILE" the flag is not the mistake
		}
		return unknownFlag(c, unknown)
	}
	return err
}

// unknownFlag returns an error for an unknown flag, with a suggestion.
func unknownFlag(c *cobra.Command, unknown *pflag.NotExistError) error {
	name, short := unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames()
	if name = strings.TrimLeft(name, "-"); short != "" {
		name = ""
	}
	if short != "" && short[0] >= '0' && short[0] <= '9' {
		return fmt.Errorf("-%s: negative values are not allowed (try %s)", short, short)
	}
	if c.Name() == "up" || !c.HasParent() {
		if name == "topo" || name == "topology" || strings.HasPrefix(short, "t") {
			return fmt.Errorf("%w: give the topology without a flag, as in pausenet up NAME|FILE", unknown)
		}
		if name == "test" {
			return fmt.Errorf("%w: pipe the lines into up, as in echo pingall | sudo pausenet up", unknown)
		}
	}
	if strings.HasPrefix(short, "o") && c.Flags().Lookup("export") != nil {
		return fmt.Errorf("%w: write a page, an animation or a picture with --export FILE", unknown)
	}
	if strings.HasPrefix(short, "o") && c.Flags().Lookup("out") != nil {
		return fmt.Errorf("%w: write to a file with --out FILE", unknown)
	}
	if name == "fabric" && strings.HasSuffix(c.Use, " [NAME]") {
		return fmt.Errorf("%w: give the fabric's name without a flag, as in pausenet %s", unknown, c.Use)
	}
	if !c.HasParent() && strings.HasPrefix(short, "c") {
		return fmt.Errorf("%w: did you mean pausenet clean?", unknown)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := spelling.Nearest(name, names); name != "" && near != "" {
		return fmt.Errorf("%w: did you mean --%s?", unknown, near)
	}
	return fmt.Errorf("%w (list the flags with \"%s --help\")", unknown, c.CommandPath())
}

// numberError returns an error for a flag that expects a number.
func numberError(invalid *pflag.InvalidValueError) error {
	kind := "expected a whole number"
	value := invalid.GetValue()
	var wrong error
	switch invalid.GetFlag().Value.Type() {
	case "int", "int64":
		_, wrong = strconv.ParseInt(value, 0, 64)
	case "uint64":
		_, wrong = strconv.ParseUint(value, 0, 64)
	case "float64":
		kind = "expected a number"
		_, wrong = strconv.ParseFloat(value, 64)
	default:
		if own := errors.Unwrap(invalid); own != nil {
			return fmt.Errorf("--%s %s: %w", invalid.GetFlag().Name, value, own)
		}
		return invalid
	}
	if wrong == nil || errors.Is(wrong, strconv.ErrRange) {
		kind = "too large"
	}
	return fmt.Errorf("--%s %s: %s", invalid.GetFlag().Name, value, kind)
}
