//go:build linux

package kernel

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

// The test binary also plays the processes that the test needs: by name in this variable.
const roleVariable = "PAUSENET_TEST_ROLE"

// TestRole is not a test: the processes started by the tests run it.
func TestRole(t *testing.T) {
	switch os.Getenv(roleVariable) {
	case "fabric":
		f, err := NewFabric(star(t), FabricOptions{})
		if err != nil {
			t.Fatal(err)
		}
		host := f.plan.Hosts[0]
		fmt.Printf("namespace of %s: %d\n", f.plan.Nodes[host].Name, int(f.devices[host]))
		waitForParent()
	case "sleeper":
		fmt.Println("asleep")
		waitForParent()
	case "unprivileged":
		testenv.Nobody(t)
		_, err := NewFabric(star(t), FabricOptions{})
		fmt.Println(Explain(err))
	case "few files":
		for limit := uint64(8); ; limit++ {
			if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: 1024}); err != nil {
				t.Fatal(err)
			}
			f, err := NewFabric(star(t), FabricOptions{})
			if err == nil {
				fmt.Println("built with a limit of", limit)
				f.Close()
				return
			}
			fmt.Printf("refused: %v\n", Explain(err))
		}
	}
}

// waitForParent keeps a process of the test from outliving it.
func waitForParent() { io.Copy(io.Discard, os.Stdin) }

func star(t *testing.T) *topologies.Plan {
	plan, err := spec.Parse("star.yaml", []byte("name: star\nstar: {hosts: 3}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// play starts a process in the calling thread's namespace and returns the first line it prints.
func play(role string) (*exec.Cmd, string, error) {
	c := exec.Command("/proc/self/exe", "-test.run=^TestRole$", "-test.timeout=0")
	c.Env = append(os.Environ(), roleVariable+"="+role)
	c.Stderr = os.Stderr
	if _, err := c.StdinPipe(); err != nil {
		return nil, "", err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := c.Start(); err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		c.Process.Kill()
		return nil, "", fmt.Errorf("%s: %q: %w", role, line, err)
	}
	return c, strings.TrimSpace(line), nil
}

// sleeper starts a process in the namespace that path leads to.
func sleeper(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	var c *exec.Cmd
	err := visiting(func() error {
		ns, err := netns.GetFromPath(path)
		if err != nil {
			return err
		}
		defer ns.Close()
		if err := netns.Set(ns); err != nil {
			return err
		}
		c, _, err = play("sleeper")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return c
}

func running(c *exec.Cmd) bool {
	_, state, err := processStart(c.Process.Pid)
	return err == nil && state != 'Z'
}

// A fabric's process is killed while a program runs in one of its namespaces, beside a live fabric and a namespace of
// somebody else that look the same but for the mark.
func TestClean(t *testing.T) {
	testenv.NeedRoot(t)
	killed, line, err := play("fabric")
	if err != nil {
		t.Fatal(err)
	}
	defer killed.Process.Kill()
	node, fd, found := strings.Cut(strings.TrimPrefix(line, "namespace of "), ": ")
	if !found {
		t.Fatalf("the fabric's process says %q", line)
	}
	inside := fmt.Sprintf("/proc/%d/fd/%s", killed.Process.Pid, fd)
	left := sleeper(t, inside)
	number, ok := spaceOf(fmt.Sprintf("/proc/%d/ns/net", left.Process.Pid))
	if !ok {
		t.Fatal("the sleeper's namespace cannot be read")
	}

	mount := filepath.Join(t.TempDir(), "name with a space")
	if err := os.WriteFile(mount, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(inside, mount, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(mount, unix.MNT_DETACH) })
	outside, err := os.Open(inside) // this process holds the namespace from outside
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()

	live, err := NewFabric(star(t), FabricOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	ours := sleeper(t, "/proc/self/fd/"+strconv.Itoa(int(live.devices[live.plan.Hosts[0]])))
	var foreign netns.NsHandle
	err = onOwnThread(func() (err error) {
		if foreign, err = netns.New(); err != nil {
			return err
		}
		err = netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "h0-eth1"}, PeerName: "peer"})
		if err != nil {
			return err
		}
		lo, err := netlink.LinkByIndex(loopbackIndex)
		if err != nil {
			return err
		}
		return netlink.LinkSetAlias(lo, "pausenet is what I test")
	})
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	theirs := sleeper(t, "/proc/self/fd/"+strconv.Itoa(int(foreign)))

	// Others' leftovers on this machine are none of the test's business, nor are others who look for some at the same
	// time, as tests of other packages do: they have each namespace open for a moment.
	find := func() []Leftover {
		t.Helper()
		all, err := FindLeftovers()
		if err != nil {
			t.Fatal(err)
		}
		all = slices.DeleteFunc(all, func(l Leftover) bool {
			return l.Owner != killed.Process.Pid && l.Owner != os.Getpid()
		})
		for i := range all {
			all[i].Bystanders = slices.DeleteFunc(all[i].Bystanders, func(p Program) bool { return p.Pid != os.Getpid() })
		}
		return all
	}
	if found := find(); len(found) != 0 {
		t.Fatalf("with the owner alive: %+v", found)
	}
	if err := killed.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed.Wait()

	all := find()
	if len(all) != 1 || all[0].Node != node || all[0].Inode != number || len(all[0].Programs) != 1 ||
		all[0].Programs[0].Pid != left.Process.Pid || !slices.Equal(all[0].Mounts, []string{mount}) ||
		len(all[0].Bystanders) != 1 || all[0].Bystanders[0].Pid != os.Getpid() {
		t.Fatalf("found %+v; want %s with process %d and %s", all, node, left.Process.Pid, mount)
	}
	if !running(left) {
		t.Fatal("looking has ended the program")
	}
	go left.Wait() // it must not stay a zombie
	if err := all[0].Remove(); err != nil {
		t.Fatal(err)
	}
	if running(left) {
		t.Error("the program in the dead fabric's namespace still runs")
	}
	if !running(ours) {
		t.Error("the program in the live fabric's namespace was ended")
	}
	if !running(theirs) {
		t.Error("the program in a foreign namespace was ended")
	}
	if number, err := inode(mount); err != nil || number == all[0].Inode {
		t.Errorf("the mount is still there: %v", err)
	}
	outside.Close()
	waitFor(t, "the namespace is gone", func() bool { return len(find()) == 0 })
}
