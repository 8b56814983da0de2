//go:build linux

package live

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator"
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

// on runs a program on a node until it ends and returns what it wrote.
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

// begin runs a program on a node until end is called, or it ends, and waits for it to write text.
func begin(t *testing.T, f *Fabric, text, node string, args ...string) (end func() string) {
	t.Helper()
	r, w := io.Pipe()
	cmd := exec.Command(args[0], args[1:]...)
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
		case <-time.After(time.Minute):
			t.Fatalf("%s: %v has not ended:\n%s", node, args, out)
		}
		return ""
	}
}

// TestWeb fetches a file from a web server in a host by curl, by the host's name.
func TestWeb(t *testing.T) {
	program(t, "curl", "curl")
	f := bringUp(t, "")
	defer down(t, f)
	h5, err := f.Host("h5")
	if err != nil {
		t.Fatal(err)
	}
	fd, err := orchestrator.SocketIn(f.plane.Fabric().Namespace(h5.ID), unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
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
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })}
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

// TestNames: names of hosts are known, others are refused at once rather than asked of a name server that cannot be reached.
func TestNames(t *testing.T) {
	f := bringUp(t, "")
	defer down(t, f)
	if got := on(t, f, "h0", "getent", "hosts", "h7"); !strings.HasPrefix(got, "10.0.0.8 ") {
		t.Errorf("h7: %q", got)
	}
	if got := on(t, f, "h0", "sh", "-c", "cat /etc/resolv.conf; getent hosts nowhere.example || echo none"); strings.Contains(got, "nameserver") ||
		!strings.HasSuffix(got, "none\n") {
		t.Errorf("resolv.conf, and a name that there is not: %q", got)
	}
	own, err := os.ReadFile("/etc/resolv.conf")
	if err == nil && strings.Contains(string(own), "fabric") {
		t.Errorf("the machine's own resolv.conf is %q", own)
	}
}

// TestPIDs: programs on all nodes see each other and the guard, by pids of their own, and no others; those in the background go on until the
// fabric ends.
func TestPIDs(t *testing.T) {
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
	if len(lines) != 3 || lines[0] != "1 pausenet-guard" || lines[1] != strings.TrimSpace(first)+" sleep" || !strings.HasSuffix(lines[2], " sh") {
		t.Errorf("after sleep as %s the processes are\n%s", first, got)
	}
}

// TestTCPDump has tcpdump in a host see what comes and goes there.
func TestTCPDump(t *testing.T) {
	program(t, "tcpdump", "tcpdump")
	f := bringUp(t, "")
	defer down(t, f)
	end := begin(t, f, "listening on", "h5", "tcpdump", "-n", "-l", "-c", "2", "-i", "h5-eth1", "icmp")
	on(t, f, "h1", "ping", "-c", "1", "-W", "30", "h5")
	if out := end(); !strings.Contains(out, "10.0.0.2 > 10.0.0.6: ICMP echo request") || !strings.Contains(out, "10.0.0.6 > 10.0.0.2: ICMP echo reply") {
		t.Error(out)
	}
}

// TestScapy does what docs/live.md has for scapy. As scapy comes it asks by ARP, which nobody answers.
func TestScapy(t *testing.T) {
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
	const help = "conf.L3socket = L3RawSocket\n"
	if !strings.Contains(script, help) {
		t.Fatalf("the script for scapy lacks %q", help)
	}
	f := bringUp(t, "")
	defer down(t, f)
	end := begin(t, f, "listening on", "h5", "tcpdump", "-n", "-l", "-v", "-c", "1", "-i", "h5-eth1", "udp")
	const reply = "IP / ICMP 10.0.0.6 > 10.0.0.2 echo-reply 0 / Padding\n"
	if got, want := on(t, f, "h1", python, "-c", script), reply+"Ether / "+reply; got != want {
		t.Errorf("it prints %q, want %q", got, want)
	}
	if out := end(); !strings.Contains(out, "tos 0x60") || !strings.Contains(out, "10.0.0.2.53 > 10.0.0.6.9: ") {
		t.Errorf("h5 got %s", out)
	}
	without := `from scapy.all import *; print(sr1(IP(dst="h5")/ICMP(), timeout=1, verbose=0))`
	if got := on(t, f, "h1", python, "-c", without); !strings.HasSuffix(got, "None\n") {
		t.Errorf("without the line that helps it is %q: it helps no more", got)
	}
}

