// Package perfetto writes traces that ui.perfetto.dev and Perfetto's trace processor open: protobuf messages of type
// Trace, as https://perfetto.dev/docs/reference/trace-packet-proto and .../synthetic-track-event describe them.
package perfetto

import (
	"bufio"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of the messages, by their names in Perfetto's .proto files.
const (
	tracePacket = 1

	packetTimestamp  = 8
	packetSequence   = 10
	packetTrackEvent = 11
	packetDescriptor = 60

	descriptorUUID    = 1
	descriptorName    = 2
	descriptorProcess = 3
	descriptorParent  = 5
	descriptorCounter = 8

	processPID  = 1
	processName = 6

	counterUnit     = 3
	counterUnitName = 6

	eventAnnotation              = 4
	eventType                    = 9
	eventTrack                   = 11
	eventName                    = 23
	eventCounter                 = 30
	eventFlows                   = 47
	eventTerminatingFlows        = 48
	annotationInt                = 4
	annotationString             = 6
	annotationName               = 10
	typeBegin             uint64 = 1
	typeEnd               uint64 = 2
	typeInstant           uint64 = 3
	typeCounter           uint64 = 4
)

// Unit selects the unit of a counter.
type Unit uint64

// Units that Perfetto knows; a counter in another unit has a unit name.
const (
	Other Unit = 0
	Count Unit = 2
	Bytes Unit = 3
)

// sequence identifies the writer of the packets: there is only one.
const sequence = 1

// Track identifies a row of events, numbered by the writer from 1.
type Track uint64

// Writer writes a trace. Its methods may be called in any order of time, but a track must be created before its events.
// After the first error in writing, the writer writes nothing more, and Close returns the error.
type Writer struct {
	to     *bufio.Writer
	err    error
	tracks Track
	// Messages under construction: a packet, in it an event or a descriptor, and in that a nested message.
	packet, body, part []byte
}

// New returns a writer of a trace, for example to a file.
func New(to io.Writer) *Writer { return &Writer{to: bufio.NewWriterSize(to, 1<<16)} }

// Close writes buffered data; it does not close the underlying writer.
func (w *Writer) Close() error {
	if err := w.to.Flush(); w.err == nil {
		w.err = err
	}
	return w.err
}

// Process creates a track for events that belong together, such as those of a node's ports. Processes are shown in
// order of their numbers, from 1.
func (w *Writer) Process(number int, name string) Track {
	w.part = appendUint(w.part[:0], processPID, uint64(number))
	w.part = appendText(w.part, processName, name)
	w.descriptor(0, name)
	w.body = appendMessage(w.body, descriptorProcess, w.part)
	return w.track()
}

// Track creates a track for slices and instants below another. Tracks with the same name and parent are shown as one
// with several rows.
func (w *Writer) Track(below Track, name string) Track {
	w.descriptor(below, name)
	return w.track()
}

// Counter creates a track for values over time below another.
func (w *Writer) Counter(below Track, name string, unit Unit, unitName string) Track {
	w.part = w.part[:0]
	if unit != Other {
		w.part = appendUint(w.part, counterUnit, uint64(unit))
	}
	if unitName != "" {
		w.part = appendText(w.part, counterUnitName, unitName)
	}
	w.descriptor(below, name)
	w.body = appendMessage(w.body, descriptorCounter, w.part)
	return w.track()
}

// descriptor starts the descriptor of the next track.
func (w *Writer) descriptor(below Track, name string) {
	w.tracks++
	w.body = appendUint(w.body[:0], descriptorUUID, uint64(w.tracks))
	w.body = appendText(w.body, descriptorName, name)
	if below != 0 {
		w.body = appendUint(w.body, descriptorParent, uint64(below))
	}
}

func (w *Writer) track() Track {
	w.packet = w.packet[:0]
	w.write(packetDescriptor)
	return w.tracks
}

// Note annotates a slice or an instant: its value is Text, or Whole if that is empty.
type Note struct {
	Name  string
	Text  string
	Whole int64
}

// Slice represents an interval on a track.
type Slice struct {
	Track    Track
	Name     string
	From, To int64 // ns
	Notes    []Note
	Causes   []uint64 // numbers of arrows that start here
	Caused   uint64   // number of the arrow that ends here; 0: none. The slice of its start must start earlier.
}

// Slice writes a slice. Those of a track must not overlap.
func (w *Writer) Slice(s *Slice) {
	w.event(typeBegin, s.Track)
	w.body = appendText(w.body, eventName, s.Name)
	w.notes(s.Notes)
	for _, n := range s.Causes {
		w.body = protowire.AppendFixed64(protowire.AppendTag(w.body, eventFlows, protowire.Fixed64Type), n)
	}
	if s.Caused != 0 {
		w.body = protowire.AppendFixed64(protowire.AppendTag(w.body, eventTerminatingFlows, protowire.Fixed64Type), s.Caused)
	}
	w.at(s.From)
	w.event(typeEnd, s.Track)
	w.at(s.To)
}

// Instant writes something that happens at a time.
func (w *Writer) Instant(track Track, name string, at int64, notes ...Note) {
	w.event(typeInstant, track)
	w.body = appendText(w.body, eventName, name)
	w.notes(notes)
	w.at(at)
}

// Value writes a counter's value from a time on.
func (w *Writer) Value(counter Track, at, value int64) {
	w.event(typeCounter, counter)
	w.body = appendUint(w.body, eventCounter, uint64(value))
	w.at(at)
}

func (w *Writer) event(kind uint64, track Track) {
	w.body = appendUint(appendUint(w.body[:0], eventType, kind), eventTrack, uint64(track))
}

func (w *Writer) notes(notes []Note) {
	for i := range notes {
		n := &notes[i]
		w.part = appendText(w.part[:0], annotationName, n.Name)
		if n.Text != "" {
			w.part = appendText(w.part, annotationString, n.Text)
		} else {
			w.part = appendUint(w.part, annotationInt, uint64(n.Whole))
		}
		w.body = appendMessage(w.body, eventAnnotation, w.part)
	}
}

// at writes the time of the event.
func (w *Writer) at(at int64) {
	w.packet = appendUint(w.packet[:0], packetTimestamp, uint64(at))
	w.write(packetTrackEvent)
}

// write writes the packet, with the body as the given field.
func (w *Writer) write(field protowire.Number) {
	if w.err != nil {
		return
	}
	w.packet = appendMessage(appendUint(w.packet, packetSequence, sequence), field, w.body)
	w.part = protowire.AppendVarint(protowire.AppendTag(w.part[:0], tracePacket, protowire.BytesType),
		uint64(len(w.packet)))
	if _, w.err = w.to.Write(w.part); w.err == nil {
		_, w.err = w.to.Write(w.packet)
	}
}

func appendUint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendText(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func appendMessage(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}
