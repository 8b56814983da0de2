//go:build linux

package live

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// program skips a test that needs a program which this machine lacks; in CI it fails.
func program(t *testing.T, name, pack string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("this test needs %s: apt-get install %s", name, pack)
	}
	t.Skipf("this test needs %s: apt-get install %s", name, pack)
}

// on runs a program on a node until it ends, and returns its output.
func on(t *testing.T, f *Fabric, node string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := f.Run(node, cmd); err != nil {
		t.Fatalf("%s: %v: %v\n%s", node, args, err, out.String())
	}
	return out.String()
}

// begin runs a program on a node and waits for it to write text. end waits for its end.
func begin(t *testing.T, f *Fabric, text, node string, args ...string) (end func() string) {
	t.Helper()
	return beginUntil(context.Background(), t, f, text, node, args...)
}

// beginUntil does the work of begin, and ends the program when the context is done.
func beginUntil(ctx context.Context, t *testing.T, f *Fabric, text, node string, args ...string) (end func() string) {
	t.Helper()
	r, w := io.Pipe()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.Stdout, cmd.Stderr = w, w
	done := make(chan error, 1)
	go func() {
		done <- f.Run(node, cmd)
		w.Close()
	}()
	var out []byte
	buffer := make([]byte, 4096)
	for !bytes.Contains(out, []byte(text)) {
		n, err := r.Read(buffer)
		if out = append(out, buffer[:n]...); err != nil {
			t.Fatalf("%s: %v has ended (%v) without %q:\n%s", node, args, <-done, text, out)
		}
	}
	rest := make(chan []byte, 1)
	go func() {
		more, _ := io.ReadAll(r)
		rest <- more
	}()
	return func() string {
		select {
		case more := <-rest:
			<-done
			return string(out) + string(more)
		case <-time.After(timeout):
			t.Fatalf("%s: %v has not ended:\n%s", node, args, out)
		}
		return ""
	}
}

// TestWeb fetches a file from a web server in a host by curl, by the host's name.
func TestWeb(t *testing.T) { onPlanes(t, testWeb) }

func testWeb(t *testing.T, plane string) {
	program(t, "curl", "curl")
	f := bringUpAs(t, Options{Plane: plane})
	defer down(t, f)
	h5, err := f.Host("h5")
	if err != nil {
		t.Fatal(err)
	}
	fd, err := kernel.SocketIn(f.plane.Fabric().Namespace(h5.ID), unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: 80}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 16); err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "listener")
	listener, err := net.FileListener(file)
	file.Close()
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Repeat("lossless ", 20_000)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, page)
	})}
	served := make(chan struct{})
	go func() {
		_ = server.Serve(listener)
		close(served)
	}()
	if got := on(t, f, "h1", "curl", "-sS", "http://h5/"); got != page {
		t.Errorf("curl has %d bytes, the page %d", len(got), len(page))
	}
	server.Close()
	<-served
}

// TestNames checks that names of hosts resolve, and that other names fail at once instead of waiting for an unreachable
// name server.
func TestNames(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "")
	defer down(t, f)
	for name, want := range map[string][2]string{
		"h7":     {"10.0.0.8 ", "fd00::a00:8 "},
		"spine1": {"10.254.0.4 ", "fd00::afe:4 "},
	} {
		if got := on(t, f, "h0", "getent", "ahosts", name); !strings.HasPrefix(got, want[0]) ||
			!strings.Contains(got, want[1]) {
			t.Errorf("%s: %q", name, got)
		}
	}
	got := on(t, f, "h0", "sh", "-c", "cat /etc/resolv.conf; getent hosts nowhere.example || echo none")
	if strings.Contains(got, "nameserver") || !strings.HasSuffix(got, "none\n") {
		t.Errorf("resolv.conf, and a name that there is not: %q", got)
	}
	own, err := os.ReadFile("/etc/resolv.conf")
	if err == nil && strings.Contains(string(own), "fabric") {
		t.Errorf("the machine's own resolv.conf is %q", own)
	}
}

// TestPIDs checks that programs on all nodes see each other and the namespace init, by their own pids, and no other
// process, and that background programs run until the fabric ends.
func TestPIDs(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "")
	defer down(t, f)
	first := on(t, f, "h0", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!")
	got := on(t, f, "spine0", "sh", "-c", "for p in /proc/[0-9]*; do echo ${p#/proc/} $(cat $p/comm); done; kill "+first)
	lines := strings.Split(strings.TrimSpace(got), "\n")
	pid := func(line string) (n int) {
		_, _ = fmt.Sscan(line, &n)
		return n
	}
	slices.SortFunc(lines, func(a, b string) int { return pid(a) - pid(b) }) // the shell has 10 before 9
	if len(lines) != 3 || lines[0] != "1 pausenet-init" || lines[1] != strings.TrimSpace(first)+" sleep" ||
		!strings.HasSuffix(lines[2], " sh") {
		t.Errorf("after sleep as %s the processes are\n%s", first, got)
	}
}

