//go:build linux

package live

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
