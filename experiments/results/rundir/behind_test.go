package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

var errFull = errors.New("no space")

// disk fails like a full disk after so many bytes. It writes those that fit.
type disk struct {
	room int
	bytes.Buffer
}

func (d *disk) Write(p []byte) (int, error) {
	if room := d.room - d.Len(); len(p) > room {
		n, _ := d.Buffer.Write(p[:room])
		return n, errFull
	}
	return d.Buffer.Write(p)
}

// TestBehind checks that all data is written in order, even if the caller reuses its memory, and that after an error
// nothing more is written and the writer gets the error.
func TestBehind(t *testing.T) {
	for _, room := range []int{0, 1, 4999, 1 << 20} {
		to, want := &disk{room: room}, []byte{}
		b := newBehind(to)
		var heard error
		line := make([]byte, 0, 100)
		for i := range 5000 {
			line = fmt.Appendf(line[:0], "%d,", i)
			want = append(want, line...)
			if _, err := b.Write(line); err != nil {
				heard = err
			}
		}
		err := b.close()
		if full := len(want) > room; errors.Is(err, errFull) != full || errors.Is(heard, errFull) != full {
			t.Errorf("room for %d bytes: %v as they were written, %v at the end", room, heard, err)
		}
		if !bytes.Equal(to.Bytes(), want[:min(room, len(want))]) {
			t.Errorf("room for %d bytes: %d were written, or others", room, to.Len())
		}
	}
}
