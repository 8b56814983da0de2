//go:build linux

package wallclock

import (
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// noRoomInto has the kernel take no frame into a port, or all of them: by a queue that it puts before the port's outer
// end.
func noRoomInto(t testing.TB, f *liveFabric, port int, verb string, limit int) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends, and the namespace is its own
		if err := unix.Setns(f.fabric.Hub(), unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		done <- exec.Command("tc", "qdisc", verb, "dev", f.plan.Ports[port].Name, "root", "pfifo", "limit",
			strconv.Itoa(limit)).Run()
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestLiveNoRoom: a live fabric waits while the kernel has no room for frames into a switch; those into a host it gives
// up after a while, and counts them as lost there.
func TestLiveNoRoom(t *testing.T) {
	f := newLiveFabric(t, livePlan(t, "small"), 500)
	into := func(a, b string) int {
		return int(f.plan.PortBetween(f.plan.NodeByName(a).ID, f.plan.NodeByName(b).ID)[0])
	}
	lost := func() (n int64) {
		if err := f.Do(func() error { n = f.Engine().Lost()[engine.LossDevice].Frames; return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	noRoomInto(t, f, into("leaf0", "h1"), "add", 0)
	freed := make(chan struct{})
	go func() {
		defer close(freed)
		for f.Driver.plane.(*kernel.Plane).Resent.Load() < 10 {
			time.Sleep(time.Millisecond)
		}
		noRoomInto(t, f, into("leaf0", "h1"), "change", 1000)
	}()
	f.run(t, "h1", "ping", "-c", "1", "-W", "60", "h2")
	<-freed
	if n := lost(); n != 0 {
		t.Errorf("%d frames were lost on their way into a switch", n)
	}
	noRoomInto(t, f, into("h2", "leaf0"), "add", 0)
	f.run(t, "h1", "sh", "-c", "! ping -c 1 -W 1 h2")
	if n := lost(); n == 0 {
		t.Error("no frame is counted as lost on its way into h2")
	}
	noRoomInto(t, f, into("h2", "leaf0"), "change", 1000)
	f.run(t, "h1", "ping", "-c", "1", "-W", "60", "h2")
}
