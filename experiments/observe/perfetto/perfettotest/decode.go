// Package perfettotest reads traces with Google's protobuf library, by the fields in Perfetto's .proto files. Tests use
// it to check written traces.
package perfettotest

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// schema holds the definitions of the written messages in protos/perfetto/trace, as a FileDescriptorProto.
const schema = `
name: "trace.proto" package: "perfetto.protos" syntax: "proto2"
message_type { name: "Trace"
  field { name: "packet" number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".perfetto.protos.TracePacket" } }
message_type { name: "TracePacket"
  field { name: "timestamp" number: 8 label: LABEL_OPTIONAL type: TYPE_UINT64 }
  field { name: "trusted_packet_sequence_id" number: 10 label: LABEL_OPTIONAL type: TYPE_UINT32 }
  field { name: "track_event" number: 11 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".perfetto.protos.TrackEvent" }
  field { name: "track_descriptor" number: 60 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".perfetto.protos.TrackDescriptor" } }
message_type { name: "TrackDescriptor"
  field { name: "uuid" number: 1 label: LABEL_OPTIONAL type: TYPE_UINT64 }
  field { name: "name" number: 2 label: LABEL_OPTIONAL type: TYPE_STRING }
  field { name: "process" number: 3 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".perfetto.protos.ProcessDescriptor" }
  field { name: "parent_uuid" number: 5 label: LABEL_OPTIONAL type: TYPE_UINT64 }
  field { name: "counter" number: 8 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".perfetto.protos.CounterDescriptor" } }
message_type { name: "ProcessDescriptor"
  field { name: "pid" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 }
  field { name: "process_name" number: 6 label: LABEL_OPTIONAL type: TYPE_STRING } }
message_type { name: "CounterDescriptor"
  field { name: "unit" number: 3 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".perfetto.protos.Unit" }
  field { name: "unit_name" number: 6 label: LABEL_OPTIONAL type: TYPE_STRING } }
message_type { name: "TrackEvent"
  field { name: "debug_annotations" number: 4 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".perfetto.protos.DebugAnnotation" }
  field { name: "type" number: 9 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".perfetto.protos.Type" }
  field { name: "track_uuid" number: 11 label: LABEL_OPTIONAL type: TYPE_UINT64 }
  field { name: "name" number: 23 label: LABEL_OPTIONAL type: TYPE_STRING }
  field { name: "counter_value" number: 30 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "flow_ids" number: 47 label: LABEL_REPEATED type: TYPE_FIXED64 }
  field { name: "terminating_flow_ids" number: 48 label: LABEL_REPEATED type: TYPE_FIXED64 } }
message_type { name: "DebugAnnotation"
  field { name: "int_value" number: 4 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "string_value" number: 6 label: LABEL_OPTIONAL type: TYPE_STRING }
  field { name: "name" number: 10 label: LABEL_OPTIONAL type: TYPE_STRING } }
enum_type { name: "Unit" value { name: "UNIT_UNSPECIFIED" number: 0 } value { name: "UNIT_TIME_NS" number: 1 }
  value { name: "UNIT_COUNT" number: 2 } value { name: "UNIT_SIZE_BYTES" number: 3 } }
enum_type { name: "Type" value { name: "TYPE_UNSPECIFIED" number: 0 } value { name: "TYPE_SLICE_BEGIN" number: 1 }
  value { name: "TYPE_SLICE_END" number: 2 } value { name: "TYPE_INSTANT" number: 3 } value { name: "TYPE_COUNTER" number: 4 } }
`

// Track holds a track's descriptor.
type Track struct {
	Name, Unit string
	Process    int // number; 0: the track is not a process
	Parent     uint64
	Counter    bool
}

// Event holds one event on a track. A slice has one for its start and its end.
type Event struct {
	Type     string // TYPE_...
	Track    uint64
	At, To   int64 // ns
	Name     string
	Value    int64
	Notes    map[string]string
	Flows    []uint64
	FlowEnds []uint64
}

// Trace holds a decoded trace.
type Trace struct {
	Tracks map[uint64]Track
	Events []Event // in their order in the file
}

// Read reads a trace and checks what readers rely on: only known fields, tracks before their events, slices of a track
// that do not overlap, and arrows that start at one slice and end at a later one.
func Read(data []byte) (*Trace, error) {
	file := new(descriptorpb.FileDescriptorProto)
	if err := prototext.Unmarshal([]byte(schema), file); err != nil {
		return nil, err
	}
	types, err := protodesc.NewFile(file, nil)
	if err != nil {
		return nil, err
	}
	message := dynamicpb.NewMessage(types.Messages().ByName("Trace"))
	if err := proto.Unmarshal(data, message); err != nil {
		return nil, err
	}
	t := &Trace{Tracks: map[uint64]Track{}}
	open := map[uint64]int{} // slices, by track
	packets := message.Get(field(message, "packet")).List()
	for i := range packets.Len() {
		p := packets.Get(i).Message()
		if err := known(p); err != nil {
			return nil, err
		}
		if d := sub(p, "track_descriptor"); d != nil {
			err = t.describe(d)
		} else if e := sub(p, "track_event"); e != nil {
			err = t.event(p, e, open)
		} else {
			err = errors.New("a packet with neither a track nor an event")
		}
		if err != nil {
			return nil, err
		}
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("%d slices have no end", len(open))
	}
	return t, t.arrows()
}

