//go:build !js

package shutdown

import (
	"os"
	"syscall"
)

// endings are the signals that end the process.
var endings = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
