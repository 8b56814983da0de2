package command

import (
	"context"
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
	os.Exit(execute(context.Background(), newRootCommand(), os.Args[1:]))
}

// execute runs a command with these arguments and returns the exit code. The end of ctx interrupts it, as Ctrl-C does.
func execute(ctx context.Context, root *cobra.Command, args []string) int {
	out, complaints := &output{to: os.Stdout}, &output{to: os.Stderr}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(onScreen(complaints))
	return exit(root.ErrOrStderr(), out.failed(root.ExecuteContext(ctx)))
}
