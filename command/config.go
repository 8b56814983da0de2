package command

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// variablePrefix starts the name of each of pausenet's environment variables.
const variablePrefix = "PAUSENET_"

// detachedVariable marks the background process of detach.go. That process's standard output is a pipe to the
// foreground process, which exits as soon as the fabric is up.
const detachedVariable = variablePrefix + "DETACHED"

// configuredFlag annotates flags that the user did not give, but the environment or the configuration file. They may be
// meant for other commands.
const configuredFlag = "configured"

// applyConfiguration sets the flags that the user did not give: from the environment (PAUSENET_OUT for --out), else
// from the configuration file, whose keys are the flags' names.
func applyConfiguration(c *cobra.Command, file string) error {
	if file == "" {
		file = os.Getenv(variableOf("config"))
	}
	configured, err := readConfiguration(file)
	if err != nil {
		return badInput(err)
	}
	known := flagNames(c.Root())
	errs := append(unknownVariables(os.Environ(), known), configured.unknownKeys(known)...)
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "config" || f.Name == "help" {
			return
		}
		_, several := f.Value.(pflag.SliceValue)
		values, err := configured.valuesOf(f.Name, several)
		for _, value := range values {
			if err := c.Flags().Set(f.Name, value); err != nil {
				errs = append(errs, fmt.Errorf("%s: %s", configured.origin(f.Name),
					strings.TrimPrefix(flagError(c, err).Error(), "--"+f.Name+" ")))
			}
			_ = c.Flags().SetAnnotation(f.Name, configuredFlag, nil) // the flag exists
		}
		if err != nil {
			errs = append(errs, err)
		}
	})
	return badInput(errors.Join(errs...))
}

// configuration holds what a configuration file sets.
type configuration struct {
	file   string // empty without a file
	values map[string]*yamlspec.Value
}

// valuesOf returns the values of a flag, from the environment or else from the file. A flag that takes several values
// may have a list in the file, or values separated by blanks.
func (c *configuration) valuesOf(flag string, several bool) ([]string, error) {
	text, value := os.Getenv(variableOf(flag)), c.values[flag]
	switch {
	case text != "":
	case value.IsSequence() && !several:
		return nil, fmt.Errorf("%s is a list, but --%s takes one value", c.origin(flag), flag)
	case value.IsSequence():
		texts := lists.Map(value.Items(), func(item *yamlspec.Value) string { return item.Raw() })
		return texts, nil
	case value.IsScalar():
		text = value.Raw()
	default:
		return nil, nil
	}
	if several {
		return strings.Fields(text), nil
	}
	return []string{text}, nil
}

// origin returns the source of a flag's value that was not given on the command line. A variable takes precedence
// over the file.
func (c *configuration) origin(flag string) string {
	if variable := variableOf(flag); os.Getenv(variable) != "" {
		return variable + " in the environment"
	}
	return c.file + ": " + flag
}

// variableOf returns the environment variable of a flag.
func variableOf(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// otherVariables lists variables that belong to no flag: detach.go's, and those of the repository's tests.
// otherFamilies lists the prefixes of further variables of tests.
var (
	otherVariables = []string{
		detachedVariable, files.OnlyBelow, "PAUSENET_CYCLES", "PAUSENET_KILLS",
		"PAUSENET_LIVE_FRAMES",
	}
	otherFamilies = []string{"PAUSENET_TEST_", "PAUSENET_KERNELS"}
)

// unknownVariables returns an error for each variable with our prefix that belongs to no flag, since it would be
// ignored silently. Empty variables count as unset.
func unknownVariables(environment, flags []string) []error {
	flags = append([]string{"config"}, flags...)
	var errs []error
	for _, entry := range slices.Sorted(slices.Values(environment)) {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(strings.ToUpper(name), variablePrefix) || value == "" ||
			slices.Contains(otherVariables, name) ||
			slices.ContainsFunc(otherFamilies, func(family string) bool { return strings.HasPrefix(name, family) }) ||
			slices.ContainsFunc(flags, func(flag string) bool { return name == variableOf(flag) }) {
			continue
		}
		hint := "a variable's name is PAUSENET_ and a flag's name, such as PAUSENET_JOBS or PAUSENET_OUT"
		flag := strings.ReplaceAll(strings.ToLower(name[len(variablePrefix):]), "_", "-")
		if near := spelling.Nearest(flag, flags); near != "" {
			hint = fmt.Sprintf("did you mean %s?", variableOf(near))
		}
		errs = append(errs, fmt.Errorf("%s in the environment: unknown variable: %s (if another program uses it, unset it)",
			name, hint))
	}
	return errs
}

// flagNames returns the names of all commands' flags that a configuration can set.
func flagNames(root *cobra.Command) []string {
	var known []string
	var collect func(c *cobra.Command)
	collect = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "config" && f.Name != "help" && f.Name != "version" && !slices.Contains(known, f.Name) {
				known = append(known, f.Name)
			}
		})
		for _, sub := range c.Commands() {
			collect(sub)
		}
	}
	collect(root)
	return known
}

// unknownKeys returns an error for each key of the configuration file that is no flag's name, or has keys of its own.
func (c *configuration) unknownKeys(known []string) []error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(c.values)) {
		if slices.Contains(known, key) {
			if c.values[key].IsMapping() {
				errs = append(errs, fmt.Errorf("%s: %s is a mapping, but a flag takes a value or a list", c.file, key))
			}
			continue
		}
		hint := spelling.Suggest(key, known)
		if hint == "" || c.values[key].IsMapping() {
			hint = " (a key is a flag's name, such as jobs or out)"
		}
		errs = append(errs, fmt.Errorf("%s: unknown key %q%s", c.file, key, hint))
	}
	return errs
}

// configurationFile limits the size of a configuration file, which holds a few flags' values.
var configurationFile = files.Kind{Name: "a configuration", Most: 64 << 10}

// readConfiguration reads the given file, or else pausenet/config.yaml in the user's configuration folder, if there is
// one.
func readConfiguration(file string) (*configuration, error) {
	c := &configuration{values: map[string]*yamlspec.Value{}}
	if file == "" {
		folder, err := os.UserConfigDir()
		if err != nil {
			return c, nil // no home, no file
		}
		file = filepath.Join(folder, "pausenet", "config.yaml")
		if _, err := os.Stat(file); err != nil {
			return c, nil
		}
	}
	data, err := files.Read(file, configurationFile)
	if err != nil {
		return nil, fmt.Errorf("configuration file %s: %w", file, err)
	}
	c.file = file
	var report yamlspec.Report
	report.Parse(file, data).Mapping().All(func(key, value *yamlspec.Value) {
		c.values[strings.ToLower(key.Raw())] = value // flags' names have no capitals
	})
	return c, report.Err()
}
