package collective

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pausenet/pausenet/experiments/traffic/steps"
	"github.com/pausenet/pausenet/vtime"
)

// traced writes a trace as Chakra's encode_message does: messages, each with its length before it.
type traced struct{ data []byte }

func newTrace() *traced {
	t := &traced{}
	t.message(protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "0.0.4"))
	return t
}

func (t *traced) message(m []byte) { t.data = protowire.AppendBytes(t.data, m) }

func number(m []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), v)
}

func text(m []byte, field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), v)
}

// node adds a node that depends on others, and that the node after it calls, with attributes by name: whole numbers are
// int64_val, texts string_val, and bools bool_val.
func (t *traced) node(id, kind, duration uint64, deps []uint64, attributes map[string]any) {
	m := number(text(number(nil, 1, id), 2, "n"), 3, kind)
	packed := []byte{}
	for i, dep := range deps {
		if i == 0 {
			m = number(m, 5, dep) // as older encoders have it
			continue
		}
		packed = protowire.AppendVarint(packed, dep)
	}
	m = protowire.AppendBytes(protowire.AppendTag(m, 5, protowire.BytesType), packed)
	// ctrl_deps: an operator's parent (pytorch_converter.py), which may be in no trace, and may depend on it.
	m = number(m, 4, id+1)
	m = number(m, 7, duration)
	for name, v := range attributes {
		a := text(nil, 1, name)
		switch v := v.(type) {
		case int:
			a = number(a, 9, uint64(v))
		case string:
			a = text(a, 29, v)
		case bool:
			a = number(a, 27, protowire.EncodeBool(v))
		}
		m = protowire.AppendBytes(protowire.AppendTag(m, 10, protowire.BytesType), a)
	}
	t.message(m)
}

// training returns traces of two ranks that compute, exchange activations, and reduce gradients.
func training() [][]byte {
	a, b := newTrace(), newTrace()
	a.node(1, nodeCompute, 10, nil, map[string]any{"is_cpu_op": false})
	a.node(2, nodeSend, 0, []uint64{1}, map[string]any{"comm_size": 5000, "comm_src": 0, "comm_dst": 1, "comm_tag": 3})
	a.node(3, nodeCollective, 0, []uint64{1, 2}, map[string]any{"comm_type": 0, "comm_size": 8000, "pg_name": "0"})
	a.node(4, nodeCompute, 5, []uint64{3}, map[string]any{"is_cpu_op": true})
	b.node(7, nodeReceive, 0, nil, map[string]any{"comm_size": 5000, "comm_src": 0, "comm_dst": 1, "comm_tag": 3})
	b.node(8, nodeCompute, 20, []uint64{7}, nil)
	b.node(9, nodeCollective, 0, []uint64{8}, map[string]any{"comm_type": 0, "comm_size": 8000, "pg_name": "0"})
	b.node(10, nodeMetadata, 0, []uint64{9}, nil)
	return [][]byte{a.data, b.data}
}

func byRing(string, int) Spec { return Spec{Algorithm: Ring} }

func TestReadChakra(t *testing.T) {
	g, _, err := ReadChakra(training(), byRing)
	if err != nil {
		t.Fatal(err)
	}
	if g.Ranks != 2 || len(g.Messages) != 1+4 || len(g.Collectives) != 1 {
		t.Fatalf("%d ranks, %d messages, %d collectives", g.Ranks, len(g.Messages), len(g.Collectives))
	}
	if c := g.Collectives[0]; c.Kind != AllReduce || c.Size != 8000 || len(c.Ranks) != 2 || c.Iteration != -1 {
		t.Errorf("%+v", c)
	}
	if a, b := g.Operation(0), g.Operation(3); a.Unit == b.Unit || a.Duration != 10*vtime.Microsecond ||
		b.Duration != 5*vtime.Microsecond {
		t.Errorf("%+v and %+v", a, b)
	}
	// 10 us, the message 2 us, 20 us, two steps of 2 us of which the last is acknowledged after 3, and 5 us.
	order, _ := g.Order()
	took := g.Critical(order, 0, g.Added(), func(int32, vtime.Time) steps.Alone {
		return steps.Alone{Delivered: 2 * vtime.Microsecond, Acknowledged: 3 * vtime.Microsecond}
	})
	if took != (10+2+20+5+5)*vtime.Microsecond {
		t.Errorf("%v", took)
	}
}

// TestChakraSizes: comm_size is the size of a rank's input. ASTRA-sim's ring sends msg_size in each step (Ring.cc,
// Ring::Ring): of an all-gather comm_size, of the others that over the number of ranks. Of four ranks and 8000 bytes
// these are the messages.
func TestChakraSizes(t *testing.T) {
	for _, c := range []struct {
		collective int // CollectiveCommType
		kind       string
		size       int64
		messages   int
		sent       int64
	}{
		{collective: 0, kind: AllReduce, size: 8000, messages: 2 * 3 * 4, sent: 2000},
		{collective: 2, kind: AllGather, size: 32000, messages: 3 * 4, sent: 8000},
		{collective: 7, kind: ReduceScatter, size: 8000, messages: 3 * 4, sent: 2000},
		{collective: 6, kind: AllToAll, size: 8000, messages: 3 * 4, sent: 2000},
		{collective: 5, kind: Broadcast, size: 8000, messages: 3, sent: 8000},
	} {
		var traces [][]byte
		for range 4 {
			own := newTrace()
			own.node(1, nodeCollective, 0, nil, map[string]any{"comm_type": c.collective, "comm_size": 8000, "pg_name": "0"})
			traces = append(traces, own.data)
		}
		g, warning, err := ReadChakra(traces, byRing)
		if err != nil || warning != "" {
			t.Fatal(warning, err)
		}
		if got := g.Collectives[0]; got.Kind != c.kind || got.Size != c.size || len(g.Messages) != c.messages {
			t.Errorf("%s of %d bytes by %d messages, want %s of %d by %d", got.Kind, got.Size, len(g.Messages), c.kind, c.size,
				c.messages)
		}
		for _, m := range g.Messages {
			if m.Size != c.sent {
				t.Errorf("%s: a message of %d bytes, want %d", c.kind, m.Size, c.sent)
			}
		}
	}
}

