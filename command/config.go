package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// variablePrefix begins the names of all environment variables that are pausenet's.
const variablePrefix = "PAUSENET_"

// detachedVariable tells a process that it is the one in the background (detach.go); its standard output is a pipe to
// the one in the foreground, which goes as soon as the fabric is up.
const detachedVariable = variablePrefix + "DETACHED"

// applyConfiguration fills in the flags that the user did not give: from the environment (PAUSENET_OUT for --out), then
// from the configuration file, under the flags' names.
func applyConfiguration(c *cobra.Command, file string) error {
	if file == "" {
		file = os.Getenv(variableOf("config"))
	}
	v := viper.New()
	v.SetEnvPrefix(strings.TrimSuffix(variablePrefix, "_"))
	v.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	v.AutomaticEnv()
	file, err := readConfiguration(v, file)
	if err != nil {
		return badInput(err)
	}
	known := flagNames(c.Root())
	errs := append(unknownVariables(os.Environ(), known), unknownKeys(v, file, known)...)
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "config" || f.Name == "help" || !v.IsSet(f.Name) {
			return
		}
		values := []string{v.GetString(f.Name)}
		_, several := f.Value.(pflag.SliceValue)
		if _, list := v.Get(f.Name).([]any); list && !several {
			errs = append(errs, fmt.Errorf("%s: a list, and --%s takes one value", origin(f.Name, file), f.Name))
			return
		}
		if several {
			values = v.GetStringSlice(f.Name)
		}
		for _, value := range values {
			if err := c.Flags().Set(f.Name, value); err != nil {
				errs = append(errs, fmt.Errorf("%s: %s", origin(f.Name, file),
					strings.TrimPrefix(flagError(c, err).Error(), "--"+f.Name+" ")))
			}
		}
	})
	return badInput(errors.Join(errs...))
}

// origin is where a flag's value comes from that was not given as a flag: a variable takes precedence over the file.
func origin(flag, file string) string {
	if variable := variableOf(flag); os.Getenv(variable) != "" {
		return variable + " in the environment"
	}
	return file + ": " + flag
}

// variableOf is the environment variable of a flag.
func variableOf(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// otherVariables are those that are no flag's: detach.go's, and those that the repository's tests go by, which a
// developer may have set. Those in otherFamilies begin so.
var (
	otherVariables = []string{detachedVariable, "PAUSENET_CYCLES", "PAUSENET_KILLS", "PAUSENET_LIVE_FRAMES"}
	otherFamilies  = []string{"PAUSENET_TEST_", "PAUSENET_KERNELS"}
)

// unknownVariables are the variables of an environment that begin as a flag's do and are none's: what was meant by them
// would go undone without a word. Empty ones are as good as not set.
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
		hint := "a variable is a flag's name, such as PAUSENET_JOBS or PAUSENET_OUT"
		flag := strings.ReplaceAll(strings.ToLower(name[len(variablePrefix):]), "_", "-")
		if near := yamlspec.Nearest(flag, flags); near != "" {
			hint = fmt.Sprintf("did you mean %s?", variableOf(near))
		}
		errs = append(errs, fmt.Errorf("%s in the environment: unknown variable: %s (unset it if it is another program's)",
			name, hint))
	}
	return errs
}

// flagNames are the names of the flags of all commands, but for what no configuration sets.
func flagNames(root *cobra.Command) []string {
	var known []string
	var collect func(c *cobra.Command)
	collect = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "config" && f.Name != "help" && !slices.Contains(known, f.Name) {
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

// unknownKeys are the keys of the configuration file that no command has a flag of.
func unknownKeys(v *viper.Viper, file string, known []string) []error {
	var errs []error
	for _, key := range slices.Sorted(slices.Values(v.AllKeys())) {
		if slices.Contains(known, key) {
			continue
		}
		hint := yamlspec.Suggest(key, known)
		if hint == "" {
			hint = ": a key is a flag's name, such as jobs or out"
		}
		errs = append(errs, fmt.Errorf("%s: unknown key %q%s", file, key, hint))
	}
	return errs
}

// configurationFile is what readConfiguration reads: a few flags' values.
var configurationFile = files.Kind{Name: "a configuration", Most: 64 << 10}

// readConfiguration reads the file given, or pausenet/config.yaml in the user's configuration folder if there is one.
// The result is the file read, "" for none.
func readConfiguration(v *viper.Viper, file string) (string, error) {
	if file == "" {
		folder, err := os.UserConfigDir()
		if err != nil {
			return "", nil // no home, no file
		}
		file = filepath.Join(folder, "pausenet", "config.yaml")
		if _, err := os.Stat(file); err != nil {
			return "", nil
		}
	}
	data, err := files.Read(file, configurationFile)
	if err == nil {
		v.SetConfigFile(file)
		err = v.ReadConfig(bytes.NewReader(data))
	}
	if err != nil {
		return "", fmt.Errorf("configuration file %s: %w", file, err)
	}
	return file, nil
}
