//go:build linux

package verbs_test

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/verbs"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// event is the type of the next event that a channel has; -1 if it has none.
func event(fd int) int {
	var b [512]byte
	n, _, err := unix.Recvfrom(fd, b[:], unix.MSG_DONTWAIT)
	if err != nil || n < 8 {
		return -1
	}
	return int(binary.NativeEndian.Uint64(b[:]))
}

// TestRequestOrder has a program ask another to connect: its request arrives after an acknowledgement that left at the same time, by the
// path between these two hosts, and waits for a listener that comes after it.
func TestRequestOrder(t *testing.T) {
	made := small(t)
	plan := made.Scenario.Topology
	e, server := idle(t, made)
	drive := func(until vtime.Time) {
		t.Helper()
		for at := e.Next(); at <= until; at = e.Next() {
			if err := e.Step(at); err != nil {
				t.Fatal(err)
			}
		}
		e.Reach(until)
	}
	ask := func(c *verbs.Connection, words ...uint64) []uint64 {
		t.Helper()
		status, got := c.Ask(nil, words...)
		if status != 0 {
			t.Fatalf("request %d: %v", words, status)
		}
		return got
	}
	const far, port = 5, 18515 // under another leaf than host 0
	serving, asking := server.Connect(t, 0), server.Connect(t, far)
	defer serving.End()
	defer asking.End()
	serves, events := serving.Events(t)
	asks, _ := asking.Events(t)
	request := func() (acknowledged vtime.Time) {
		id := ask(asking, verbs.OpCMID, asks, 1, 0)[0]
		ask(asking, verbs.OpResolve, id, 10<<24+1)
		ask(asking, verbs.OpConnect, id, port, 1, 1, 1, 1, 1, 0, 0)
		return e.Now() + plan.BaseRTT(plan.Hosts[0], plan.Hosts[far], topologies.Pair{}, 62, 62)/2
	}
	acknowledged := request()
	drive(acknowledged)
	listener := ask(serving, verbs.OpCMID, serves, 2, 0)[0]
	ask(serving, verbs.OpCMBind, listener, 0, port, 1)
	ask(serving, verbs.OpCMListen, listener)
	if got := event(events); got != -1 {
		t.Fatalf("event %d came before an acknowledgement that left with the request", got)
	}
	drive(e.Now() + vtime.Millisecond)
	if got := event(events); got != verbs.Requested {
		t.Fatalf("event %d, want a request to connect", got)
	}
	ask(serving, verbs.OpDestroy, listener)
	drive(request() + vtime.Millisecond)
	listener = ask(serving, verbs.OpCMID, serves, 3, 0)[0]
	ask(serving, verbs.OpCMBind, listener, 0, port, 1)
	ask(serving, verbs.OpCMListen, listener)
	if got := event(events); got != verbs.Requested {
		t.Fatalf("event %d of a listener that came after a request to connect, want the request", got)
	}
}

// TestFamilyOnly listens at any address of both families on one port, which goes where each is one of its family alone, and of connections
// and datagrams.
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
