// Command pausenet builds lossless data-center fabrics on one machine and runs experiments on them.
package main

import "os"

func main() {
	os.Exit(exit(os.Stderr, newRootCommand().Execute()))
}
