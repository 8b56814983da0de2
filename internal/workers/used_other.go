//go:build !unix

package workers

import "time"

// used returns 0: a process's processor time is unknown on this system.
func used() time.Duration { return 0 }