// TestTCPDump runs tcpdump on a host, and checks that it sees the frames sent and received there.
func TestTCPDump(t *testing.T) {
	t.Parallel()
	program(t, "tcpdump", "tcpdump")
	f := bringUp(t, "")
	defer down(t, f)
	end := begin(t, f, "listening on", "h5", "tcpdump", "-n", "-l", "-c", "2", "-i", "h5-eth1", "icmp")
	on(t, f, "h1", "ping", "-c", "1", "-W", "180", "h5")
	if out := end(); !strings.Contains(out, "10.0.0.2 > 10.0.0.6: ICMP echo request") ||
		!strings.Contains(out, "10.0.0.6 > 10.0.0.2: ICMP echo reply") {
		t.Error(out)
	}
}

// TestScapy runs the example of docs/live.md for scapy, which uses ARP.
func TestScapy(t *testing.T) {
	t.Parallel()
	const python = "/usr/bin/python3" // Debian's
	if err := exec.Command(python, "-c", "import scapy").Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("this test needs scapy: apt-get install python3-scapy: %v", err)
		}
		t.Skipf("this test needs scapy: apt-get install python3-scapy: %v", err)
	}
	text, err := os.ReadFile("../../docs/live.md")
	if err != nil {
		t.Fatal(err)
	}
	_, script, _ := strings.Cut(string(text), "```python\n")
	script, _, found := strings.Cut(script, "```\n")
	if !found {
		t.Fatal("docs/live.md has no script for scapy")
	}
	f := bringUp(t, "")
	defer down(t, f)
	end := begin(t, f, "listening on", "h5", "tcpdump", "-n", "-l", "-v", "-c", "1", "-i", "h5-eth1", "udp")
	const reply = "IP / ICMP 10.0.0.6 > 10.0.0.2 echo-reply 0 / Padding\n"
	got, want := "", reply+"Ether / "+reply
	for range 10 { // scapy waits 2 s for an answer to ARP, which a busy machine may exceed
		if got = on(t, f, "h1", python, "-c", script); got == want {
			break
		}
	}
	if got != want {
		t.Errorf("it prints %q, want %q", got, want)
	}
	if out := end(); !strings.Contains(out, "tos 0x60") || !strings.Contains(out, "10.0.0.2.53 > 10.0.0.6.9: ") {
		t.Errorf("h5 got %s", out)
	}
}

// endless sets how long programs run, in seconds, that the test ends once it has seen the expected result.
const endless = "3600"

