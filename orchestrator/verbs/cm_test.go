//go:build linux

package verbs_test

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/verbs"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// event returns the type of the next event that a channel has; -1 if it has none.
func event(fd int) int {
	var b [512]byte
	n, _, err := unix.Recvfrom(fd, b[:], unix.MSG_DONTWAIT)
	if err != nil || n < 8 {
		return -1
	}
	return int(binary.NativeEndian.Uint64(b[:]))
}

// drive makes an engine execute all events up to a time.
func drive(t *testing.T, e *engine.Engine, until vtime.Time) {
	t.Helper()
	for at := e.Next(); at <= until; at = e.Next() {
		if err := e.Step(at); err != nil {
			t.Fatal(err)
		}
	}
	e.Reach(until)
}

// ask does a request that must do well.
func ask(t *testing.T, c *verbs.Connection, words ...uint64) []uint64 {
	t.Helper()
	status, got := c.Ask(nil, words...)
	if status != 0 {
		t.Fatalf("request %d: %v", words, status)
	}
	return got
}

// TestRequestOrder has a program ask another to connect: its request arrives after an acknowledgement that left at the
// same time, by the path between these two hosts, and waits for a listener that comes after it.
func TestRequestOrder(t *testing.T) {
	made := small(t)
	plan := made.Scenario.Topology
	e, server := idle(t, made)
	const far, port = 5, 18515 // under another leaf than host 0
	serving, asking := server.Connect(t, 0), server.Connect(t, far)
	defer serving.End()
	defer asking.End()
	serves, events := serving.Events(t)
	asks, _ := asking.Events(t)
	request := func() (acknowledged vtime.Time) {
		id := ask(t, asking, verbs.OpCMID, asks, 1, 0)[0]
		ask(t, asking, verbs.OpResolve, id, 10<<24+1)
		ask(t, asking, verbs.OpConnect, id, port, 1, 1, 1, 1, 1, 0, 0)
		return e.Now() + plan.BaseRTT(plan.Hosts[0], plan.Hosts[far], topologies.Pair{}, 62, 62)/2
	}
	acknowledged := request()
	drive(t, e, acknowledged)
	listener := ask(t, serving, verbs.OpCMID, serves, 2, 0)[0]
	ask(t, serving, verbs.OpCMBind, listener, 0, port, 1)
	ask(t, serving, verbs.OpCMListen, listener)
	if got := event(events); got != -1 {
		t.Fatalf("event %d came before an acknowledgement that left with the request", got)
	}
	drive(t, e, e.Now()+vtime.Millisecond)
	if got := event(events); got != verbs.Requested {
		t.Fatalf("event %d, want a request to connect", got)
	}
	ask(t, serving, verbs.OpDestroy, listener)
	drive(t, e, request()+vtime.Millisecond)
	listener = ask(t, serving, verbs.OpCMID, serves, 3, 0)[0]
	ask(t, serving, verbs.OpCMBind, listener, 0, port, 1)
	ask(t, serving, verbs.OpCMListen, listener)
	if got := event(events); got != verbs.Requested {
		t.Fatalf("event %d of a listener that came after a request to connect, want the request", got)
	}
}

// TestRequestEnds ends, one after the other, the program that asks to connect and the listener, before the listening
// program has taken the request. It hears of a request alone, and whoever asks is rejected.
func TestRequestEnds(t *testing.T) {
	e, server := idle(t, small(t))
	serving, asking := server.Connect(t, 0), server.Connect(t, 5)
	serves, events := serving.Events(t)
	asks, answers := asking.Events(t)
	const port = 18515
	pass := func() { drive(t, e, e.Now()+vtime.Millisecond) }
	listener := ask(t, serving, verbs.OpCMID, serves, 1, 0)[0]
	ask(t, serving, verbs.OpCMBind, listener, 0, port, 1)
	ask(t, serving, verbs.OpCMListen, listener)
	request := func() uint64 {
		id := ask(t, asking, verbs.OpCMID, asks, 2, 0)[0]
		ask(t, asking, verbs.OpResolve, id, 10<<24+1)
		event(answers) // the address is resolved
		ask(t, asking, verbs.OpConnect, id, port, 1, 1, 1, 1, 1, 0, 0)
		pass()
		return id
	}
	ask(t, asking, verbs.OpDestroy, request())
	pass()
	if first, second := event(events), event(events); first != verbs.Requested || second != -1 {
		t.Errorf("events %d and %d of a request whose program has ended, want the request alone", first, second)
	}
	id := request()
	ask(t, serving, verbs.OpDestroy, listener)
	pass()
	if got := event(answers); got != verbs.Rejected {
		t.Errorf("event %d of a request whose listener is destroyed, want a rejection", got)
	}
	ask(t, asking, verbs.OpDestroy, id)
	serving.End()
	asking.End()
	if !server.Clean() {
		t.Error("something is left")
	}
}

// TestFamilyOnly listens at any address of both families on one port, which goes where each is one of its family alone,
// and of connections and datagrams.
func TestFamilyOnly(t *testing.T) {
	_, server := idle(t, small(t))
	c := server.Connect(t, 0)
	defer c.End()
	events, _ := c.Events(t)
	const v4, v6, port = 0, 1 << 32, 3260
	for i, k := range []struct {
		service, address, only uint64
		want                   unix.Errno
	}{
		{0, v4, 1, 0},
		{0, v6, 0, unix.EADDRINUSE},
		{0, v6, 1, 0},
		{0, v6, 1, unix.EADDRINUSE},
		{1, v6, 0, 0},
		{1, v4, 1, unix.EADDRINUSE},
	} {
		_, id := c.Ask(nil, verbs.OpCMID, events, 1, k.service)
		c.Ask(nil, verbs.OpCMBind, id[0], k.address, port, k.only)
		if status, _ := c.Ask(nil, verbs.OpCMListen, id[0]); status != k.want {
			t.Errorf("listener %d: %v, want %v", i, status, k.want)
		}
	}
}
