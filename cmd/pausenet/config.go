package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/pausenet/pausenet/internal/yamlspec"
)

// applyConfiguration fills in the flags that the user did not give: from the environment (PAUSENET_OUT for --out), then
// from the configuration file, under the flags' names.
func applyConfiguration(c *cobra.Command, file string) error {
	v := viper.New()
	v.SetEnvPrefix("PAUSENET")
	v.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	v.AutomaticEnv()
	file, err := readConfiguration(v, file)
	if err != nil {
		return badInput(err)
	}
	errs := unknownKeys(v, file, c.Root())
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "config" || f.Name == "help" || !v.IsSet(f.Name) {
			return
		}
		values := []string{v.GetString(f.Name)}
		if _, list := f.Value.(pflag.SliceValue); list {
			values = v.GetStringSlice(f.Name)
		}
		for _, value := range values {
			if err := c.Flags().Set(f.Name, value); err != nil {
				errs = append(errs, fmt.Errorf("%s: %s", origin(f.Name, file), strings.TrimPrefix(flagError(err).Error(), "--"+f.Name+" ")))
			}
		}
	})
	return badInput(errors.Join(errs...))
}

// origin is where a flag's value comes from that was not given as a flag: a variable goes before the file.
func origin(flag, file string) string {
	variable := "PAUSENET_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
	if os.Getenv(variable) != "" {
		return variable + " in the environment"
	}
	return file + ": " + flag
}

// unknownKeys are the keys of the configuration file that no command has a flag of.
func unknownKeys(v *viper.Viper, file string, root *cobra.Command) []error {
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

// readConfiguration reads the file given, or pausenet/config.yaml in the user's configuration folder if there is one. The
// result is the file read, "" for none.
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
	v.SetConfigFile(file)
	if err := v.ReadInConfig(); err != nil {
		return "", fmt.Errorf("configuration file %s: %w", file, err)
	}
	return file, nil
}
