package testenv

import (
	"os"
	"os/signal"
	"syscall"
)

// DefaultSignals makes programs that these tests start end on SIGHUP and SIGINT. Under nohup they would ignore SIGHUP,
// and as a script's background job SIGINT; a signal that this process handles has its default action in a child.
func DefaultSignals() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}
