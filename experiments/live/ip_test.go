//go:build linux

package live

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// lines returns the lines of a text that match a pattern, in order, joined by "|".
func lines(text, pattern string) string {
	return strings.Join(regexp.MustCompile(`(?m)`+pattern).FindAllString(text, -1), "|")
}

// TestPathIsShown: traceroute, mtr and tracepath show the switches between two hosts by their names, over IPv4 and
// IPv6.
func TestPathIsShown(t *testing.T) {
	t.Parallel()
	program(t, "traceroute", "traceroute")
	program(t, "mtr", "mtr-tiny")
	program(t, "tracepath", "iputils-tracepath")
	f := bringUp(t, "")
	defer down(t, f)
	const path = `leaf0.*spine[01].*leaf1.*h5`
	for _, command := range [][]string{
		{"traceroute", "-q", "1", "-w", "60", "h5"},
		{"traceroute", "-6", "-q", "1", "-w", "60", "h5"},
		{"traceroute", "-I", "-q", "1", "-w", "60", "h5"},
		{"mtr", "-r", "-c", "1", "-G", "1", "h5"},
		{"tracepath", "h5"},
	} {
		got := ""
		for range 60 { // mtr waits a second, which a busy machine may exceed
			if got = on(t, f, "h1", command...); regexp.MustCompile(`(?s)` + path).MatchString(got) {
				break
			}
		}
		if !regexp.MustCompile(`(?s)` + path).MatchString(got) {
			t.Errorf("%v:\n%s", command, got)
		}
	}
	for _, node := range []string{"leaf0", "spine1", "leaf1"} {
		for _, family := range []string{"-4", "-6"} {
			if got := on(t, f, "h1", "ping", family, "-c", "1", "-W", "180", node); lines(got,
				`\(1?[0-9a-f.:]+\): icmp_seq=1`) == "" {
				t.Errorf("ping %s %s:\n%s", family, node, got)
			}
		}
	}
}

// TestPathMTU checks that jumbo packets cross links that allow them, and that senders learn the MTU of other links.
func TestPathMTU(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "", "topology.interface_mtu=9000",
		"topology.change_links=[{from: leaf1, to: h5, interface_mtu: 1400}]")
	defer down(t, f)
	if got := on(t, f, "h1", "ping", "-4", "-M", "dont", "-c", "1", "-W", "180", "-s", "8900",
		"h5"); !strings.Contains(got, " 0% packet loss") {
		t.Errorf("ping in fragments that leaf1 makes:\n%s", got)
	}
	for _, family := range []string{"-4", "-6"} {
		if got := on(t, f, "h1", "ping", family, "-M", "do", "-c", "1", "-W", "180", "-s", "8900",
			"h6"); !strings.Contains(got, " 0% packet loss") {
			t.Errorf("ping %s:\n%s", family, got)
		}
		got := on(t, f, "h1", "sh", "-c", "ping "+family+" -M do -c 1 -W 180 -s 8900 h5; true")
		if !strings.Contains(got, "leaf1") || !strings.Contains(got, "mtu") || !strings.Contains(got, "1400") {
			t.Errorf("ping %s of too long a packet:\n%s", family, got)
		}
		if got := on(t, f, "h1", "ping", family, "-c", "1", "-W", "180", "-s", "8900", "h5"); !strings.Contains(got,
			" 0% packet loss") {
			t.Errorf("ping %s in fragments:\n%s", family, got)
		}
	}
}

// TestARPAndNeighbours checks that ARP requests are answered, and that a host that has forgotten its gateway finds it
// again.
func TestARPAndNeighbours(t *testing.T) {
	t.Parallel()
	program(t, "arping", "arping")
	f := bringUp(t, "")
	defer down(t, f)
	if got := on(t, f, "h1", "arping", "-c", "1", "-w", "60", "-i", "h1-eth1", "10.0.0.6"); !strings.Contains(got,
		"from 02:00:00:00:00:01 (10.0.0.6)") {
		t.Error(got)
	}
	on(t, f, "h1", "sh", "-c", "ip neigh flush nud permanent; ip -6 neigh flush nud permanent; ip neigh | grep -q . && exit 1; exit 0")
	for _, family := range []string{"-4", "-6"} {
		on(t, f, "h1", "ping", family, "-c", "1", "-W", "180", "h5")
	}
}

// TestGatewayIsLearned checks that with l2: learn a host knows no neighbour until it has asked, and then the one that
// answered.
func TestGatewayIsLearned(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "", "topology.l2=learn")
	defer down(t, f)
	if got := on(t, f, "h1", "ip", "neigh"); strings.TrimSpace(got) != "" {
		t.Errorf("before it has asked, h1 knows\n%s", got)
	}
	for family, gateway := range map[string]string{"-4": "10.255.255.254", "-6": "fe80::1"} {
		on(t, f, "h1", "ping", family, "-c", "1", "-W", "180", "h5")
		got := on(t, f, "h1", "ip", family, "neigh")
		if !strings.Contains(got, gateway) || !strings.Contains(got, "lladdr 02:") || strings.Contains(got, "PERMANENT") {
			t.Errorf("after a ping %s, h1 knows\n%s", family, got)
		}
	}
}

// TestGroupsReachHosts checks that a datagram to a group reaches a program on each other host in the group, over IPv4
// and IPv6, and that a broadcast reaches all.
func TestGroupsReachHosts(t *testing.T) {
	t.Parallel()
	const python = "/usr/bin/python3"
	if _, err := exec.LookPath(python); err != nil {
		t.Skip("this test needs Python")
	}
	f := bringUp(t, "")
	defer down(t, f)
	const member = `
import socket, struct
found = []
for family, group in ((socket.AF_INET, "224.0.0.251"), (socket.AF_INET6, "ff02::fb")):
    s = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, socket.inet_pton(family, group) + struct.pack("@I", 2))
    else:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + struct.pack("@I", 0))
    s.bind(("", 5353))
    found.append(s)
b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
b.bind(("", 9999))
print("ready", flush=True)
for s in found:
    print(s.recvfrom(100)[0].decode(), flush=True)
print(b.recvfrom(100)[0].decode(), b.recvfrom(100)[0].decode(), flush=True)
`
	const sender = `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
s.sendto(b"group", ("224.0.0.251", 5353))
s.sendto(b"limited", ("255.255.255.255", 9999))
s.sendto(b"directed", ("10.255.255.255", 9999))
socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"group6", ("ff02::fb", 5353, 0, 2))
`
	var ends []func() string
	for _, host := range []string{"h2", "h5", "h7"} {
		ends = append(ends, begin(t, f, "ready", host, python, "-c", member))
	}
	on(t, f, "h1", python, "-c", sender)
	for _, end := range ends {
		if got := end(); !strings.HasSuffix(got, "group\ngroup6\nlimited directed\n") {
			t.Errorf("%q", got)
		}
	}
}
