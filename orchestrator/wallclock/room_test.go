//go:build linux

package wallclock

import (
	"os/exec"
	"runtime"
	"strconv"
	"testing"

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

// TestLiveNoRoom: a live fabric retries while the kernel has no room for a program's frame into a host. It gives the
// frame up after a while, and counts it as lost there.
func TestLiveNoRoom(t *testing.T) {
	f := newLiveFabric(t, livePlan(t, "small"), 500)
	into := int(f.plan.PortsBetween(f.plan.NodeByName("h2").ID, f.plan.NodeByName("leaf0").ID)[0])
	noRoomInto(t, f, into, "add", 0)
	f.run(t, "h1", "sh", "-c", "! ping -c 1 -W 1 h2")
	err := f.Do(func() error {
		if n := f.Engine().Lost()[engine.LossDevice].Frames; n == 0 {
			t.Error("no frame is counted as lost on its way into h2")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if f.Driver.plane.(*kernel.Plane).Resent.Load() == 0 {
		t.Error("no frame was sent again")
	}
	noRoomInto(t, f, into, "change", 1000)
	f.run(t, "h1", "ping", "-c", "1", "-W", "60", "h2")
}