// TestChakraDanglingDependencies checks that nodes with dependencies on missing nodes, as in mlcommons/chakra's feeder
// test, start without them.
func TestChakraDanglingDependencies(t *testing.T) {
	a, b := newTrace(), newTrace()
	a.node(1, nodeCompute, 10, []uint64{5}, nil)
	a.node(2, nodeCompute, 10, []uint64{1, 7}, nil)
	b.node(1, nodeCompute, 1, nil, nil)
	g, warning, err := ReadChakra([][]byte{a.data, b.data}, byRing)
	if err != nil {
		t.Fatal(err)
	}
	first, second := slices.Collect(g.Waits(0)), slices.Collect(g.Waits(1))
	if len(first) != 0 || len(second) != 1 {
		t.Errorf("the nodes wait for %v and %v", first, second)
	}
	want := "the traces lack nodes on which others depend, and 2 such dependencies are ignored, so nodes may start too early. " +
		"The first is that of node 1 of rank 0 on node 5. "
	if !strings.HasPrefix(warning, want) {
		t.Errorf("%q, want %q", warning, want)
	}
}

// TestChakraMistakes checks that each mistake is reported with its rank and node.
func TestChakraMistakes(t *testing.T) {
	one := func(kind uint64, deps []uint64, attributes map[string]any) [][]byte {
		a, b := newTrace(), newTrace()
		a.node(1, kind, 0, deps, attributes)
		return [][]byte{a.data, b.data}
	}
	twice, apart, cyclic := newTrace(), training(), newTrace()
	twice.node(1, nodeCompute, 0, nil, nil)
	twice.node(1, nodeCompute, 0, nil, nil)
	other := newTrace()
	other.node(1, nodeCollective, 0, nil, map[string]any{"comm_type": 0, "comm_size": 9000, "pg_name": "0"})
	apart[1] = other.data
	first := newTrace()
	first.node(1, nodeCollective, 0, nil, map[string]any{"comm_type": 0, "comm_size": 8000, "pg_name": "0"})
	apart[0] = first.data
	cyclic.node(1, nodeCompute, 1, []uint64{2}, nil)
	cyclic.node(2, nodeCompute, 1, []uint64{1}, nil)
	for _, c := range []struct {
		traces [][]byte
		want   string
	}{
		{[][]byte{{5, 1}}, "trace of rank 0: message 0: "},
		{one(99, nil, nil), "trace of rank 0: node 1 (n) has the unknown kind 99"},
		{
			one(nodeSend, nil, map[string]any{"comm_dst": 4}),
			"trace of rank 0: node 1 names rank 4 as its peer: expected another rank from 0 to 1",
		},
		{
			one(nodeSend, nil, map[string]any{"comm_dst": 1}),
			"trace of rank 0: no receive of rank 1 matches the send of node 1",
		},
		{
			one(nodeReceive, nil, map[string]any{"comm_src": 1, "comm_tag": 2}),
			"trace of rank 0: no send from rank 1 with tag 2 matches the receive of node 1",
		},
		{[][]byte{twice.data}, "trace of rank 0: node 1 occurs twice"},
		{apart, `group "0": the collectives of ranks 0 and 1 differ in kind or order`},
		{[][]byte{cyclic.data}, "nodes wait for each other in a cycle and can never start: operation 0 " +
			"(rank 0 computes 1us), which waits for operation 1"},
	} {
		if _, _, err := ReadChakra(c.traces, byRing); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestChakraLargestMessage: a message has at most 2^40 bytes.
func TestChakraLargestMessage(t *testing.T) {
	for size, want := range map[int]string{
		1 << 40:   "",
		1<<40 + 1: "trace of rank 0: node 1 has 1099511627777 bytes, but at most 2^40 are possible",
	} {
		a, b := newTrace(), newTrace()
		a.node(1, nodeSend, 0, nil, map[string]any{"comm_dst": 1, "comm_size": size})
		b.node(1, nodeReceive, 0, nil, map[string]any{"comm_src": 0, "comm_size": size})
		if _, _, err := ReadChakra([][]byte{a.data, b.data}, byRing); (want == "") != (err == nil) || err != nil &&
			err.Error() != want {
			t.Errorf("%d bytes: %v, want %q", size, err, want)
		}
	}
}

// FuzzReadChakra checks that any two files are refused, or that all of their operations have an order.
func FuzzReadChakra(f *testing.F) {
	traces := training()
	f.Add(traces[0], traces[1])
	f.Add([]byte{0, 2, 8, 1}, []byte{})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		g, _, err := ReadChakra([][]byte{a, b}, byRing)
		if err != nil {
			return
		}
		if order, _ := g.Order(); len(order) != int(g.Added()) {
			t.Fatal("operations wait for each other")
		}
		for i := range g.Messages {
			if g.Messages[i].Size < 1 {
				t.Fatalf("message %+v", g.Messages[i])
			}
		}
	})
}