// sendUDP has hosts send UDP to h5 at 16 Mb/s each for 2 s (8 Gb/s of virtual time at a slow-down of 500) with a TOS and returns the share
// that was lost.
func sendUDP(t *testing.T, f *Fabric, tos string, hosts ...string) (lost float64) {
	t.Helper()
	var ends []func() string
	for i := range hosts {
		ends = append(ends, begin(t, f, "listening", "h5", "iperf3", "-s", "-1", "--forceflush", "-p", strconv.Itoa(6000+i)))
	}
	var clients []func() string
	for i, h := range hosts {
		clients = append(clients, begin(t, f, "", h, "iperf3", "-c", "h5", "-p", strconv.Itoa(6000+i), "-u", "-b", "16M", "-l", "1400", "-t", "2", "-S", tos, "-J"))
	}
	var all, missing float64
	for _, end := range clients {
		var report struct {
			Error string
			End   struct {
				Sum struct {
					Packets float64 `json:"packets"`
					Lost    float64 `json:"lost_packets"`
				} `json:"sum"`
			} `json:"end"`
		}
		out := end()
		if err := json.Unmarshal([]byte(out), &report); err != nil || report.Error != "" {
			t.Fatalf("iperf3 -u: %v\n%s", err, out)
		}
		all += report.End.Sum.Packets
		missing += report.End.Sum.Lost
	}
	for _, end := range ends {
		end()
	}
	return missing / all
}

// refused is the programs' frames that the fabric has dropped.
func refused(t *testing.T, f *Fabric) (n int64) {
	t.Helper()
	if err := f.Do(func(e *orchestrator.Engine) error { n = e.Totals.Refused; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestClasses sends 16 Gb/s of UDP into a link of 10: in a lossless class, by DSCP, the fabric loses nothing and pauses the senders, whose
// hosts drop what they cannot queue; in a lossy class switches drop it and count it. Of one sender alone they drop nothing.
func TestClasses(t *testing.T) {
	program(t, "iperf3", "iperf3")
	f := bringUp(t, "", "switch.buffer=1MB", "switch.pfc.xoff=100KB")
	defer down(t, f)
	// What hosts lose, for want of a processor, is their own affair.
	if lost := sendUDP(t, f, "0", "h1"); refused(t, f) != 0 {
		t.Errorf("UDP alone: %.1f %% lost, %d in the fabric", 100*lost, refused(t, f))
	}
	if lost := sendUDP(t, f, "0x60", "h1", "h2"); refused(t, f) != 0 {
		t.Errorf("lossless: %.1f %% lost, %d frames in the fabric", 100*lost, refused(t, f))
	}
	var pauses uint64
	if err := f.Do(func(e *orchestrator.Engine) error {
		for p := range f.Plan.Ports {
			pauses += e.State().Ports[p].PausesSent
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if pauses == 0 {
		t.Error("no PAUSE was sent")
	}
	if lost := sendUDP(t, f, "0", "h1", "h2"); refused(t, f) == 0 {
		t.Errorf("lossy: %.1f %% lost, %d frames in the fabric", 100*lost, refused(t, f))
	}
}

// TestECN has two hosts' TCP meet on a link whose lossy queue is marked: the receiver gets segments with CE, the sender hears of them
// (ECE), and holds back (ssthresh) though nothing is lost: their windows are less than the queues hold.
func TestECN(t *testing.T) {
	program(t, "iperf3", "iperf3")
	program(t, "ss", "iproute2")
	f := bringUp(t, "", "switch.ecn.priorities=[0,3]", "switch.ecn.kmin=15KB", "switch.ecn.kmax=30KB", "switch.ecn.pmax=1")
	defer down(t, f)
	var servers []func() string
	for _, port := range []string{"6000", "6001"} {
		servers = append(servers, begin(t, f, "listening", "h5", "iperf3", "-s", "-1", "--forceflush", "-p", port))
	}
	one := begin(t, f, "0.00-", "h1", "iperf3", "-c", "h5", "-p", "6000", "-t", "3", "-C", "reno", "-w", "128K", "--forceflush")
	two := begin(t, f, "0.00-", "h2", "iperf3", "-c", "h5", "-p", "6001", "-t", "3", "-C", "reno", "-w", "128K", "--forceflush")
	sockets := on(t, f, "h1", "ss", "-tin", "dst", "10.0.0.6")
	one()
	two()
	for _, end := range servers {
		end()
	}
	if !strings.Contains(sockets, "delivered_ce:") || !strings.Contains(sockets, " ssthresh:") {
		t.Errorf("no ECE, or no reduction in\n%s", sockets)
	}
	if ce := counter(t, f, "h5", "IpExt", "InCEPkts"); ce == 0 {
		t.Error("h5 got no segment with CE")
	}
	if n := refused(t, f); n != 0 {
		t.Errorf("%d segments were dropped", n)
	}
}

// counter is a counter of /proc/net/netstat on a node.
func counter(t *testing.T, f *Fabric, node, group, name string) int64 {
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
