// Command pausenet-man writes the manual pages of pausenet into a folder, one a verb. They are made of the same texts
// as --help. The date in them is SOURCE_DATE_EPOCH's, in seconds since 1970.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra/doc"

	"github.com/pausenet/pausenet/command"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pausenet-man:", err)
		os.Exit(2)
	}
}

func write(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%d arguments: write pausenet-man FOLDER", len(args))
	}
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return err
	}
	root := command.Tree()
	root.DisableAutoGenTag = true
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "pausenet", Manual: "pausenet"}, args[0])
}
