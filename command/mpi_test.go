//go:build linux

package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
)

// TestMPI runs an all-reduce of Open MPI over eight hosts, by UCX over RDMA alone. Each rank checks every sum.
func TestMPI(t *testing.T) {
	testenv.NeedRoot(t)
	lacks := func(what string) {
		t.Helper()
		if os.Getenv("CI") != "" {
			t.Fatal("this test needs " + what)
		}
		t.Skip("this test needs " + what)
	}
	for name, pack := range map[string]string{"mpicc": "libopenmpi-dev", "mpirun": "openmpi-bin"} {
		if _, err := exec.LookPath(name); err != nil {
			lacks(name + ": apt-get install " + pack)
		}
	}
	libraries, err := filepath.Abs("../bin/verbs")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(libraries, "libibverbs.so.1")); err != nil {
		lacks("the libraries for RDMA programs: make verbs")
	}
	agent, err := filepath.Abs("../test/mpi/agent")
	if err != nil {
		t.Fatal(err)
	}
	folder, pausenet := program(t)
	allreduce := filepath.Join(folder, "allreduce")
	if out, err := exec.Command("mpicc", "-O2", "-Wall", "-Werror", "-o", allreduce,
		"../test/mpi/allreduce.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	environment := append(os.Environ(), "LD_LIBRARY_PATH="+libraries, "PAUSENET="+pausenet, "TMPDIR="+folder)
	fabric(t, "test-mpi", pausenet)
	fabric(t, "test-mpi-other", pausenet) // mpirun's agent means the fabric that it runs in
	run := func(args ...string) (string, error) {
		cmd := exec.Command(pausenet, append([]string{"exec", "--fabric", "test-mpi", "h0", "--"}, args...)...)
		cmd.Env = environment
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run("mpirun", "--allow-run-as-root", "--mca", "plm_rsh_agent", agent, "--mca", "pml", "ucx",
		"-x", "UCX_TLS=rc_v,self", "-x", "UCX_NET_DEVICES=pausenet0:1", "-x", "LD_LIBRARY_PATH",
		"-host", "h0,h1,h2,h3,h4,h5,h6,h7", allreduce, "32768", "2")
	if err != nil {
		t.Error(err)
	}
	if !strings.Contains(out, "8 ranks") || !strings.Contains(out, "all sums are right") {
		t.Errorf("mpirun:\n%s", out)
	}
}
