//go:build !unix

package command

import "time"

var started = time.Now()

// processorTime returns the time since the process started, where its processor time cannot be read.
func processorTime() time.Duration { return time.Since(started) }
