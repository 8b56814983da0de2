//go:build linux

package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cilium "github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

// descriptors returns the open files of this process.
func descriptors(t *testing.T) map[string]string {
	t.Helper()
	links := map[string]string{}
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if to, err := os.Readlink(f); err == nil {
			links[f] = to
		}
	}
	return links
}

// programs returns the ids of this process's open BPF programs.
func programs(t *testing.T) []cilium.ProgramID {
	t.Helper()
	var ids []cilium.ProgramID
	files, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, _ := os.ReadFile(f)
		if _, id, ok := bytes.Cut(info, []byte("prog_id:\t")); ok {
			var n cilium.ProgramID
			if _, err := fmt.Sscan(string(id), &n); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, n)
		}
	}
	return ids
}

// loaded reports whether the kernel still has a program: while it does, something holds it, such as an interface in a
// namespace that still exists.
func loaded(t *testing.T, id cilium.ProgramID) bool {
	t.Helper()
	p, err := cilium.NewProgramFromID(id)
	if errors.Is(err, os.ErrNotExist) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	return true
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testenv.Hung); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not after a minute: %s", what)
		}
	}
}

// TestNothingLeaks: twenty fabrics up and down, by either hook, leave no descriptor, no thread in a namespace, no
// namespace and no program.
func TestNothingLeaks(t *testing.T) {
	testenv.NeedRoot(t)
	needTCX(t)
	plan := rootPlan(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 2}")
	ids := map[cilium.ProgramID]bool{}
	namespaces := map[uint64]bool{} // inodes, which the kernel gives out again
	cycle := func(hooks Hooks) {
		p, err := Open(plan, FabricOptions{Features: plane.Features{BurstDetection: true}, Hooks: hooks})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range programs(t) { // programs themselves, and TCX links to them
			ids[id] = true
		}
		for _, ns := range append(p.fabric.devices, p.fabric.hub) {
			var s unix.Stat_t
			if err := unix.Fstat(int(ns), &s); err != nil {
				t.Fatal(err)
			}
			namespaces[s.Ino] = true
		}
		if err := p.Tap(0, func([]byte) {}); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	cycle(HooksClsact) // what opens once and for all, such as the runtime's poller, is open now
	before := descriptors(t)
	for i := range 20 {
		cycle([]Hooks{HooksClsact, HooksTCX}[i%2])
	}
	after := descriptors(t)
	if len(after) != len(before) {
		t.Errorf("%d descriptors were open before, %d after:\n%v\n%v", len(before), len(after), before, after)
	}
	for fd, to := range after {
		if strings.HasPrefix(to, "net:") || strings.Contains(to, "bpf") || strings.HasPrefix(to, "socket:") {
			t.Errorf("%s is still open: %s", fd, to)
		}
	}
	if len(ids) != 21*4 || len(namespaces) < 4 {
		t.Fatalf("%d programs and %d namespaces were seen", len(ids), len(namespaces))
	}
	// Threads that were in a namespace end with their goroutine, the kernel frees the rest a little later.
	waitFor(t, "the threads of this process are in none of the namespaces", func() bool {
		tasks, _ := filepath.Glob("/proc/self/task/*/ns/net")
		for _, task := range tasks {
			if n, err := inode(task); err == nil && namespaces[n] {
				return false
			}
		}
		return true
	})
	waitFor(t, "the programs are unloaded", func() bool {
		for id := range ids {
			if loaded(t, id) {
				return false
			}
		}
		return true
	})
}

// TestFailedBuildLeaksNothing: a fabric that cannot be built removes the parts already built. The kernel rejects the
// interface name.
func TestFailedBuildLeaksNothing(t *testing.T) {
	plan := rootPlan(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 2}")
	for _, break_ := range []func(){
		func() { plan.Ports[1].Name = "a/b" },
		func() { plan.Ports[1].Name = strings.Repeat("x", 16) },
	} {
		before := descriptors(t)
		break_()
		f, err := NewFabric(plan, FabricOptions{})
		if err == nil || f != nil {
			t.Fatalf("fabric %v, error %v", f, err)
		}
		if after := descriptors(t); len(after) != len(before) {
			t.Errorf("%d descriptors were open before, %d after: %v", len(before), len(after), after)
		}
	}
}