func (t *Trace) describe(d protoreflect.Message) error {
	id, parent := number(d, "uuid"), number(d, "parent_uuid")
	if _, twice := t.Tracks[id]; twice || id == 0 {
		return fmt.Errorf("track %d is described twice, or has no number", id)
	}
	if _, there := t.Tracks[parent]; parent != 0 && !there {
		return fmt.Errorf("track %d is below %d, which was not described before", id, parent)
	}
	track := Track{Name: text(d, "name"), Parent: parent}
	if p := sub(d, "process"); p != nil {
		track.Process = int(p.Get(field(p, "pid")).Int())
		if text(p, "process_name") != track.Name {
			return fmt.Errorf("process %q is named %q", text(p, "process_name"), track.Name)
		}
	}
	if c := sub(d, "counter"); c != nil {
		track.Counter, track.Unit = true, text(c, "unit_name")
		if u := field(c, "unit"); c.Has(u) {
			track.Unit = string(u.Enum().Values().ByNumber(c.Get(u).Enum()).Name())
		}
	}
	t.Tracks[id] = track
	return nil
}

func (t *Trace) event(p, e protoreflect.Message, open map[uint64]int) error {
	if number(p, "trusted_packet_sequence_id") == 0 {
		return errors.New("an event of no sequence")
	}
	kind := field(e, "type")
	ev := Event{
		Type: string(kind.Enum().Values().ByNumber(e.Get(kind).Enum()).Name()), Track: number(e, "track_uuid"),
		At:   int64(number(p, "timestamp")),
		Name: text(e, "name"), Value: e.Get(field(e, "counter_value")).Int(), Notes: map[string]string{},
		Flows: numbers(e, "flow_ids"), FlowEnds: numbers(e, "terminating_flow_ids"),
	}
	track, there := t.Tracks[ev.Track]
	if !there || track.Counter != (ev.Type == "TYPE_COUNTER") {
		return fmt.Errorf("an event of type %s is on track %d, which is %+v", ev.Type, ev.Track, track)
	}
	notes := e.Get(field(e, "debug_annotations")).List()
	for i := range notes.Len() {
		n := notes.Get(i).Message()
		if ev.Notes[text(n, "name")] = text(n, "string_value"); !n.Has(field(n, "string_value")) {
			ev.Notes[text(n, "name")] = fmt.Sprint(n.Get(field(n, "int_value")).Int())
		}
	}
	last, isOpen := open[ev.Track]
	switch ev.Type {
	case "TYPE_SLICE_BEGIN":
		if isOpen {
			return fmt.Errorf("two slices at a time on track %d", ev.Track)
		}
		open[ev.Track] = len(t.Events)
	case "TYPE_SLICE_END":
		if !isOpen || ev.At < t.Events[last].At {
			return fmt.Errorf("a slice of track %d ends at %d and has no beginning before", ev.Track, ev.At)
		}
		t.Events[last].To = ev.At
		delete(open, ev.Track)
		return nil
	}
	t.Events = append(t.Events, ev)
	return nil
}

// arrows checks that each begins once and ends once, later.
func (t *Trace) arrows() error {
	begin := map[uint64]int64{}
	for i := range t.Events {
		for _, n := range t.Events[i].Flows {
			if _, twice := begin[n]; twice {
				return fmt.Errorf("arrow %d begins twice", n)
			}
			begin[n] = t.Events[i].At
		}
	}
	for i := range t.Events {
		for _, n := range t.Events[i].FlowEnds {
			if at, known := begin[n]; !known || at >= t.Events[i].At {
				return fmt.Errorf("arrow %d ends at %d and begins at %d (%v)", n, t.Events[i].At, at, known)
			}
			delete(begin, n)
		}
	}
	if len(begin) > 0 {
		return fmt.Errorf("%d arrows have no end", len(begin))
	}
	return nil
}

// known refuses fields that the schema has not, at any depth.
func known(m protoreflect.Message) (err error) {
	if len(m.GetUnknown()) > 0 {
		return fmt.Errorf("%s has fields that are none of it", m.Descriptor().FullName())
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				err = errors.Join(err, known(v.List().Get(i).Message()))
			}
		default:
			err = errors.Join(err, known(v.Message()))
		}
		return err == nil
	})
	return err
}

func field(m protoreflect.Message, name protoreflect.Name) protoreflect.FieldDescriptor {
	return m.Descriptor().Fields().ByName(name)
}

func sub(m protoreflect.Message, name protoreflect.Name) protoreflect.Message {
	if f := field(m, name); m.Has(f) {
		return m.Get(f).Message()
	}
	return nil
}

func text(m protoreflect.Message, name protoreflect.Name) string {
	return m.Get(field(m, name)).String()
}

func number(m protoreflect.Message, name protoreflect.Name) uint64 {
	return m.Get(field(m, name)).Uint()
}

func numbers(m protoreflect.Message, name protoreflect.Name) (all []uint64) {
	list := m.Get(field(m, name)).List()
	for i := range list.Len() {
		all = append(all, list.Get(i).Uint())
	}
	return all
}
