//go:build !unix

package workers

import "time"

// used returns 0: this system does not tell a process's processor time.
func used() time.Duration { return 0 }
