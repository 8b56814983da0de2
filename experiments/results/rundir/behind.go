package rundir

import (
	"io"
	"sync/atomic"
)

// behind implements a writer with its own goroutine, so that a run continues while the system writes a large table. It
// writes nothing after an error.
type behind struct {
	to          io.Writer
	full, empty chan []byte
	failed      atomic.Pointer[error]
}

// blocks limits the blocks in progress at once.
const blocks = 4

// newBehind returns a writer, which the caller must close.
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

// Write copies bytes and queues them. It returns the error of any earlier write.
func (b *behind) Write(p []byte) (int, error) {
	if err := b.failed.Load(); err != nil {
		return 0, *err
	}
	b.full <- append((<-b.empty)[:0], p...)
	return len(p), nil
}

// close waits until everything is written.
func (b *behind) close() error {
	close(b.full)
	for range b.empty {
	}
	if err := b.failed.Load(); err != nil {
		return *err
	}
	return nil
}
