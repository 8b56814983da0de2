// Package capture writes frames to a pcapng file for Wireshark: one section, one interface per port, timestamps in
// virtual time.
package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/pausenet/pausenet/vtime"
)

const (
	// bufferSize sets the size of the write buffer, in bytes. A kill loses at most this much.
	bufferSize = 256 << 10
	// maxBlock limits the bytes of a packet block besides the frame: its head, tail and padding.
	maxBlock = 28 + 3 + 4
	// maxFrame limits the length of frames, so that a block always fits in the buffer.
	maxFrame = bufferSize - maxBlock
	// maxInterface limits a section's header and an interface block with a name of maxName bytes.
	maxInterface = 512
	maxName      = 255
)

// Types of blocks, options and links (draft-ietf-opsawg-pcapng).
const (
	sectionBlock   = 0x0A0D0D0A
	interfaceBlock = 1
	packetBlock    = 6

	optionEnd                 = 0
	optionSectionApplication  = 4
	optionInterfaceName       = 2
	optionInterfaceResolution = 9

	byteOrder    = 0x1A2B3C4D
	linkEthernet = 1
)

// Writer writes one capture. Only one goroutine at a time may use it. Its output depends only on the calls, so equal
// runs give equal files.
//
// It writes to the file whole blocks at a time: when the buffer is full, at Flush and at Close. So after a kill the
// file holds whole frames and lacks the last bufferSize bytes at most. If the kill interrupted a write, the file ends
// in a partial frame, and readers show all frames before it.
type Writer struct {
	out     io.Writer
	file    *os.File // out, if it is a file
	buffer  *bufio.Writer
	started bool // the section's header is written
	ports   int
	good    int64 // bytes written to out so far, whole blocks
	err     error // the first error; nothing is written after it
	closed  bool
}

// NewFile writes a capture to an empty file.
func NewFile(f *os.File) *Writer {
	w := NewWriter(f)
	w.file = f
	return w
}

// NewWriter writes a capture to out. Close closes out if it is an io.Closer.
func NewWriter(out io.Writer) *Writer {
	return &Writer{out: out, buffer: bufio.NewWriterSize(out, bufferSize)}
}

// AddPort adds a port by its interface name and returns the id under which to write its frames. Ports may be added at
// any time.
func (w *Writer) AddPort(name string) (id int, err error) {
	if len(name) > maxName {
		return 0, fmt.Errorf("capture: port name of %d bytes", len(name))
	}
	if err := w.reserve(maxInterface); err != nil {
		return 0, err
	}
	w.begin()
	b := begin(w.buffer.AvailableBuffer(), interfaceBlock)
	b = binary.LittleEndian.AppendUint32(b, linkEthernet)
	b = binary.LittleEndian.AppendUint32(b, 0) // frames of any length
	b = appendOption(b, optionInterfaceName, name)
	b = appendOption(b, optionInterfaceResolution, "\x09") // nanoseconds
	w.put(appendOption(b, optionEnd, ""))
	w.ports++
	return w.ports - 1, nil
}

// Write adds a frame, without FCS, that passed port id at time t. The file shows t as nanoseconds, rounded down, since
// 1970-01-01T00:00:00: time 0 of the run is the epoch.
func (w *Writer) Write(id int, t vtime.Time, frame []byte) error {
	switch {
	case id < 0 || id >= w.ports:
		return fmt.Errorf("capture: no port with id %d", id)
	case t < 0:
		return fmt.Errorf("capture: time %v is before the start of the run", t)
	case len(frame) > maxFrame:
		return fmt.Errorf("capture: frame of %d bytes", len(frame))
	}
	if err := w.reserve(maxBlock + len(frame)); err != nil {
		return err
	}
	ns := t.Nanoseconds()
	b := begin(w.buffer.AvailableBuffer(), packetBlock)
	for _, v := range [...]int64{int64(id), ns >> 32, ns, int64(len(frame)), int64(len(frame))} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	w.put(append(b, frame...))
	return nil
}

// begin writes the header of the capture's section, once. It names no build machine: the same run gives the same bytes
// anywhere.
func (w *Writer) begin() {
	if w.started {
		return
	}
	w.started = true
	b := begin(w.buffer.AvailableBuffer(), sectionBlock)
	b = binary.LittleEndian.AppendUint32(b, byteOrder)
	b = binary.LittleEndian.AppendUint32(b, 1)       // version 1.0
	b = binary.LittleEndian.AppendUint64(b, 1<<64-1) // a section of unknown length
	b = appendOption(b, optionSectionApplication, "pausenet")
	w.put(appendOption(b, optionEnd, ""))
}

// begin appends the start of a block. put sets its length.
func begin(b []byte, kind uint32) []byte {
	b = binary.LittleEndian.AppendUint32(b, kind)
	return append(b, 0, 0, 0, 0)
}

func appendOption(b []byte, code uint16, value string) []byte {
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
	return pad(append(b, value...))
}

// pad fills a block up to a multiple of four bytes.
func pad(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }

// put writes a block, with its length, to the buffer. The caller has reserved room, so nothing reaches the file.
func (w *Writer) put(block []byte) {
	block = pad(block)
	length := uint32(len(block) + 4)
	binary.LittleEndian.PutUint32(block[4:], length)
	_, _ = w.buffer.Write(binary.LittleEndian.AppendUint32(block, length))
}

// Flush writes the buffered blocks.
func (w *Writer) Flush() error {
	if w.err != nil {
		return w.err
	}
	n := w.buffer.Buffered()
	if err := w.buffer.Flush(); err != nil {
		w.cut()
		return w.fail(err)
	}
	w.good += int64(n)
	return nil
}

// Close flushes and closes the file. It returns the first error since the capture was opened, so checking only this
// error is enough.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	if w.err == nil {
		w.begin()
	}
	err := w.Flush()
	w.closed = true
	if c, ok := w.out.(io.Closer); ok {
		if cerr := c.Close(); err == nil && cerr != nil {
			err = w.fail(cerr)
		}
	}
	if w.err == nil {
		w.err = errClosed // for later calls
	}
	return err
}

var errClosed = errors.New("capture: already closed")

// reserve flushes unless n bytes fit in the buffer. bufio would fill the buffer completely, write that and continue:
// the file would end in a partial block most of the time.
func (w *Writer) reserve(n int) error {
	if w.err == nil && w.buffer.Available() < n {
		return w.Flush()
	}
	return w.err
}

// cut tries to remove the partial block of a failed write, such as on a full disk. A pipe cannot be cut.
func (w *Writer) cut() {
	if w.file != nil {
		_ = w.file.Truncate(w.good)
	}
}

func (w *Writer) fail(err error) error {
	if w.err == nil {
		w.err = fmt.Errorf("write capture: %w", err)
	}
	return w.err
}
