//go:build linux

package live

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pausenet/pausenet/orchestrator/verbs"
)

// verbsFolder is the folder of the libraries that make verbs builds. Without them a test is skipped; in CI it fails.
func verbsFolder(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("../../bin/verbs")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "librdmacm.so.1")); err == nil {
		return folder
	}
	if os.Getenv("CI") != "" {
		t.Fatal("this test needs the libraries for RDMA programs: make verbs")
	}
	t.Skip("this test needs the libraries for RDMA programs: make verbs")
	return ""
}

// rdma is a command of a program that finds the libraries.
func rdma(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = verbs.WithLibrary(os.Environ(), verbsFolder(t))
	return cmd
}

// onRDMA runs an RDMA program on a node until it ends and returns what it wrote.
func onRDMA(t *testing.T, f *Fabric, node string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := rdma(t, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := f.Run(node, cmd); err != nil {
		t.Fatalf("%s: %v: %v\n%s", node, args, err, out.String())
	}
	return out.String()
}

// TestVerbsDevices lists a host's RDMA devices by the programs that people do it with.
func TestVerbsDevices(t *testing.T) {
	program(t, "ibv_devinfo", "ibverbs-utils")
	verbsFolder(t)
	f := bringUp(t, "")
	defer down(t, f)
	if out := onRDMA(t, f, "h1", "ibv_devices"); !strings.Contains(out, "pausenet0       \t020a00fffe000002") {
		t.Errorf("ibv_devices on h1:\n%s", out)
	}
	out := onRDMA(t, f, "h2", "ibv_devinfo", "-v")
	for _, want := range []string{"hca_id:\tpausenet0", "PORT_ACTIVE (4)", "active_mtu:\t\t1024 (3)", "link_layer:\t\tEthernet", "10.0 Gbps (4)", "::ffff:10.0.0.3, RoCE v2"} {
		if !strings.Contains(out, want) {
			t.Errorf("ibv_devinfo on h2 lacks %q:\n%s", want, out)
		}
	}
}

// together runs a program on one node that another on a second node connects to, and returns what both wrote. The second is started again until
// the first listens.
func together(t *testing.T, f *Fabric, server string, serve []string, client string, connect []string) (served, connected string) {
	t.Helper()
	var atServer bytes.Buffer
	first := rdma(t, serve...)
	first.Stdout, first.Stderr = &atServer, &atServer
	ended := make(chan error, 1)
	go func() { ended <- f.Run(server, first) }()
	for deadline := time.Now().Add(timeout); ; time.Sleep(100 * time.Millisecond) {
		var out bytes.Buffer
		cmd := rdma(t, connect...)
		cmd.Stdout, cmd.Stderr = &out, &out
		err := f.Run(client, cmd)
		if err == nil {
			if err := <-ended; err != nil {
				t.Fatalf("%s: %v: %v\n%s", server, serve, err, atServer.String())
			}
			return atServer.String(), out.String()
		}
		select {
		case serr := <-ended:
			t.Fatalf("%s: %v: %v\n%s\n%s: %v: %v\n%s", client, connect, err, out.String(), server, serve, serr, atServer.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v: %v\n%s", client, connect, err, out.String())
		}
	}
}

// TestVerbsPingpong sends messages to and fro, whose data the programs check.
func TestVerbsPingpong(t *testing.T) {
	program(t, "ibv_rc_pingpong", "ibverbs-utils")
	f := bringUp(t, "")
	defer down(t, f)
	for _, more := range [][]string{nil, {"-e"}} { // polling, and sleeping until a completion is told
		command := append([]string{"ibv_rc_pingpong", "-g", "0", "-n", "30", "-s", "3001", "-c"}, more...)
		served, connected := together(t, f, "h1", command, "h5", append(command, "h1"))
		for _, out := range []string{served, connected} {
			if !strings.Contains(out, "30 iters in") || strings.Contains(out, "invalid data") {
				t.Errorf("%v:\n%s", command, out)
			}
		}
	}
}

// TestVerbsPerftest runs perftest's programs of each kind of operation, with connections by TCP and by the connection manager.
func TestVerbsPerftest(t *testing.T) {
	program(t, "ib_write_bw", "perftest")
	f := bringUp(t, "")
	defer down(t, f)
	for _, command := range [][]string{
		{"ib_write_bw", "-n", "20"},
		{"ib_send_bw", "-n", "20", "-s", "5000"},
		{"ib_read_bw", "-n", "20", "-s", "5000"},
		{"ib_send_lat", "-n", "20"},
		{"ib_write_lat", "-n", "20", "-R"},
		{"ib_read_lat", "-n", "20"},
	} {
		_, connected := together(t, f, "h1", append(command, "-F"), "h5", append(command, "-F", "h1"))
		if !strings.Contains(connected, " 20  ") {
			t.Errorf("%v:\n%s", command, connected)
		}
	}
}

// TestVerbsRping has the connection manager connect, and refuse where nobody listens.
func TestVerbsRping(t *testing.T) {
	program(t, "rping", "rdmacm-utils")
	f := bringUp(t, "")
	defer down(t, f)
	cmd := rdma(t, "rping", "-c", "-C", "3", "-a", "10.0.0.2")
	if err := f.Run("h5", cmd); err == nil {
		t.Error("rping connected to nobody")
	}
	_, connected := together(t, f, "h1", []string{"rping", "-s", "-C", "3"}, "h5", []string{"rping", "-c", "-v", "-V", "-C", "3", "-a", "10.0.0.2"})
	if !strings.Contains(connected, "ping data: rdma-ping-2: CDEF") {
		t.Errorf("rping:\n%s", connected)
	}
}
