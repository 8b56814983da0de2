//go:build linux

package orchestrator

import (
	"errors"
	"time"
)

const (
	// cleanPasses is how often CleanAfter looks: programs may start others while they are being ended.
	cleanPasses = 50
	cleanPause  = 50 * time.Millisecond
)

// CleanAfter ends the programs that a process which has ended, or is ending, left in its fabric's namespaces. It needs root.
func CleanAfter(pid int) error {
	var failed error
	for clean, pass := 0, 0; clean < 2 && pass < cleanPasses; pass++ {
		left, err := FindLeftovers()
		if err != nil {
			return err
		}
		failed, clean = nil, clean+1
		for i := range left {
			if left[i].Owner == pid {
				failed, clean = errors.Join(failed, left[i].Remove()), 0
			}
		}
		time.Sleep(cleanPause)
	}
	return failed
}
