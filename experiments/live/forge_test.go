//go:build linux

package live

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	cilium "github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// forgerVariable makes the test binary, as a program on a node, forge frames; see TestForger.
const forgerVariable = "PAUSENET_TEST_FORGER"

// TestForger runs as a program on a node. It loads a BPF program that sends all frames from lo out of the node's
// interface with the mark of the pipelines' own output, and sends it frames. It prints its result or the step that
// failed.
func TestForger(t *testing.T) {
	t.Parallel()
	name, there := os.LookupEnv(forgerVariable)
	if !there {
		t.Skip("a part of TestForgedMark")
	}
	fmt.Println(forge(name))
}

func forge(name string) string {
	port, err := net.InterfaceByName(name)
	if err != nil {
		return err.Error()
	}
	const markOfSkb = 8 // struct __sk_buff
	program, err := cilium.NewProgram(&cilium.ProgramSpec{
		Type: cilium.SchedCLS, License: "GPL",
		Instructions: asm.Instructions{
			asm.Mov.Imm32(asm.R2, int32(ebpf.FrameMark)),
			asm.StoreMem(asm.R1, markOfSkb, asm.R2, asm.Word),
			asm.Mov.Imm(asm.R1, int32(port.Index)),
			asm.Mov.Imm(asm.R2, 0),
			asm.FnRedirectPeer.Call(),
			asm.Return(),
		},
	})
	if err != nil {
		return "load: " + err.Error()
	}
	defer program.Close()
	// lo, and the hooks that every kernel has.
	const lo = 1
	if err := netlink.QdiscAdd(&netlink.GenericQdisc{QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: lo, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT,
	}, QdiscType: "clsact"}); err != nil {
		return "add a qdisc: " + err.Error()
	}
	if err := netlink.FilterAdd(&netlink.BpfFilter{FilterAttrs: netlink.FilterAttrs{
		LinkIndex: lo, Parent: netlink.HANDLE_MIN_INGRESS, Handle: 1, Protocol: unix.ETH_P_ALL, Priority: 1,
	}, Fd: program.FD(), Name: "forger", DirectAction: true}); err != nil {
		return "attach: " + err.Error()
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err.Error()
	}
	defer unix.Close(fd)
	for range 1000 {
		if err := unix.Sendto(fd, make([]byte, 98), 0, &unix.SockaddrLinklayer{Ifindex: lo}); err != nil {
			return err.Error()
		}
	}
	return "forged"
}

// asForger runs the forger on a node.
func asForger(t *testing.T, f *Fabric, node string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestForger$")
	cmd.Env = append(os.Environ(), forgerVariable+"="+node+"-eth1")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := f.Run(node, cmd); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return out.String()
}

// TestForgedMark checks that no program on a node has the capabilities to forge the mark of the pipelines' output. A
// privileged one can forge it, or run the pipelines by a tc filter. Either ends the fabric at once and in order, and
// the verdict names the cause.
func TestForgedMark(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "")
	if out := asForger(t, f, "h1"); !strings.Contains(out, "load: ") || !strings.Contains(out, "operation not permitted") {
		t.Errorf("without privileges: %s", out)
	}
	on(t, f, "h0", "ping", "-c", "1", "-W", "180", "h1")
	down(t, f)
	for name, c := range map[string]struct {
		forge func(f *Fabric)
		want  string
	}{
		"bpf": {
			func(f *Fabric) { t.Log(asForger(t, f, "h1")) },
			"h1-eth1 sent a frame that the pipelines did not: " + kernel.ErrForged.Error(),
		},
		"tc": {func(f *Fabric) {
			on(t, f, "h1", "sh", "-ec", "tc qdisc add dev lo clsact; "+
				"tc filter add dev lo egress protocol ip u32 match u32 0 0 action mirred ingress redirect dev h1-eth1; ping -c 1 -W 1 127.0.0.1 || :")
			on(t, f, "h0", "sh", "-c", "ping -c 1 -W 1 h2 || :") // the next that goes through the fabric
		}, "the pipelines received a frame that no port sent: " + kernel.ErrForged.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			f := bringUpAs(t, Options{Privileged: name == "bpf"})
			c.forge(f)
			select {
			case <-f.Done():
			case <-time.After(timeout):
				t.Error("the fabric goes on")
			}
			v, err := f.Close()
			if err == nil || err.Error() != c.want {
				t.Errorf("it ended with %v, want %s", err, c.want)
			}
			if v.Status != measure.Fail || len(v.Reasons) != 1 || !strings.HasSuffix(v.Reasons[0], c.want) {
				t.Errorf("verdict %+v", v)
			}
		})
	}
}
