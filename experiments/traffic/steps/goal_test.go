package steps

import (
	_ "embed"
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/vtime"
)

// The schedule is a dissemination among three ranks, in GOAL's text as LogGOPSim's Schedgen writes it, with comments as
// its txt2bin reads them.
const schedule = `
num_ranks 3

rank 0 {
l1: calc 100
l2: send 10b to 1 tag 7
l3: recv 20b from 2 tag 7
l4: calc 50 cpu 1
l2 requires l1
l4 irequires l2
}
/* two
   lines */
rank 1 { a: recv 10b from 0 tag 7
b: send 30b to 2 tag 7 cpu 0 nic 1 // to the next
b requires a
}
rank 2 {
c: recv 30b from 1 tag 7
send 20b to 0 tag 7
x: send 5b to 2
y: recv 5b from 2
}
`

func TestReadGOAL(t *testing.T) {
	g, err := ReadGOAL([]byte(schedule), 2*vtime.Nanosecond)
	if err != nil {
		t.Fatal(err)
	}
	if g.Ranks != 3 || g.Added() != 10 || len(g.Messages) != 3 {
		t.Fatalf("%d ranks, %d operations, %d messages", g.Ranks, g.Added(), len(g.Messages))
	}
	var all []string
	for i := range g.Added() {
		text := g.Describe(i)
		for w := range g.Waits(i) {
			text += " after " + g.Describe(w.Operation) + []string{"", " sent", " started"}[w.Until]
		}
		all = append(all, text)
	}
	for _, want := range []string{
		"operation 1 (rank 0 sends 10 bytes to rank 1) after operation 0 (rank 0 computes 200ns)",
		"operation 3 (rank 0 computes 100ns) after operation 1 (rank 0 sends 10 bytes to rank 1) started",
		"operation 5 (rank 1 sends 30 bytes to rank 2) after operation 4 (rank 1 receives 10 bytes from rank 0)",
		"operation 9 (rank 2 waits) after operation 8 (rank 2 waits)",
	} {
		if !strings.Contains(strings.Join(all, "\n")+"\n", want+"\n") {
			t.Errorf("no %q in\n%s", want, strings.Join(all, "\n"))
		}
	}
	if g.Operation(0).Unit != 1 || g.Operation(3).Unit != 2 {
		t.Errorf("cpus %d and %d", g.Operation(0).Unit, g.Operation(3).Unit)
	}
}

// binarySchedule holds the schedule in binary form, written by LogGOPSim's own code: testdata/goal.cpp.
//
//go:embed testdata/schedule.bin
var binarySchedule []byte

// TestReadGOALBinary: the binary form of a schedule is read as its text is.
func TestReadGOALBinary(t *testing.T) {
	want, err := ReadGOAL([]byte(schedule), 2*vtime.Nanosecond)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadGOAL(binarySchedule, 2*vtime.Nanosecond)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want.Added() {
		a, b := got.Operation(i), want.Operation(i)
		has, wants := slices.Collect(got.Waits(i)), slices.Collect(want.Waits(i))
		if a != b || !slices.Equal(has, wants) {
			t.Errorf("operation %d is %+v after %v, want %+v after %v", i, a, has, b, wants)
		}
	}
	if got.Ranks != want.Ranks || !reflect.DeepEqual(got.Messages, want.Messages) {
		t.Errorf("%d ranks, %v, want %d, %v", got.Ranks, got.Messages, want.Ranks, want.Messages)
	}
}

