// Command pausenet builds lossless data-center fabrics on one machine and runs experiments on them. All of it is in
// package command, so that programs with congestion controls of their own can be pausenet too. The profile beside this
// file is what go build optimizes by.
package main

import "github.com/pausenet/pausenet/command"

func main() { command.Main() }
