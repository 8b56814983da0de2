// Command pausenet builds lossless data-center fabrics on one machine and runs experiments on them.
package main

import "os"

func main() {
	root, out, complaints := newRootCommand(), &output{to: os.Stdout}, &output{to: os.Stderr}
	root.SetOut(out)
	root.SetErr(complaints)
	os.Exit(exit(complaints, out.failed(root.Execute())))
}
