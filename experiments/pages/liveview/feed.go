//go:build linux

package liveview

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

const (
	// A feed keeps its last messages, for new and reconnecting pages. These limit their number and bytes.
	mostKept      = 600
	mostKeptBytes = 8 << 20
	// mostReaders limits the number of pages open at once.
	mostReaders = 32
)

// feed holds the messages for pages. Writers never wait for readers: a reader that has fallen behind skips messages.
type feed struct {
	called chan struct{} // a page has connected

	mutex   sync.Mutex
	kept    [][]byte // in order; the first has the number first
	first   int
	bytes   int
	wake    chan struct{} // closed when a message arrives
	readers int
	over    bool
}

func newFeed() *feed {
	return &feed{called: make(chan struct{}, 1), first: 1, wake: make(chan struct{})}
}

// put appends a message. The value is the feed's own type, so encoding cannot fail.
func (f *feed) put(kind string, value any) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if !f.over {
		f.add(kind, value)
	}
}

func (f *feed) add(kind string, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		return
	}
	text := fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", f.first+len(f.kept), kind, data)
	f.kept = append(f.kept, text)
	f.bytes += len(text)
	for len(f.kept) > mostKept || f.bytes > mostKeptBytes && len(f.kept) > 1 {
		f.bytes -= len(f.kept[0])
		f.kept[0] = nil
		f.kept = f.kept[1:]
		f.first++
	}
	close(f.wake)
	f.wake = make(chan struct{})
}

// end appends the last message.
func (f *feed) end(value any) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if !f.over {
		f.add("ended", value)
		f.over = true
	}
}

// after returns the messages after a number, and the number of the last. wake is closed when more arrive; over means
// that none will.
func (f *feed) after(number int) (messages [][]byte, last int, wake <-chan struct{}, over bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	last = f.first + len(f.kept) - 1
	from := number + 1 - f.first
	if from < 0 || number > last { // it has fallen behind, or belongs to another feed
		from = 0
	}
	return slices.Clone(f.kept[from:]), last, f.wake, f.over
}

// enter registers a page, unless there are too many.
func (f *feed) enter() bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.readers == mostReaders {
		return false
	}
	f.readers++
	select {
	case f.called <- struct{}{}:
	default:
	}
	return true
}

// leave unregisters a page.
func (f *feed) leave() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.readers--
}

// wanted reports whether any page is open.
func (f *feed) wanted() bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.readers > 0
}