// TestGOALBinaryMistakes checks that a truncated, spent or foreign file is refused with the remedy.
func TestGOALBinaryMistakes(t *testing.T) {
	for n := 1; n < len(binarySchedule); n++ {
		if _, err := ReadGOAL(binarySchedule[:n], vtime.Nanosecond); err == nil {
			t.Errorf("the first %d bytes are read as a schedule", n)
		}
	}
	with := func(at int, value uint32) []byte {
		data := slices.Clone(binarySchedule)
		binary.LittleEndian.PutUint32(data[at:], value)
		return data
	}
	// Rank 0's schedule begins at byte 8 + 0x36: 2 counts and 2 numbers of 4 bytes before its first operation.
	const first = 8 + 0x36 + 4*4
	for _, c := range []struct {
		data []byte
		want string
	}{
		{with(0, goalSpentCookie), "binary GOAL that a simulation with --save-mem has used up: write it again " +
			"(txt2bin -i schedule.goal -o schedule.bin)"},
		{with(0, 17), "neither GOAL's text nor the binary form that LogGOPSim's txt2bin writes (txt2bin -i schedule.goal -o schedule.bin)"},
		{with(8, 0), "binary GOAL: 0 ranks: expected 1 to 65536"},
		{with(first+goalNode+5, 7), "binary GOAL: rank 0: operation 1: rank: 7 is outside of 0 to 2"},
		{with(first+2*goalNode+5, 1<<32-1), "binary GOAL: rank 0: operation 2: a receive from -1, any rank, is matched as " +
			"a run goes: name the rank"},
		{with(first+2*goalNode+17, 1<<32-1), "binary GOAL: rank 0: operation 2: tag -1, any, is matched as a run goes: name the tag"},
		{with(first+goalNode+17, 9), "binary GOAL: rank 1: operation 0: no send of rank 0 to rank 1 with tag 7 is left for this receive"},
		{with(first+23, 1000), "binary GOAL: rank 0: operation 0: the list of those that wait for it is not in the file"},
	} {
		if _, err := ReadGOAL(c.data, vtime.Nanosecond); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestGOALMistakes checks that each mistake is reported with its line.
func TestGOALMistakes(t *testing.T) {
	two := "num_ranks 2\nrank 0 {\n"
	for _, c := range []struct{ text, want string }{
		{"", "line 1: there is no num_ranks"},
		{"num_ranks 0", "line 1: num_ranks: 0 is outside of 1 to 65536"},
		{two + "l1: put 8b to 1\n}", `line 3: "put" is none of send, recv and calc`},
		{two + "l1: send 8 to 1\n}", `line 3: "send 8 to 1": write it like send 8b to 1 tag 5`},
		{two + "l1: send 8b to 2\n}", "line 3: rank: 2 is outside of 0 to 1"},
		{two + "l1: recv 8b from -1\n}", "line 3: a receive from -1, any rank, is matched as a run goes: name the rank"},
		{two + "l1: recv 8b from 1 tag -1\n}", "line 3: tag -1, any, is matched as a run goes: name the tag"},
		{two + "l1: calc 5\nl1: calc 6\n}", `line 4: label "l1" stands twice in rank 0`},
		{two + "l1: calc 5\nl1 requires l2\n}", `line 5: rank 0 has no label "l2" (line 4)`},
		{two + "l1: calc 5 tag 3\n}", `line 3: "tag" is not expected here`},
		{two + "l1: calc 5 cpu\n}", `line 3: "cpu" without a number`},
		{two + "l1: calc 5\n", "line 3: the block of rank 0 is not closed: a } is missing"},
		{two + "}\nrank 0 {\n}", "line 4: rank 0 has a block already"},
		{two + "l1: send 8b to 1\n}", "line 3: rank 1 has no receive left for this send of rank 0 with tag 0"},
		{two + "l1: recv 8b from 1\n}", "line 3: no send of rank 1 to rank 0 with tag 0 is left for this receive"},
		{"}", "line 1: a } without a block"},
		{"calc 5", `line 1: "calc" is none of num_ranks, rank and }`},
		{
			two + "r: recv 8b from 1\ns: send 8b to 1\ns requires r\n}\nrank 1 {\nr: recv 8b from 0\ns: send 8b to 0\ns requires r\n}",
			"operations wait for each other, and so never begin: operation 1 (rank 0 sends 8 bytes to rank 1), which waits for " +
				"operation 3 (rank 1 sends 8 bytes to rank 0), which waits for the first",
		},
	} {
		if _, err := ReadGOAL([]byte(c.text), vtime.Nanosecond); err == nil || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

// FuzzReadGOAL checks that any file is refused, or that all of its operations have an order.
func FuzzReadGOAL(f *testing.F) {
	f.Add([]byte(schedule))
	f.Add(binarySchedule)
	f.Add([]byte("num_ranks 2\nrank 0 {\ns: send 8b to 1\n}\nrank 1 {\nr: recv 8b from 0\nr irequires r\n}"))
	f.Add([]byte("num_ranks 1\nrank 0 { x: send 1b to 0\ny: recv 1b from 0\nx requires y\n}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := ReadGOAL(data, vtime.Nanosecond)
		if err != nil {
			return
		}
		if order, _ := g.Order(); len(order) != int(g.Added()) {
			t.Fatal("operations wait for each other")
		}
		for i := range g.Messages {
			m := &g.Messages[i]
			if m.Size < 1 || g.Operation(m.Send).Kind != Send || g.Operation(m.Receive).Kind != Receive {
				t.Fatalf("message %+v", m)
			}
		}
	})
}

// TestInOrder: operations are in order if none waits for a later one, or for a message that is sent later.
func TestInOrder(t *testing.T) {
	var g Graph
	first := g.Join(0)
	second := g.Join(0, Wait{first, Sent})
	send, receive := g.Message(0, 1, 8, []Wait{{second, Ended}}, nil)
	after := g.Join(1, Wait{receive, Ended})
	if !g.InOrder() {
		t.Error("operations that wait for earlier ones are not in order")
	}
	g.SetWaits(first, Wait{send, Ended})
	if g.InOrder() {
		t.Error("an operation that waits for a later one is in order")
	}
	g.SetWaits(first)
	early := g.Add(Operation{Rank: 0, Kind: Receive})
	g.SetWaits(after, Wait{early, Started})
	if g.InOrder() {
		t.Error("an operation that waits for a later one's start is in order")
	}
	last := g.Join(0, Wait{early, Started})
	g.SetWaits(after, Wait{receive, Ended})
	if g.Pair(g.Add(Operation{Rank: 1, Kind: Send}), early, 8); !g.InOrder() {
		t.Error("what waits for the start of a receive must follow the receive only")
	}
	if g.SetWaits(last, Wait{early, Ended}); g.InOrder() {
		t.Error("an operation is in order before the send of a message that it waits for")
	}
}
