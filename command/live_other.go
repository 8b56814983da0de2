//go:build !linux

package command

import (
	"errors"

	"github.com/spf13/cobra"
)

// liveCommands lists the commands of live fabrics, which need the kernel plane: none here.
var liveCommands []func() *cobra.Command

// runBare runs pausenet without arguments: it prints the help.
func runBare(c *cobra.Command) error { return c.Help() }

// filesLeft returns the leftover files of live fabrics: none here.
func filesLeft() []leftFile { return nil }

// fabricFlags adds the flags of a live fabric's page: none here.
func (f *viewFlags) fabricFlags(*cobra.Command) {}

func (f *viewFlags) viewFabric(*cobra.Command) error { return errors.ErrUnsupported }

// liveCounters reads the counters of a live fabric: there is none here.
func liveCounters(string) (*taker, error) {
	return nil, badInput(errors.New("live fabrics need Linux: name a scenario or a run's folder"))
}
