//go:build linux

package command

import "github.com/spf13/cobra"

// liveCommands lists the commands of live fabrics.
var liveCommands = []func() *cobra.Command{
	newUpCommand, newShellCommand, newExecCommand, newInspectCommand, newTopCommand, newEventsCommand, newCaptureCommand,
	newSetCommand, newFaultCommand, newDownCommand,
}
