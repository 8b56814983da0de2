//go:build !unix

package workers

import "time"

// Used returns 0: a process's processor time is unknown on this system.
func Used() time.Duration { return 0 }
