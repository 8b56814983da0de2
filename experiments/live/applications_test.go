//go:build linux

package live

import (
	"bytes"
	"context"
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

// TestVerbsApplications runs programs that people measure RDMA with: atomic operations, shared receive queues and
// datagrams, fio and UCX, by its transport and by the protocols above it.
func TestVerbsApplications(t *testing.T) {
	t.Parallel()
	for name, pack := range map[string]string{
		"ib_atomic_bw": "perftest", "ibv_ud_pingpong": "ibverbs-utils", "fio": "fio",
		"ucx_perftest": "ucx-utils",
	} {
		program(t, name, pack)
	}
	f := bringUp(t, "")
	defer down(t, f)
	ucx := []string{"env", "UCX_NET_DEVICES=pausenet0:1", "UCX_TLS=rc_v,self", "ucx_perftest"}
	for _, k := range []struct {
		name           string
		serve, connect []string
		want           []string // patterns for the output of both
	}{
		{
			"atomic",
			[]string{"ib_atomic_bw", "-F", "-n", "20"},
			[]string{"ib_atomic_bw", "-F", "-n", "20", "h1"},
			[]string{" 20  "},
		},
		{
			"shared receives",
			[]string{"ibv_srq_pingpong", "-g", "0", "-n", "20", "-q", "4"},
			[]string{"ibv_srq_pingpong", "-g", "0", "-n", "20", "-q", "4", "h1"},
			[]string{"iters in"},
		},
		{
			"datagrams",
			[]string{"ibv_ud_pingpong", "-g", "0", "-n", "20", "-s", "1024", "-c"},
			[]string{"ibv_ud_pingpong", "-g", "0", "-n", "20", "-s", "1024", "-c", "h1"},
			[]string{"20 iters in"},
		},
		{
			"datagrams over IPv6",
			[]string{"ibv_ud_pingpong", "-g", "1", "-n", "20", "-s", "1024", "-c"},
			[]string{"ibv_ud_pingpong", "-g", "1", "-n", "20", "-s", "1024", "-c", "h1"},
			[]string{"20 iters in", "GID fd00::a00:2"},
		},
		{
			"perftest's datagrams over IPv6",
			[]string{"ib_send_lat", "-F", "-c", "UD", "-x", "1", "-n", "20"},
			[]string{"ib_send_lat", "-F", "-c", "UD", "-x", "1", "-n", "20", "h1"},
			[]string{" 20  "},
		},
		{
			"fio",
			[]string{"fio", "--name=serve", "--ioengine=rdma", "--port=8888", "--rw=read", "--bs=16k", "--size=256k"},
			// fio ends well where nobody listens yet.
			[]string{"sh", "-c", "out=$(fio --name=connect --ioengine=rdma --hostname=10.0.0.2 --port=8888 --verb=write " +
				"--rw=write --bs=16k --size=256k --iodepth=4); " +
				`echo "$out"; case "$out" in *io=256KiB*) ;; *) exit 1 ;; esac`},
			[]string{"io=256KiB"},
		},
		{
			"UCX's transport",
			[]string{"ucx_perftest", "-d", "pausenet0:1", "-x", "rc_verbs"},
			[]string{"ucx_perftest", "10.0.0.2", "-d", "pausenet0:1", "-x", "rc_verbs", "-t", "am_lat", "-n", "50", "-w", "5"},
			[]string{"Final:"},
		},
		{
			"UCX's datagrams over IPv6",
			[]string{"env", "UCX_IB_GID_INDEX=1", "ucx_perftest", "-d", "pausenet0:1", "-x", "ud_verbs"},
			[]string{
				"env", "UCX_IB_GID_INDEX=1", "ucx_perftest", "10.0.0.2", "-d", "pausenet0:1", "-x", "ud_verbs", "-t",
				"am_lat", "-n", "50", "-w", "5",
			},
			[]string{"Final:"},
		},
		{"UCX's messages", ucx, append(ucx[:len(ucx):len(ucx)], "10.0.0.2", "-t", "tag_bw", "-n", "30", "-w", "5", "-s",
			"20000"), []string{"Final:"}},
	} {
		t.Run(k.name, func(t *testing.T) {
			served, connected := together(t, f, "h1", k.serve, "h5", k.connect)
			for _, want := range k.want {
				if !strings.Contains(connected, want) || strings.Contains(served+connected, "invalid data") {
					t.Errorf("no %q:\n%s\n%s", want, served, connected)
				}
			}
		})
	}
}

// TestVerbsAddressFromDatagram creates an address vector from a received datagram by the library, over IPv4 and over
// IPv6 (IBTA annex A17.4.5.1).
func TestVerbsAddressFromDatagram(t *testing.T) {
	t.Parallel()
	program(t, "python3", "python3")
	const script = `
import ctypes, socket, sys
library = ctypes.CDLL("libibverbs.so.1")
completion = bytes(36) + (1).to_bytes(4, "little") + bytes(8)
four = bytes(20) + b"\x45" + bytes(11) + socket.inet_aton("10.0.0.6") + socket.inet_aton("10.0.0.2")
six = b"\x60" + bytes(7) + socket.inet_pton(socket.AF_INET6, "fd00::a00:6") + socket.inet_pton(socket.AF_INET6, "fd00::a00:2")
for header in four, six:
    attr = ctypes.create_string_buffer(32)
    if library.ibv_init_ah_from_wc(None, 1, completion, header, attr):
        sys.exit("it fails")
    print(socket.inet_ntop(socket.AF_INET6, attr.raw[:16]), attr.raw[20])
`
	out, err := rdma(t, "python3", "-c", script).CombinedOutput()
	if want := "::ffff:10.0.0.6 0\nfd00::a00:6 1\n"; err != nil || string(out) != want {
		t.Errorf("%v: %q, not %q", err, out, want)
	}
}

// webServer configures nginx so that it answers with the client's and the server's address.
const webServer = `daemon off; pid %[1]s/pid; error_log stderr;
events {}
http {
	access_log off; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
	server { listen 80; listen [::]:80; location / { default_type text/html; return 200 "hello from $hostname to $remote_addr\n"; } }
}
`

// TestWebServer runs nginx on a host, and requests pages from another host, over IPv4 and IPv6: with curl and with a
// browser.
func TestWebServer(t *testing.T) {
	t.Parallel()
	program(t, "nginx", "nginx-light")
	program(t, "curl", "curl")
	program(t, "chromium", "chromium")
	f := bringUp(t, "")
	defer down(t, f)
	folder := t.TempDir()
	settings := filepath.Join(folder, "nginx.conf")
	must(t, os.WriteFile(settings, fmt.Appendf(nil, webServer, folder), 0o644))
	ctx, cancel := context.WithCancel(context.Background())
	end := beginUntil(ctx, t, f, "ready", "h5", "sh", "-c",
		"nginx -t -c "+settings+" && echo ready && exec nginx -c "+settings)
	defer end()
	defer cancel()
	for family, address := range map[string]string{"-4": "10.0.0.2", "-6": "fd00::a00:2"} {
		// nginx may not listen yet: only the last try reports its error
		got := on(t, f, "h1", "curl", "-s", "-w", "%{errormsg}", "--retry", "100", "--retry-delay", "1",
			"--retry-connrefused", family, "http://h5/")
		if got != "hello from h5 to "+address+"\n" {
			t.Errorf("curl %s: %q", family, got)
		}
	}
	got := on(t, f, "h1", "env", "TMPDIR="+testenv.ShortDir(t), "chromium", "--headless", "--no-sandbox", "--disable-gpu",
		"--user-data-dir="+filepath.Join(folder, "profile"), "--dump-dom", "http://h5/")
	if !strings.Contains(got, "hello from h5 to 10.0.0.2") {
		t.Errorf("the browser has\n%s", got)
	}
}

// TestNamesByMulticast sends a query for a host's name by multicast DNS (RFC 6762) from a resolver on another host.
// avahi-daemon on the host answers.
func TestNamesByMulticast(t *testing.T) {
	t.Parallel()
	program(t, "avahi-daemon", "avahi-daemon")
	const python = "/usr/bin/python3"
	program(t, python, "python3")
	folder := t.TempDir()
	settings := filepath.Join(folder, "avahi.conf")
	must(t, os.WriteFile(settings, []byte("[server]\nhost-name=h5\nenable-dbus=no\nuse-ipv6=no\n[publish]\n"+
		"publish-hinfo=no\npublish-workstation=no\n"), 0o644))
	f, err := bringUpFile(t, Options{}, "", "topology: small\n", "topology.change_nodes=[{name: h5, private: [/run]}]")
	must(t, err)
	defer down(t, f)
	ctx, cancel := context.WithCancel(context.Background())
	end := beginUntil(ctx, t, f, "Server startup complete", "h5", "avahi-daemon", "--no-drop-root", "--no-chroot",
		"--no-rlimits", "-f", settings)
	defer end()
	defer cancel()
	const resolver = `
import socket, struct, sys
query = struct.pack("!6H", 0, 0, 1, 0, 0, 0) + b"\x02h5\x05local\x00" + struct.pack("!2H", 1, 1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("224.0.0.251") + struct.pack("@I", 0))
s.bind(("", int(sys.argv[1])))
s.settimeout(1)
for _ in range(180):
    s.sendto(query, ("224.0.0.251", 5353))
    try:
        while True:
            answer, (address, _) = s.recvfrom(9000)
            if answer[2] & 0x80 and socket.inet_aton("10.0.0.6") in answer:
                print("answered by", address)
                sys.exit()
    except TimeoutError:
        pass
sys.exit("nobody answers")
`
	// as a multicast DNS resolver, and as one that knows nothing of it (section 6.7)
	for _, port := range []string{"5353", "0"} {
		if got := on(t, f, "h1", python, "-c", resolver, port); got != "answered by 10.0.0.6\n" {
			t.Errorf("from port %s: %q", port, got)
		}
	}
}

// TestVerbsPriority checks that a program's service level or traffic class selects a lossless priority, and no other.
func TestVerbsPriority(t *testing.T) {
	t.Parallel()
	program(t, "ibv_rc_pingpong", "ibverbs-utils")
	program(t, "ib_write_bw", "perftest")
	program(t, "tshark", "tshark")
	f := bringUp(t, "", "switch.pfc.priorities=[3,4]")
	defer down(t, f)
	path := filepath.Join(t.TempDir(), "capture.pcapng")
	file, err := os.Create(path)
	must(t, err)
	h1, err := f.Host("h1")
	must(t, err)
	stop, captured := make(chan struct{}), make(chan error, 1)
	go func() { captured <- f.Capture(h1.Ports, file, stop) }()
	level := []string{"ibv_rc_pingpong", "-g", "0", "-n", "10", "-l", "4"}
	together(t, f, "h1", level, "h5", append(level, "h1"))
	class := []string{"ib_write_bw", "-F", "-n", "10", "-R", "--tos=130"}
	together(t, f, "h1", class, "h5", append(class, "h1"))
	none := []string{"ibv_rc_pingpong", "-g", "0", "-n", "10"}
	together(t, f, "h1", none, "h5", append(none, "h1"))
	close(stop)
	must(t, errors.Join(<-captured, file.Close()))
	for _, filter := range []string{
		"ip.dsfield.dscp == 34 && infiniband.bth.opcode == 0",
		"ip.dsfield.dscp == 34 && infiniband.bth.opcode == 6", "ip.dsfield.dscp == 26 && infiniband.bth.opcode == 0",
	} {
		if out, err := exec.Command("tshark", "-r", path, "-Y", filter).Output(); err != nil || len(out) == 0 {
			t.Errorf("no frame is %s: %v", filter, err)
		}
	}
	refused := []string{"ibv_rc_pingpong", "-g", "0", "-n", "10", "-l", "5"}
	served, connected, err := meet(f, "h1", rdma(t, refused...), "h5",
		func() *exec.Cmd { return rdma(t, append(refused, "h1")...) })
	if err == nil || !strings.Contains(served+connected, "priority 5 is not lossless here") {
		t.Errorf("a priority that is not lossless: %v\n%s\n%s", err, served, connected)
	}

	refused[0] = "ibv_ud_pingpong" // of which the one that is connected to waits for the other's first message
	ctx, cancel := context.WithCancel(context.Background())
	serve := exec.CommandContext(ctx, refused[0], refused[1:]...)
	serve.Env = rdma(t, refused...).Env
	ended := make(chan error, 1)
	go func() { ended <- f.Run("h1", serve) }()
	for deadline := time.Now().Add(timeout); ; time.Sleep(100 * time.Millisecond) {
		var out bytes.Buffer
		cmd := rdma(t, append(refused, "h1")...)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := f.Run("h5", cmd); err != nil && strings.Contains(out.String(),
			"a datagram's priority is not lossless here") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a datagram's priority that is not lossless: %s", out.String())
		}
	}
	cancel()
	<-ended
}