// datagrams returns a UDP socket on a host.
func datagrams(t *testing.T, f *Fabric, host string) int {
	t.Helper()
	h, err := f.Host(host)
	must(t, err)
	fd, err := kernel.SocketIn(f.plane.Fabric().Namespace(h.ID), unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	return fd
}

// sendUDP sends UDP from hosts to h5 with a TOS, each at about 40 Mb/s, which is twice the rate of its link at a
// slow-down of 500, until the condition holds. It then waits until all datagrams have arrived or been dropped, so that
// they do not disturb later traffic.
func sendUDP(t *testing.T, f *Fabric, tos int, what string, is func() bool, hosts ...string) {
	t.Helper()
	sink := datagrams(t, f, "h5") // without one h5 would answer by ICMP; nobody reads it
	defer unix.Close(sink)
	to := unix.SockaddrInet4{Port: 6000, Addr: [4]byte{10, 0, 0, 6}}
	// A program that another test starts may hold an earlier sink for a moment, until it calls execve.
	must(t, unix.SetsockoptInt(sink, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
	must(t, unix.Bind(sink, &to))
	over := make(chan struct{})
	var senders sync.WaitGroup
	stop := sync.OnceFunc(func() { close(over); senders.Wait() })
	defer stop()
	for _, host := range hosts {
		from := datagrams(t, f, host)
		must(t, unix.SetsockoptInt(from, unix.IPPROTO_IP, unix.IP_TOS, tos))
		senders.Go(func() {
			defer unix.Close(from)
			to := to // each use writes into it
			pause := time.NewTicker(time.Millisecond)
			defer pause.Stop()
			for {
				select {
				case <-over:
					return
				case <-pause.C:
					for range 4 {
						_ = unix.Sendto(from, make([]byte, 1400), unix.MSG_DONTWAIT, &to) // the host may have no room
					}
				}
			}
		})
	}
	until(t, what, is)
	stop()
	settled(t, f)
}

// refused counts the programs' frames that the fabric has dropped.
func refused(t *testing.T, f *Fabric) (n int64) {
	t.Helper()
	must(t, f.Do(func(e *engine.Engine) error { n = e.Totals.Refused; return nil }))
	return n
}

// pausesSent counts the PAUSEs sent by all ports.
func pausesSent(t *testing.T, f *Fabric) (n uint64) {
	t.Helper()
	must(t, f.Do(func(e *engine.Engine) error {
		n = 0
		for p := range f.Plan.Ports {
			n += e.State().Extras[p].PausesSent
		}
		return nil
	}))
	return n
}

// TestClasses sends UDP to a link. From one host, whose own link is no faster, the fabric loses nothing. From two hosts
// in a lossless class, by DSCP, it loses nothing either: it pauses the senders, whose hosts drop the excess. In a lossy
// class switches drop and count the excess.
func TestClasses(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "", "switch.buffer=1MB", "switch.pfc.xoff=100KB")
	defer down(t, f)
	const lossless = 3 << 5
	// Ever so many frames are more than a buffer holds.
	after := func(start func() bool) func() bool {
		begin := int64(-1)
		return func() bool {
			if begin < 0 && start() {
				begin = received(t, f, "h5")
			}
			return begin >= 0 && received(t, f, "h5") >= begin+1000
		}
	}
	sendUDP(t, f, 0, "h5 has frames of one sender", after(func() bool { return true }), "h1")
	if n := refused(t, f); n != 0 {
		t.Errorf("of one sender the fabric has dropped %d frames", n)
	}
	sendUDP(t, f, lossless, "two senders in a lossless class are paused, and go on",
		after(func() bool { return pausesSent(t, f) > 0 }), "h1", "h2")
	if n := refused(t, f); n != 0 {
		t.Errorf("in a lossless class the fabric has dropped %d frames", n)
	}
	sendUDP(t, f, 0, "frames of two senders in a lossy class are dropped", func() bool { return refused(t, f) > 0 }, "h1",
		"h2")
}

// received counts the frames that a host's port has received.
func received(t *testing.T, f *Fabric, host string) int64 {
	t.Helper()
	text := strings.TrimSpace(on(t, f, host, "cat", "/sys/class/net/"+host+"-eth1/statistics/rx_packets"))
	n, err := strconv.ParseInt(text, 10, 64)
	must(t, err)
	return n
}

// TestECN lets TCP connections of two hosts share a link whose lossy queue is marked. The receiver gets segments with
// CE, the sender is notified (ECE), and slows down (ssthresh) although nothing is lost: their windows are smaller than
// the queues.
func TestECN(t *testing.T) { onPlanes(t, testECN) }

func testECN(t *testing.T, plane string) {
	program(t, "iperf3", "iperf3")
	program(t, "ss", "iproute2")
	f := bringUpAs(t, Options{Plane: plane}, "switch.ecn.priorities=[0,3]", "switch.ecn.kmin=15KB", "switch.ecn.kmax=30KB",
		"switch.ecn.pmax=1")
	defer down(t, f)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var ends []func() string
	for host, port := range map[string]string{"h1": "6000", "h2": "6001"} {
		ends = append(ends, begin(t, f, "listening", "h5", "iperf3", "-s", "-1", "--forceflush", "-p", port),
			beginUntil(ctx, t, f, "connected to", host, "iperf3", "-c", "h5", "-p", port, "-t", endless, "-C", "reno", "-w",
				"128K", "--forceflush"))
	}
	// It is the connections' own account, which ends with them.
	until(t, "h1 hears of CE and holds back", func() bool {
		sockets := on(t, f, "h1", "ss", "-tin", "dst", "10.0.0.6")
		return strings.Contains(sockets, "delivered_ce:") && strings.Contains(sockets, " ssthresh:")
	})
	stop()
	for _, end := range ends {
		end()
	}
	if ce := netstat(t, f, "h5", "IpExt", "InCEPkts"); ce == 0 {
		t.Error("h5 got no segment with CE")
	}
	if n := refused(t, f); n != 0 {
		t.Errorf("%d segments were dropped", n)
	}
}

// netstat returns a counter of /proc/net/netstat on a node.
func netstat(t *testing.T, f *Fabric, node, group, name string) int64 {
	t.Helper()
	var names []string
	for line := range strings.Lines(on(t, f, node, "cat", "/proc/thread-self/net/netstat")) {
		if !strings.HasPrefix(line, group+":") {
			continue
		}
		if names == nil {
			names = strings.Fields(line)
			continue
		}
		for i, value := range strings.Fields(line) {
			if names[i] == name {
				n, err := strconv.ParseInt(value, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
		}
	}
	t.Fatalf("no %s %s", group, name)
	return 0
}
