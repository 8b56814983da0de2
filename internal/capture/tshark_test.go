package capture

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// tshark runs tshark on a capture and returns its lines. Any complaint of tshark about the file fails the test.
func tshark(t *testing.T, path string, args ...string) []string {
	t.Helper()
	cmd := exec.Command("tshark", append([]string{"-n", "-r", path}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// No profile of the user's, whose preferences may switch dissectors off; English messages.
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "LC_ALL=C")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, &stderr)
	}
	if s := strings.TrimSpace(stdout.String()); s != "" {
		return strings.Split(s, "\n")
	}
	return nil
}

func needTshark(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("tshark"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("tshark is not installed: CI must have it")
		}
		t.Skip("tshark is not installed: the captures go unchecked")
	}
}

// kinds lists the frames of TestTshark, with tshark's expected output for each.
var kinds = []struct {
	name, filter string
	put          func(b []byte, data, back *wire.FlowHeader) int
}{
	{
		"pause", "macc.opcode == 0x0101 && macc.cbfc.enbv == 0x0008 && macc.cbfc.pause_time.c3 == 65535",
		func(b []byte, _, _ *wire.FlowHeader) int { return wire.PutPause(b, mac(9), 3, wire.PauseMax) },
	},
	{
		"resume", "macc.opcode == 0x0101 && macc.cbfc.enbv.c3 == 1 && macc.cbfc.pause_time.c3 == 0 && eth.src == 02:00:00:00:00:09",
		func(b []byte, _, _ *wire.FlowHeader) int { return wire.PutPause(b, mac(9), 3, wire.Resume) },
	},
	{
		"WRITE first", "infiniband.bth.opcode == 6 && infiniband.bth.psn == 16777215 && infiniband.reth.dmalen == 3001 && " +
			"infiniband.reth.r_key == 0xabcd && infiniband.reth.va == 0x1000 && frame.len == 1074",
		func(b []byte, data, _ *wire.FlowHeader) int {
			return wire.PutData(b, data, wire.OpWriteFirst, wire.PSNMask, 1000, false, true)
		},
	},
	{
		"WRITE middle", "infiniband.bth.opcode == 7 && infiniband.bth.psn == 1 && infiniband.bth.destqp == 0x12 && ip.dsfield.ecn == 2 && " +
			"ip.dsfield.dscp == 26 && udp.srcport == 49153 && infiniband.bth.padcnt == 0 && frame.len == 1058",
		func(b []byte, data, _ *wire.FlowHeader) int {
			return wire.PutData(b, data, wire.OpWriteMiddle, 1, 1000, false, true)
		},
	},
	{
		"WRITE last", "infiniband.bth.opcode == 8 && infiniband.bth.a == 1 && infiniband.bth.padcnt == 3 && frame.len == 62",
		func(b []byte, data, _ *wire.FlowHeader) int {
			return wire.PutData(b, data, wire.OpWriteLast, 2, 1, true, true)
		},
	},
	{
		"WRITE only", "infiniband.bth.opcode == 10 && infiniband.bth.m == 1 && infiniband.bth.p_key == 65535",
		func(b []byte, data, _ *wire.FlowHeader) int {
			return wire.PutData(b, data, wire.OpWriteOnly, 3, 4096, true, true)
		},
	},
	{
		"SEND only", "infiniband.bth.opcode == 4 && ip.dsfield.ecn == 3", // marked below
		func(b []byte, data, _ *wire.FlowHeader) int {
			n := wire.PutData(b, data, wire.OpSendOnly, 4, 64, true, true)
			wire.IPv4(b[wire.EthernetLen:]).SetECN(wire.CE)
			return n
		},
	},
	{
		"ACK", "infiniband.bth.opcode == 17 && infiniband.aeth.syndrome == 0x1f && infiniband.aeth.msn == 7 && ip.dsfield.dscp == 48",
		func(b []byte, _, back *wire.FlowHeader) int { return wire.PutAck(b, back, wire.SyndromeAck, 5, 7) },
	},
	{
		"NAK", "infiniband.bth.opcode == 17 && infiniband.aeth.syndrome == 0x60",
		func(b []byte, _, back *wire.FlowHeader) int {
			return wire.PutAck(b, back, wire.SyndromeNakSequence, 5, 7)
		},
	},
	{
		"CNP", "infiniband.bth.opcode == 129 && infiniband.bth.destqp == 0x34 && frame[46:2] == 40:00 && frame.len == 74",
		func(b []byte, _, back *wire.FlowHeader) int { return wire.PutCNP(b, back, wire.CNPBECN, nil) },
	},
	{
		"CNM", "eth.type == 0x88b5 && frame[16:2] == be:ef && frame[18:2] == 01:eb && frame.len == 60",
		func(b []byte, _, _ *wire.FlowHeader) int { return wire.PutCNM(b, mac(1), mac(9), 0xbeef, 491, 40000) },
	},
}

