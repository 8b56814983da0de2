package rundir

import (
	"io"
	"sync/atomic"
)

// behind writes on a goroutine of its own: what takes long about a large table is that the system takes it, and a run
// goes on meanwhile. After an error nothing more is written.
type behind struct {
	to          io.Writer
	full, empty chan []byte
	failed      atomic.Pointer[error]
}

// blocks is how many are under way at once.
const blocks = 4

// newBehind is to be closed.
func newBehind(to io.Writer) *behind {
	b := &behind{to: to, full: make(chan []byte, blocks), empty: make(chan []byte, blocks)}
	for range blocks {
		b.empty <- nil
	}
	go b.write()
	return b
}

func (b *behind) write() {
	for block := range b.full {
		if b.failed.Load() == nil {
			if _, err := b.to.Write(block); err != nil {
				b.failed.Store(&err)
			}
		}
		b.empty <- block
	}
	close(b.empty)
}

// Write takes a copy of some bytes to be written. An error is of any before.
func (b *behind) Write(p []byte) (int, error) {
	if err := b.failed.Load(); err != nil {
		return 0, *err
	}
	b.full <- append((<-b.empty)[:0], p...)
	return len(p), nil
}

// close returns when all is written.
func (b *behind) close() error {
	close(b.full)
	for range b.empty {
	}
	if err := b.failed.Load(); err != nil {
		return *err
	}
	return nil
}
