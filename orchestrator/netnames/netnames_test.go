//go:build linux

package netnames

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pausenet/pausenet/internal/testenv"
)

// giveOwn names this process's namespace, and returns a program's view of it and ip's.
func giveOwn(t *testing.T, name string) *Names {
	t.Helper()
	n, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Open("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if err := n.Give(name, int(own.Fd())); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNames checks that "ip netns" enters the namespace by its name, that no name is given twice, and that Close removes it.
func TestNames(t *testing.T) {
	testenv.NeedRoot(t)
	name := fmt.Sprintf("pausenet-test-%d", os.Getpid())
	n := giveOwn(t, name)
	if err := n.Give(name, 0); !errors.Is(err, ErrTaken) {
		t.Errorf("a second time: %v", err)
	}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("ip", "netns", "exec", name, "readlink", "/proc/self/ns/net").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != own {
		t.Errorf("ip netns exec: %s, %v; want %s", out, err, own)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(Folder, name)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the name is left: %v", err)
	}
}

// TestRole runs in the process that TestKilled kills: it gives a name and waits.
func TestRole(t *testing.T) {
	name, there := os.LookupEnv("NETNAMES_ROLE")
	if !there {
		t.Skip("a part of TestKilled")
	}
	giveOwn(t, name)
	fmt.Println("given")
	time.Sleep(testenv.Hung)
}

// TestKilled checks that the keeper removes the names of a killed process.
func TestKilled(t *testing.T) {
	testenv.NeedRoot(t)
	name := fmt.Sprintf("pausenet-killed-%d", os.Getpid())
	cmd := exec.Command(os.Args[0], "-test.run=^TestRole$")
	cmd.Env = append(os.Environ(), "NETNAMES_ROLE="+name)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var given [6]byte
	if _, err := out.Read(given[:]); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(Folder, name)
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for deadline := time.Now().Add(testenv.Hung); ; time.Sleep(time.Millisecond) {
		_, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is left: %v", path, err)
		}
	}
}
