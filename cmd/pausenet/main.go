package main

import "os"

func main() {
	root, out, complaints := newRootCommand(), &output{to: os.Stdout}, &output{to: os.Stderr}
	root.SetOut(out)
	root.SetErr(complaints)
	os.Exit(exit(complaints, out.failed(root.Execute())))
}
