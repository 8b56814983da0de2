package command

import (
	"os"

	"github.com/spf13/cobra"

	_ "github.com/pausenet/pausenet/internal/openfiles" // before packages that open files
)

// Tree is the command with all verbs, for what describes them.
func Tree() *cobra.Command { return newRootCommand() }

// Main is the command pausenet, whole: it reads os.Args, does what they ask for, and ends the process with the exit
// code. It starts the program's own file again for some verbs (os.Executable), so a main function should call it first,
// and do nothing else that matters.
func Main() {
	root, out, complaints := newRootCommand(), &output{to: os.Stdout}, &output{to: os.Stderr}
	root.SetOut(out)
	root.SetErr(onScreen(complaints))
	os.Exit(exit(root.ErrOrStderr(), out.failed(root.Execute())))
}
