package testenv

import (
	"os"
	"os/signal"
	"syscall"
)

// DefaultHangup has what these tests start end on SIGHUP. Under nohup they ignore the signal, and what they start would
// too; a signal that is handled has its default action in a child.
func DefaultHangup() {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
}
