//go:build linux

package liveview

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/live"
)

// TestFeed checks that a reader gets each message once, that a reader that has fallen behind continues with the oldest
// message kept, and that no writer waits for it.
func TestFeed(t *testing.T) {
	f := newFeed()
	_, last, wake, over := f.after(0)
	if last != 0 || over {
		t.Fatal(last, over)
	}
	f.put("a", 1)
	<-wake
	messages, last, _, _ := f.after(last)
	if len(messages) != 1 || string(messages[0]) != "id: 1\nevent: a\ndata: 1\n\n" || last != 1 {
		t.Fatalf("%q, %d", messages, last)
	}
	for range 2 * mostKept {
		f.put("b", 2)
	}
	if messages, last, _, _ = f.after(last); len(messages) != mostKept || last != 2*mostKept+1 ||
		!strings.HasPrefix(string(messages[0]), "id: 602\n") {
		t.Errorf("%d messages to %d, the first %q", len(messages), last, messages[0])
	}
	if messages, _, _, _ = f.after(99999); len(messages) != mostKept {
		t.Errorf("of another feed: %d messages", len(messages))
	}
	large := strings.Repeat("x", mostKeptBytes/4)
	for range 8 {
		f.put("c", large)
	}
	if messages, _, _, _ = f.after(0); len(messages) > 4 || f.bytes > mostKeptBytes {
		t.Errorf("%d messages, %d bytes are kept", len(messages), f.bytes)
	}
	f.end("over")
	f.put("d", 1)
	if messages, _, _, over = f.after(0); !over || !strings.Contains(string(messages[len(messages)-1]), "event: ended") {
		t.Errorf("over: %v", over)
	}
	for range mostReaders {
		if !f.enter() {
			t.Fatal("too many readers")
		}
	}
	if f.enter() {
		t.Error("more readers than may be")
	}
}

// TestSample checks that columns are in the order of the page's ports, and that a port's paused time is that of the
// priority paused longest.
func TestSample(t *testing.T) {
	class := func(priority uint8, queue uint64, ns int64) live.ClassSnapshot {
		return live.ClassSnapshot{
			Priority: priority, QueueBytes: queue, BufferedBytes: 2 * queue, PausedNS: ns,
			Paused: ns > 0,
		}
	}
	before := &live.Snapshot{
		Clock: live.Clock{VirtualNS: 1000},
		Ports: []live.PortSnapshot{
			{Port: "a-eth1", Node: "a"},
			{Port: "b-eth1", Node: "b", Classes: []live.ClassSnapshot{class(3, 0, 100)}},
		},
	}
	now := &live.Snapshot{
		Clock: live.Clock{VirtualNS: 2000},
		Ports: []live.PortSnapshot{
			{Port: "a-eth1", Node: "a", Up: true, TxBytes: 7, Drops: []live.PortDrop{{Frames: 2}, {Frames: 3}}},
			{
				Port: "b-eth1", Node: "b", Classes: []live.ClassSnapshot{class(3, 10, 600), class(4, 20, 300)}, ECNMarks: 1,
				UEMarks: 2,
			},
		},
		Hosts: []live.HostSnapshot{{Node: "b", CNPsReceived: 4}},
	}
	d := &live.Description{
		Nodes: []live.NodeDescription{{Name: "a", Tier: 1}, {Name: "b"}},
		Links: []live.LinkDescription{{A: "b-eth1", B: "a-eth1", RateBPS: 5, DelayNS: 6}},
	}
	h, order, err := headOf(d, now, false)
	if err != nil || h.Links[0] != (link{1, 0, 5, 6}) || !h.Nodes[1].Host || h.Nodes[0].Host || h.Hosts[0] != 1 ||
		h.Settings != nil {
		t.Fatalf("%+v, %v", h, err)
	}
	s := sampleOf(before, now, order)
	if s.Queue[0] != 30 || s.Buffered[0] != 60 || s.Paused[0] != 1 || s.Stopped[0] != 500 || s.Marks[0] != 3 ||
		s.Up[0] != 0 {
		t.Errorf("b: %+v", s)
	}
	if s.Up[1] != 1 || s.Sent[1] != 7 || s.Drops[1] != 5 || s.Stopped[1] != 0 || s.CNPs[0] != 4 {
		t.Errorf("a: %+v", s)
	}
	if first := sampleOf(nil, now, order); first.Stopped[0] != 0 {
		t.Errorf("the first: %+v", first)
	}
}

// TestLine checks that a line whose verb is a node's name is refused: the shell would run a program on that node.
func TestLine(t *testing.T) {
	h := &head{Nodes: []node{{Name: "link"}, {Name: "reboot"}, {Name: "x"}}}
	if line, err := h.lineOf(map[string]string{"do": "link", "a": "reboot", "b": "x", "state": "down"}); err == nil {
		t.Errorf("the line is %q", line)
	}
	h.Nodes[0].Name = "y"
	if line, err := h.lineOf(map[string]string{"do": "link", "a": "reboot", "b": "x", "state": "down"}); err != nil ||
		line != "link reboot x down" {
		t.Errorf("%q, %v", line, err)
	}
}
