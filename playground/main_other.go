//go:build !js

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "playground: it runs in a browser: make playground")
	os.Exit(2)
}
