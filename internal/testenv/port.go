package testenv

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

// Ports for FreePort. They are below those that Linux gives to connections and to listeners on port 0 (32768 to 60999,
// ip_local_port_range in ip-sysctl.rst), so no other test's connection takes one before its own test listens there.
const firstPort, numPorts = 20_000, 12_000

var portsTaken atomic.Int32

// FreePort returns a port of 127.0.0.1 at which nobody listens, by TCP or UDP. Another process starts at another port.
func FreePort(t testing.TB) int {
	t.Helper()
	for range numPorts {
		port := firstPort + (os.Getpid()*97+int(portsTaken.Add(1)))%numPorts
		address := fmt.Sprintf("127.0.0.1:%d", port)
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		p, err := net.ListenPacket("udp", address)
		_ = l.Close()
		if err == nil {
			_ = p.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}
