//go:build linux

package liveview

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

const (
	// A feed keeps the last messages, for pages that come, or come back: so many, of so many bytes.
	mostKept      = 600
	mostKeptBytes = 8 << 20
	// mostReaders is how many pages may look at once.
	mostReaders = 32
)

// feed has what pages are told. Who writes never waits for who reads: a reader that has fallen behind what is kept goes
// on with that.
type feed struct {
	called chan struct{} // a page has come

	mutex   sync.Mutex
	kept    [][]byte // as they are sent; the first has the number first
	first   int
	bytes   int
	wake    chan struct{} // closed as a message comes
	readers int
	over    bool
}

func newFeed() *feed {
	return &feed{called: make(chan struct{}, 1), first: 1, wake: make(chan struct{})}
}

// put adds a message. The value is the feed's own, so that it is always JSON.
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

// end adds the last message.
func (f *feed) end(value any) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if !f.over {
		f.add("ended", value)
		f.over = true
	}
}

// after are the messages behind one of a number, and the number of the last. wake is closed as there are more; over
// says that there will be none.
func (f *feed) after(number int) (messages [][]byte, last int, wake <-chan struct{}, over bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	last = f.first + len(f.kept) - 1
	from := number + 1 - f.first
	if from < 0 || number > last { // it is behind what is kept, or of another feed
		from = 0
	}
	return slices.Clone(f.kept[from:]), last, f.wake, f.over
}

// enter counts a page in, if there are not too many.
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

// leave counts it out.
func (f *feed) leave() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.readers--
}

// wanted says whether a page is there.
func (f *feed) wanted() bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.readers > 0
}
