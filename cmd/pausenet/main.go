// Command pausenet builds lossless data-center fabrics on one machine and runs experiments on them.
package main

import "os"

func main() {
	root, out := newRootCommand(), &output{to: os.Stdout}
	root.SetOut(out)
	os.Exit(exit(os.Stderr, out.failed(root.Execute())))
}
