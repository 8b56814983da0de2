package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// applyConfiguration fills in the flags that the user did not give: from the environment (PAUSENET_OUT for --out), then
// from the configuration file, under the flags' names.
func applyConfiguration(c *cobra.Command, file string) error {
	v := viper.New()
	v.SetEnvPrefix("PAUSENET")
	v.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	v.AutomaticEnv()
	if err := readConfiguration(v, file); err != nil {
		return badInput(err)
	}
	var errs []error
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
				errs = append(errs, fmt.Errorf("%s from the environment or the configuration file: %w", f.Name, err))
			}
		}
	})
	return badInput(errors.Join(errs...))
}

// readConfiguration reads the file given, or pausenet/config.yaml in the user's configuration folder if there is one.
func readConfiguration(v *viper.Viper, file string) error {
	if file == "" {
		folder, err := os.UserConfigDir()
		if err != nil {
			return nil // no home, no file
		}
		file = filepath.Join(folder, "pausenet", "config.yaml")
		if _, err := os.Stat(file); err != nil {
			return nil
		}
	}
	v.SetConfigFile(file)
	if err := v.ReadInConfig(); err != nil {
		return fmt.Errorf("configuration file: %w", err)
	}
	return nil
}
