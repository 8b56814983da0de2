package command

import (
	"os"

	"github.com/spf13/cobra"

	_ "github.com/pausenet/pausenet/internal/openfiles" // before packages that open files
)

// Tree returns the command with all its subcommands, for documentation.
func Tree() *cobra.Command { return newRootCommand() }

// Main runs the whole pausenet command: it parses os.Args, executes the command, and ends the process with the exit
// code. Some commands start the program's own file again (os.Executable). So a main function should call Main first
// and do nothing else of importance.
func Main() {
	root, out, complaints := newRootCommand(), &output{to: os.Stdout}, &output{to: os.Stderr}
	root.SetOut(out)
	root.SetErr(onScreen(complaints))
	os.Exit(exit(root.ErrOrStderr(), out.failed(root.Execute())))
}
