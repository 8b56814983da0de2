package command

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pausenet/pausenet/internal/yamlspec"
)

// habits are words of other tools, and of ours elsewhere, and the verb that does that here.
var habits = map[string]string{
	// containerlab, Kathara
	"deploy": "up", "create": "up", "start": "up", "destroy": "down", "delete": "down", "stop": "down",
	"attach": "shell", "cli": "shell", "ssh": "exec", "ps": "inspect", "ls": "list",
	"simulate": "run", "sim": "run", "compare": "report", "plot": "report", "replay": "view", "topology": "graph",
	"headroom": "check headroom", "sonic": "import sonic", "hpcc": "import hpcc", "new": "cc new", "grade": "lab grade",
}

// traces are formats for which import is asked, and that a scenario reads by itself.
var traces = map[string]string{
	"goal":   "goal: {file: NAME}",
	"chakra": "chakra: {files: NAME.%d.et}",
	"csv":    "csv: NAME",
}

// fewNames are so many that a message lists them.
const fewNames = 8

// withUsage adds to what is wrong with the arguments of a command, and of those below it, which ones it takes.
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
		case strings.HasPrefix(err.Error(), "unknown command"): // cobra.NoArgs says so of any word
			err = fmt.Errorf("unexpected argument %q", args[0])
		case strings.HasPrefix(err.Error(), "requires"), strings.HasPrefix(err.Error(), "accepts") && len(args) == 0:
			err = errors.New("an argument is missing")
		case strings.HasPrefix(err.Error(), "accepts"):
			err = errors.New("wrong number of arguments")
		}
		return fmt.Errorf("%w: write %s", err, c.UseLine())
	}
}

// takesWords says of a command with others below it that it also takes arguments of its own.
func takesWords(c *cobra.Command) bool { return c.ValidArgsFunction != nil }

// unknownCommand refuses a word in the place of a command's name, and says what may have been meant.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	word := args[0]
	err := fmt.Errorf("unknown command %q for %q", word, c.CommandPath())
	if written, ok := traces[word]; ok && c.Name() == "import" {
		return fmt.Errorf("%w: a scenario reads such files itself: workloads: [{%s}] (docs/collectives.md)", err, written)
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	meant, ok := habits[word]
	if !ok || c.HasParent() {
		meant = yamlspec.Nearest(word, names)
	}
	switch {
	case meant == "" && len(names) <= fewNames:
		return fmt.Errorf("%w (there is %s)", err, strings.Join(names, ", "))
	case meant == "":
		return fmt.Errorf("%w: %s --help lists them", err, c.CommandPath())
	}
	return fmt.Errorf("%w: did you mean %q?", err, meant)
}

// flagError says what is wrong with a flag in the words of all our messages, and what may have been meant.
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
			return unknownCommand(c, words) // of "deploy -t FILE" the flag is not what is wrong
		}
		return unknownFlag(c, unknown)
	}
	return err
}

// unknownFlag says what may have been meant by a flag that there is not.
func unknownFlag(c *cobra.Command, unknown *pflag.NotExistError) error {
	name, short := unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames()
	if name = strings.TrimLeft(name, "-"); short != "" {
		name = ""
	}
	if c.Name() == "up" || !c.HasParent() {
		if name == "topo" || name == "topology" || strings.HasPrefix(short, "t") {
			return fmt.Errorf("%w: a topology is a word of its own: write pausenet up NAME|FILE", unknown)
		}
		if name == "test" {
			return fmt.Errorf("%w: up does the lines of its standard input: write echo pingall | sudo pausenet up", unknown)
		}
	}
	if strings.HasPrefix(short, "o") && c.Flags().Lookup("export") != nil {
		return fmt.Errorf("%w: write a page, an animation or a picture with --export FILE", unknown)
	}
	if strings.HasPrefix(short, "o") && c.Flags().Lookup("out") != nil {
		return fmt.Errorf("%w: write to a file with --out FILE", unknown)
	}
	if name == "fabric" && strings.HasSuffix(c.Use, " [NAME]") {
		return fmt.Errorf("%w: the fabric's name is a word of its own: write pausenet %s", unknown, c.Use)
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
	if near := yamlspec.Nearest(name, names); name != "" && near != "" {
		return fmt.Errorf("%w: did you mean --%s?", unknown, near)
	}
	return fmt.Errorf("%w: %s --help lists those that there are", unknown, c.CommandPath())
}

// numberError says what a flag of a number takes, and whether its value is only too large.
func numberError(invalid *pflag.InvalidValueError) error {
	kind := "a whole number"
	value := invalid.GetValue()
	var wrong error
	switch invalid.GetFlag().Value.Type() {
	case "int", "int64":
		_, wrong = strconv.ParseInt(value, 0, 64)
	case "uint64":
		_, wrong = strconv.ParseUint(value, 0, 64)
	case "float64":
		kind = "a number"
		_, wrong = strconv.ParseFloat(value, 64)
	default:
		if own := errors.Unwrap(invalid); own != nil {
			return fmt.Errorf("--%s %s: %w", invalid.GetFlag().Name, value, own)
		}
		return invalid
	}
	if wrong == nil || errors.Is(wrong, strconv.ErrRange) {
		kind += " that is not as large"
	}
	return fmt.Errorf("--%s %s: %s", invalid.GetFlag().Name, value, kind)
}
