package testenv

import (
	"os"
	"os/signal"
	"syscall"
)

// DefaultHangup makes programs that these tests start end on SIGHUP. Under nohup they would ignore the signal; a
// signal that this process handles has its default action in a child.
func DefaultHangup() {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
}
