// Command pausenet builds lossless data-center fabrics on one machine and runs experiments on them. Package command
// holds the whole program, so that other programs can add their own congestion controllers to it. The Go toolchain
// optimizes it with the profile default.pgo in this folder.
package main

import "github.com/pausenet/pausenet/command"

func main() { command.Main() }
