//go:build linux

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/netnames"
)

// TestNode checks that all programs on a node see its name, its interfaces, each other's processes and each other's
// changes, and that programs on other nodes and on the machine do not.
func TestNode(t *testing.T) {
	t.Parallel()
	f := bringUpAs(t, Options{Privileged: true})
	defer down(t, f)
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	where, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	look := func(node string, want ...string) {
		t.Helper()
		got := on(t, f, node, "sh", "-c", "uname -n; hostname -i; ls /sys/class/net; cat /proc/1/comm; pwd; ls "+folder)
		if words := strings.Join(strings.Fields(got), " "); words != strings.Join(want, " ") {
			t.Errorf("%s: %q, want %q", node, words, want)
		}
	}
	on(t, f, "h1", "mount", "-t", "tmpfs", "own", folder)
	on(t, f, "h1", "touch", folder+"/here")
	look("h1", "h1", "10.0.0.2", "fd00::a00:2", "h1-eth1", "lo", "pausenet-init", where, "here")
	look("h2", "h2", "10.0.0.3", "fd00::a00:3", "h2-eth1", "lo", "pausenet-init", where)
	look("spine0", "spine0", "127.0.1.1", "lo", "spine0-eth1", "spine0-eth2", "pausenet-init", where)
	on(t, f, "h1", "hostname", "h7")
	look("h1", "h7", "10.0.0.8", "fd00::a00:8", "h1-eth1", "lo", "pausenet-init", where, "here")
	look("h2", "h2", "10.0.0.3", "fd00::a00:3", "h2-eth1", "lo", "pausenet-init", where)
	if now, err := os.Hostname(); err != nil || now != machine {
		t.Errorf("the machine's name is %q, %v; it was %q", now, err, machine)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("the machine sees %v, %v", left, err)
	}
}

// TestChroot checks that programs in a chroot on a node see its files.
func TestChroot(t *testing.T) {
	t.Parallel()
	if _, there := os.LookupEnv("PAUSENET_TEST_CHROOT"); there {
		f := bringUp(t, "")
		defer down(t, f)
		if got := on(t, f, "h1", "ls", "/mnt"); got != "inside\n" {
			t.Errorf("there are %q", got)
		}
		return
	}
	testenv.NeedRoot(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-ec", `mount --rbind / $0; mount -t tmpfs own $0/mnt; touch $0/mnt/inside; exec chroot $0 "$1" -test.v -test.run=^TestChroot$`, t.TempDir(), self)
	cmd.Env = append(os.Environ(), "PAUSENET_TEST_CHROOT=1")
	cmd.SysProcAttr = &unix.SysProcAttr{Unshareflags: unix.CLONE_NEWNS} // which makes its mounts private
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestChroot") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestPowers checks that programs on nodes may change their node, as any user's host may, and nothing beyond it.
func TestPowers(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "")
	defer down(t, f)
	for _, may := range []string{
		"ping -c 1 -W 180 h2", "ip addr add 10.9.9.9/32 dev lo", "ip link set lo mtu 9000",
		"echo 1 >/proc/sys/net/ipv4/ip_forward",
		"tc qdisc replace dev h1-eth1 root pfifo limit 10", "nice -n -1 true", "chown 1:1 FILE", "kill -0 $$",
	} {
		on(t, f, "h1", "sh", "-c", strings.ReplaceAll(may, "FILE", t.TempDir()))
	}
	for _, not := range []string{
		"mount -t tmpfs own FILE", "hostname other", "unshare --net true", "nsenter -t 1 --net true", "date -s \"$(date)\"",
		"mknod FILE/null c 1 3", "cat /proc/1/environ",
	} {
		if out := on(t, f, "h1", "sh", "-c", strings.ReplaceAll(not, "FILE", t.TempDir())+
			" 2>&1 && echo done; true"); strings.HasSuffix(out, "done\n") {
			t.Errorf("%s: %s", not, out)
		}
	}
}

// TestInterfacesOfSwitches checks that, as README says, a switch's interfaces have no queue, and count received but not
// sent frames.
func TestInterfacesOfSwitches(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "")
	defer down(t, f)
	on(t, f, "h0", "ping", "-c", "1", "-W", "180", "h5")
	in := on(t, f, "leaf0", "cat", "/sys/class/net/leaf0-eth1/statistics/rx_packets")
	out := on(t, f, "leaf0", "sh", "-c", "cat /sys/class/net/leaf0-eth*/statistics/tx_packets")
	if in == "0\n" || strings.Trim(out, "0\n") != "" {
		t.Errorf("after pings leaf0 counts %q in and %q out", in, out)
	}
	if q := on(t, f, "leaf0", "tc", "qdisc", "show", "dev", "leaf0-eth5"); !strings.HasPrefix(q, "qdisc noqueue ") {
		t.Errorf("the queueing discipline is %s", q)
	}
}

// TestNetnsNames checks that "ip netns" knows the nodes by the fabric's name and theirs, until the fabric ends.
func TestNetnsNames(t *testing.T) {
	t.Parallel()
	f := bringUpAs(t, Options{Name: "test-names", NetnsNames: true})
	out, err := exec.Command("ip", "netns", "exec", "test-names-h1", "ip", "-o", "-4", "addr", "show", "h1-eth1").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "10.0.0.2/") {
		t.Errorf("ip netns exec test-names-h1: %s, %v", out, err)
	}
	down(t, f)
	left, err := filepath.Glob(netnames.Folder + "/test-names-*")
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}
