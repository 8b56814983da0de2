//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/testenv"
)

// TestExplainForReal brings a fabric up under conditions that must fail: as a user without privileges, and with too few
// files.
func TestExplainForReal(t *testing.T) {
	testenv.NeedRoot(t)
	out := inRole(t, "unprivileged")
	for _, want := range []string{
		"operation not permitted", ": root is needed: run it with sudo, or use --plane wasm\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("without privileges: want %q in:\n%s", want, out)
		}
	}
	out = inRole(t, "few files")
	// Every limit, as how many files a process has from the start is its parent's doing.
	refusal := regexp.MustCompile(`^refused: .*: too many open files: raise the limit on open files, now \d+ \(ulimit -n\)`)
	refused, built := 0, false
	for line := range strings.Lines(out) {
		switch {
		case refusal.MatchString(line):
			refused++
		case strings.HasPrefix(line, "refused: "):
			t.Errorf("with few files: another cause or remedy: %s", line)
		case strings.HasPrefix(line, "built "):
			built = true
		}
	}
	if refused < 10 || !built {
		t.Errorf("with few files: %d limits refused, built: %t:\n%s", refused, built, out)
	}
}

func TestRemedies(t *testing.T) {
	memlock := PermissionRemedy()
	if os.Geteuid() == 0 && len(MissingCapabilities()) == 0 {
		memlock = "ulimit -l"
	}
	for _, c := range []struct {
		err  error
		want string // part of it; empty: no advice
	}{
		{fmt.Errorf("create a network namespace: %w", unix.EMFILE), "ulimit -n"},
		{fmt.Errorf("create a network namespace: %w", unix.ENOSPC), "user.max_net_namespaces"},
		{fmt.Errorf("create a network namespace: %w", unix.EINVAL), "CONFIG_NET_NS"},
		{fmt.Errorf("disable IPv6: %w", &os.PathError{Op: "open", Path: "/proc/sys/x", Err: unix.EROFS}), "--privileged"},
		{fmt.Errorf("create the veth pair of h0-eth1: %w", unix.EOPNOTSUPP), "modprobe -a veth"},
		{fmt.Errorf("create the veth pair of h0-eth1: %w", unix.ENOBUFS), "memory"},
		{fmt.Errorf("add a clsact qdisc to h0-eth1: %w", unix.ENOENT), "modprobe -a sch_ingress cls_bpf"},
		{fmt.Errorf("add a filter to h0-eth1: %w", unix.ENOENT), "modprobe -a sch_ingress cls_bpf"},
		{fmt.Errorf("open a packet socket: %w", unix.EAFNOSUPPORT), "modprobe -a af_packet"},
		{fmt.Errorf("ignore outgoing frames: %w", unix.ENOPROTOOPT), "TPACKET_V2"},
		{fmt.Errorf("load the pipelines: %w", unix.ENOMEM), "memory"},
		{fmt.Errorf("load the pipelines: %w", unix.ENOSYS), "CONFIG_BPF_SYSCALL"},
		{fmt.Errorf("load the pipelines: %w", unix.Errno(524)), "lacks a feature"},
		{fmt.Errorf("load the pipelines: %w", ebpf.ErrNotSupported), "lacks a feature"},
		{fmt.Errorf("load the pipelines: %w", &ebpf.VerifierError{Cause: unix.EINVAL}), "verifier of Linux " + Release()},
		{fmt.Errorf("send into h0-eth1: %w", unix.EPERM), PermissionRemedy()},
		{fmt.Errorf("raise the memlock limit: %w", unix.EPERM), memlock},
		{errors.New("the topology has no hosts"), ""},
		{fmt.Errorf("create the veth pair of h0-eth1: %w", unix.EEXIST), ""},
	} {
		got := Explain(c.err)
		if !errors.Is(got, c.err) {
			t.Errorf("%v: the error is lost in %v", c.err, got)
		}
		if c.want == "" {
			if got != c.err {
				t.Errorf("%v: advice where there is none: %v", c.err, got)
			}
			continue
		}
		if !strings.Contains(got.Error(), c.want) || !strings.HasPrefix(got.Error(), c.err.Error()+": ") {
			t.Errorf("%v: want advice with %q, got %v", c.err, c.want, got)
		}
		if strings.Contains(got.Error(), "\n") {
			t.Errorf("%v: more than one line: %q", c.err, got)
		}
		if Explain(got) != got {
			t.Errorf("%v: advised twice", c.err)
		}
	}
	if Explain(nil) != nil {
		t.Error("no error was explained")
	}
}

// inRole runs a role in another process, and returns its output.
func inRole(t *testing.T, role string) string {
	t.Helper()
	c := exec.Command("/proc/self/exe", "-test.run=^TestRole$", "-test.v")
	c.Env = append(os.Environ(), roleVariable+"="+role)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
