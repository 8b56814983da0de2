//go:build !js

// Package capture writes frames to a pcapng file that Wireshark reads: one section, one interface a port, timestamps in
// virtual time.
package capture

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/pausenet/pausenet/vtime"
)

const (
	// bufferSize is how much is gathered before it is written. A kill loses at most this much.
	bufferSize = 256 << 10
	// maxBlock bounds what a packet block takes beside the frame: its head, tail and padding.
	maxBlock = 28 + 3 + 4
	// maxFrame is the longest frame accepted, so that a block always fits in the buffer.
	maxFrame = bufferSize - maxBlock
	// maxInterface bounds an interface block with a name of maxName bytes.
	maxInterface = 512
	maxName      = 255
)

// emptySection is a section header block without options: what a capture without ports consists of. (The library writes
// the header only together with a first interface.)
var emptySection = []byte{
	0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0,
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 28, 0, 0, 0,
}

// Writer writes one capture. It may be used by one goroutine at a time. Its bytes depend on the calls alone, so equal
// runs give equal files.
//
// It writes to the file whole blocks at a time: when the buffer is full, at Flush and at Close. When the process is
// killed the file therefore holds whole frames and lacks the last bufferSize bytes at most; if the kernel was in the
// middle of a write, it ends in a cut frame, and readers show all before that.
type Writer struct {
	out    io.Writer
	file   *os.File // out, if it is one
	buffer *bufio.Writer
	ng     *pcapgo.NgWriter // nil before the first port
	ports  int
	good   int64 // bytes written to out so far, whole blocks
	err    error // the first error; nothing is written after it
	closed bool
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
	port := pcapgo.NgInterface{Name: name, LinkType: layers.LinkTypeEthernet}
	if w.ng == nil {
		// Not the library's defaults, which name the build machine: the same run gives the same bytes anywhere.
		options := pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{Application: "pausenet"}}
		// The library makes a bufio.Writer of its own unless it is handed one: then it writes through ours.
		w.ng, err = pcapgo.NewNgWriterInterface(w.buffer, port, options)
	} else {
		_, err = w.ng.AddInterface(port)
	}
	if err != nil {
		return 0, w.fail(err)
	}
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
	info := gopacket.CaptureInfo{
		Timestamp:      time.Unix(0, t.Nanoseconds()),
		CaptureLength:  len(frame),
		Length:         len(frame),
		InterfaceIndex: id,
	}
	if err := w.ng.WritePacket(info, frame); err != nil {
		return w.fail(err)
	}
	return nil
}

// Flush writes out what is buffered.
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

// Close flushes and closes the file. It returns the first error of the capture's life, so a caller that only looks here
// misses nothing.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	if w.err == nil && w.ng == nil {
		if _, err := w.buffer.Write(emptySection); err != nil {
			_ = w.fail(err)
		}
	}
	err := w.Flush()
	w.closed = true
	if c, ok := w.out.(io.Closer); ok {
		if cerr := c.Close(); err == nil && cerr != nil {
			err = w.fail(cerr)
		}
	}
	if w.err == nil {
		w.err = errClosed // for what comes after
	}
	return err
}

var errClosed = errors.New("capture: already closed")

// reserve flushes unless n bytes fit in the buffer. bufio would fill the buffer to the brim, write that and go on: the
// file would end in half a block most of the time.
func (w *Writer) reserve(n int) error {
	if w.err == nil && w.buffer.Available() < n {
		return w.Flush()
	}
	return w.err
}

// cut removes the half block that a write which failed midway, on a full disk say, left behind. It is an attempt: a
// pipe cannot be cut.
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