func mac(n byte) wire.MAC { return wire.MAC{2, 0, 0, 0, 0, n} }

// TestTshark has an independent dissector read one frame of each kind.
func TestTshark(t *testing.T) {
	needTshark(t)
	params := wire.FlowParams{
		SrcMAC: mac(1), DstMAC: mac(9), Src: wire.Addr{10, 0, 0, 1}, Dst: wire.Addr{10, 0, 0, 2},
		SrcPort: 49153, DestQP: 0x12, TOS: wire.DataTOS(3, wire.ECT0), RKey: 0xabcd, MTU: 1000,
	}
	data := must[*wire.FlowHeader](t)(wire.NewFlowHeader(params))
	back := must[*wire.FlowHeader](t)(wire.NewFlowHeader(params.Reverse(0x34, wire.ControlTOS(6))))
	data.SetMessage(0x1000, 3001)

	path := filepath.Join(t.TempDir(), "kinds.pcapng")
	w := must[*Writer](t)(create(path))
	ports := []string{"leaf0-eth1", "h0-eth0"}
	for _, p := range ports {
		must[int](t)(w.AddPort(p))
	}
	buf := make([]byte, wire.MaxFrame)
	for i, k := range kinds {
		// 1.2005 us apart: the file has 1200 ns, 2401 ns, ...
		if err := w.Write(i%2, vtime.Time(i)*1200_500, buf[:k.put(buf, data, back)]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	sound := tshark(t, path, "-o", "ip.check_checksum:TRUE", "-Y", "_ws.malformed || ip.checksum.status == 0 || _ws.short")
	for _, line := range sound {
		t.Errorf("malformed: %s", line)
	}
	lines := tshark(t, path, "-T", "fields", "-e", "frame.interface_name", "-e", "frame.time_epoch", "-e",
		"frame.protocols")
	if len(lines) != len(kinds) {
		t.Fatalf("%d frames, want %d", len(lines), len(kinds))
	}
	for i, line := range lines {
		want := ports[i%2] + "\t0.0000" + []string{
			"00000", "01200", "02401", "03601", "04802", "06002", "07203", "08403", "09604", "10804", "12005",
		}[i] + "\t"
		if !strings.HasPrefix(line, want) {
			t.Errorf("frame %d: %q, want %q", i+1, line, want)
		}
	}
	for i, k := range kinds {
		lines := tshark(t, path, "-Y", k.filter, "-T", "fields", "-e", "frame.number")
		if len(lines) != 1 || lines[0] != strconv.Itoa(i+1) {
			t.Errorf("%s: filter %q finds frames %v, want %d", k.name, k.filter, lines, i+1)
		}
	}
}

// TestTsharkNoPort: a capture without ports is an empty one, not a broken one.
func TestTsharkNoPort(t *testing.T) {
	needTshark(t)
	path := filepath.Join(t.TempDir(), "empty.pcapng")
	if err := must[*Writer](t)(create(path)).Close(); err != nil {
		t.Fatal(err)
	}
	if lines := tshark(t, path); len(lines) != 0 {
		t.Errorf("%q", lines)
	}
}
