//go:build linux

package shell

import (
	"fmt"
	"sync"
)

// Tally counts lines that ran, and lines that failed. It is safe for concurrent use.
type Tally struct {
	mu          sync.Mutex
	did, failed int
	first       error
}

func (t *Tally) begins() {
	t.mu.Lock()
	t.did++
	t.mu.Unlock()
}

func (t *Tally) fails(number int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed++; t.first == nil {
		t.first = fmt.Errorf("line %d: %w", number, err)
	}
}

// Err returns an error with the number of failed lines, or nil.
func (t *Tally) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch t.failed {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("1 of %d lines failed: %w", t.did, t.first)
	}
	return fmt.Errorf("%d of %d lines failed, first %w", t.failed, t.did, t.first)
}
