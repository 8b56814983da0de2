//go:build !linux

package command

import "github.com/spf13/cobra"

// liveCommands are the verbs of live fabrics, which need the kernel plane: none here.
var liveCommands []func() *cobra.Command

// runBare is pausenet without arguments: its help.
func runBare(c *cobra.Command) error { return c.Help() }

// filesLeft are the files that live fabrics left: none here.
func filesLeft() []leftFile { return nil }
