package counters

import (
	"bytes"
	"math"
	"net"
	"net/netip"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// storm is a storm of h7 that the watchdog ends, with a damaged cable to h1.
const storm = `
topology: {delay: 1us, leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4, host_rate: 25Gbps, fabric_rate: 100Gbps}}
controllers: [{name: dog, cc: dcqcn, switch: {pfc: {watchdog: {detect: 100us, restore: 200us}}}}]
switch: {pfc: {xoff: 40KB}}
host: {retransmit_timeout: 100us}
flows:
  - {from: h0..h2, to: h7, size: 400KB}
  - {from: h4, to: h1, size: 400KB}
faults:
  - {at: 50us, for: 400us, host: h7, pause: [3], interval: 50us}
  - {at: 0s, link: "h1:leaf0", ber: 1e-7}
duration: 1ms
`

// counted runs the scenario and returns its counters, the summary, and the engine's own counts of PAUSE and frames.
func counted(t *testing.T, text string) (*Fabric, func(port string) engineCounts) {
	t.Helper()
	s, err := scenario.Reading{}.Parse("storm.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var fabric *Fabric
	by := map[string]engineCounts{}
	_, err = runner.Watch(t.Context(), s, runner.Options{
		Controller: s.Controllers[0], Seed: 1, Processors: 1,
		Observers: []runner.NewObserver{Observe(func(f *Fabric) { fabric = f })},
	}, runner.Watching{Ended: func(e *engine.Engine) {
		for i := range e.Plan().Ports {
			r, extra := &e.State().Ports[i], &e.State().Extras[i]
			by[e.Plan().Ports[i].Name] = engineCounts{
				extra.PausesReceived, r.RxBytes, extra.ResumesReceived, uint64(e.LostAt(i)[engine.LossWatchdog].Frames),
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return fabric, func(port string) engineCounts { return by[port] }
}

type engineCounts struct{ pauses, bytes, resumes, watchdog uint64 }

// TestCountersOfRun compares counters with the registers of the pipelines, which count by themselves.
func TestCountersOfRun(t *testing.T) {
	f, of := counted(t, storm)
	var pauses, sent, watchdog, errors uint64
	for _, n := range f.Nodes {
		for _, p := range n.Ports {
			var got engineCounts
			for i := range p.Class {
				got.pauses += p.Class[i].RxPause
				got.bytes += p.Class[i].RxBytes
				got.watchdog += p.Class[i].WatchdogDrops
				sent += p.Class[i].TxPause
			}
			want := of(p.Name)
			want.bytes -= (want.pauses + want.resumes) * 60
			want.resumes = 0
			if got != want {
				t.Errorf("%s: got %+v, want %+v", p.Name, got, want)
			}
			pauses += got.pauses
			watchdog += got.watchdog
			errors += p.RxErrors
		}
	}
	if pauses == 0 || sent < pauses || watchdog == 0 || errors == 0 {
		t.Errorf("the run shows nothing: %d PAUSE received, %d sent, %d frames of the watchdog, %d errors", pauses, sent, watchdog, errors)
	}
	h7 := f.Node("h7").Ports[0]
	// PAUSE at 50, 100, ..., 400 us, and the last one lasts 65535 quanta of 512 bits at 25 Gbps: 1342 us.
	if c := h7.Class[3]; c.TxPause != 8 || c.TxPauseNS < 900_000 || c.TxPauseNS > 950_000 {
		t.Errorf("h7 sent %d PAUSE for %d ns, want 8 and 950 us to the run's end", c.TxPause, c.TxPauseNS)
	}
	if at := f.Node("leaf1").Ports[3]; at.Class[3].Storms != 1 || at.Class[3].RxPauseNS != h7.Class[3].TxPauseNS {
		t.Errorf("leaf1 to h7: %d storms, paused for %d ns", at.Class[3].Storms, at.Class[3].RxPauseNS)
	}
}

// TestFormatsRoundTrip reads what was written, and compares: the files of all nodes have all counters of hosts, and
// those of switches.
func TestFormatsRoundTrip(t *testing.T) {
	f, _ := counted(t, storm)
	for _, n := range f.Nodes {
		for _, p := range n.Ports {
			for i := range p.Class { // files have microseconds
				p.Class[i].RxPauseNS -= p.Class[i].RxPauseNS % 1000
				p.Class[i].TxPauseNS -= p.Class[i].TxPauseNS % 1000
			}
		}
	}
	read := &Fabric{Name: f.Name}
	for _, n := range f.Nodes {
		for name, data := range n.Files() {
			if err := read.Read("folder/"+name, data); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		got := read.Node(n.Name)
		got.Host = n.Host
		for _, p := range got.Ports {
			p.read = nil
		}
		for i := range n.Ports {
			want := *n.Ports[i]
			if n.Host {
				want.ECNMarks = 0 // ethtool has no such counter
			}
			if !reflect.DeepEqual(*got.Ports[i], want) {
				t.Errorf("%s: got\n%+v, want\n%+v", n.Name, *got.Ports[i], want)
			}
		}
	}
}

// TestPFCTable has the layout that pfcstat of sonic-utilities prints by Python's tabulate (tests/pfcstat_test.py,
// show_pfc_counters_output, at bb003843): titles and cells to the right, two spaces between columns, commas in numbers.
func TestPFCTable(t *testing.T) {
	n := &Node{Name: "leaf0", Ports: []*Port{{Name: "Ethernet0"}, {Name: "Ethernet12"}}}
	n.Ports[0].Class[0].RxPause, n.Ports[0].Class[7].RxPause = 1200, 207
	n.Ports[1].Class[3].TxPause = 12_345_678
	var b bytes.Buffer
	if err := n.WritePFC(&b); err != nil {
		t.Fatal(err)
	}
	const want = `   Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
----------  ------  ------  ------  ------  ------  ------  ------  ------
 Ethernet0   1,200       0       0       0       0       0       0     207
Ethernet12       0       0       0       0       0       0       0       0

   Port Tx    PFC0    PFC1    PFC2        PFC3    PFC4    PFC5    PFC6    PFC7
----------  ------  ------  ------  ----------  ------  ------  ------  ------
 Ethernet0       0       0       0           0       0       0       0       0
Ethernet12       0       0       0  12,345,678       0       0       0       0
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	var f Fabric
	if err := f.Read("leaf0.txt", []byte("Last cached time was 2026-01-01\n"+strings.ReplaceAll(want, "12,345,678", "N/A"))); err != nil {
		t.Fatal(err)
	}
	if got := f.Nodes[0].Ports[0].Class[0].RxPause; got != 1200 {
		t.Errorf("read %d, want 1200", got)
	}
}

func TestReadMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"hello": "none of the formats",
		"Port Rx PFC0 PFC1 PFC2 PFC3 PFC4 PFC5 PFC6 PFC7\nEthernet0 1 2": "line 2: expected a port and 8 numbers, not 3 words",
		"NIC statistics:\n rx_prio3_pause: many":                         `line 2: rx_prio3_pause of x: "many" is not a number`,
		"{}":                                                             "no key COUNTERS_PORT_NAME_MAP",
		"{\"a\"":                                                         "not a dump of COUNTERS_DB",
		`{"COUNTERS_PORT_NAME_MAP": {"value": {"Ethernet0": "oid:0x1"}}, "COUNTERS:oid:0x1": {"value": {"SAI_PORT_STAT_IF_IN_ERRORS": "-1"}}}`: `COUNTERS:oid:0x1: SAI_PORT_STAT_IF_IN_ERRORS: "-1" is not a number`,
	} {
		if err := new(Fabric).Read("x.txt", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestCompareNames(t *testing.T) {
	sorted := []string{"Ethernet0", "Ethernet4", "Ethernet12", "Ethernet12:1", "leaf0-eth2", "leaf0-eth10", "leaf10-eth1"}
	for i := range sorted {
		for k := range sorted {
			if got := CompareNames(sorted[i], sorted[k]); (got < 0) != (i < k) || (got == 0) != (i == k) {
				t.Errorf("CompareNames(%s, %s) = %d", sorted[i], sorted[k], got)
			}
		}
	}
}

// redis starts a server of a node's counters.
func redis(t *testing.T, n *Node) *net.TCPAddr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Database: func(number int) (Database, error) {
		if number != CountersDB {
			return nil, nil
		}
		return n.Database(), nil
	}}
	ended := make(chan error)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		l.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().(*net.TCPAddr)
}

// TestRedisCLI queries the server with redis-cli: the way of pfcwd from a port's name to its queue's counters.
func TestRedisCLI(t *testing.T) {
	if _, err := exec.LookPath("redis-cli"); err != nil {
		t.Skip("needs redis-cli (package redis-tools)")
	}
	n := &Node{Name: "leaf0", Ports: []*Port{{Name: "Ethernet0"}, {Name: "Ethernet4"}}}
	n.Ports[1].Class[3] = Class{RxPause: 7, Storms: 2, TxBytes: 1000}
	address := redis(t, n)
	cli := func(args ...string) string {
		all := append([]string{"-h", address.IP.String(), "-p", strings.Split(address.String(), ":")[1]}, args...)
		out, err := exec.Command("redis-cli", all...).CombinedOutput()
		if err != nil {
			t.Errorf("redis-cli %v: %v", args, err)
		}
		return string(out)
	}
	// One connection: redis-cli reads commands from standard input.
	c := exec.Command("redis-cli", "-h", address.IP.String(), "-p", strings.Split(address.String(), ":")[1], "-n", "2")
	c.Stdin = strings.NewReader(`PING
HGETALL COUNTERS_PORT_NAME_MAP
HGET COUNTERS_QUEUE_NAME_MAP Ethernet4:3
HGET COUNTERS:oid:0x1500000000000c PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED
HMGET COUNTERS:oid:0x1000000000002 SAI_PORT_STAT_PFC_3_RX_PKTS none
KEYS COUNTERS_P*MAP
EXISTS COUNTERS_PORT_NAME_MAP none
TYPE COUNTERS_PORT_NAME_MAP
TYPE none
HLEN COUNTERS_PORT_NAME_MAP
DBSIZE
SET a b
HGET a
SELECT 0
DBSIZE
`)
	got, err := c.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	const want = `PONG
Ethernet0
oid:0x1000000000001
Ethernet4
oid:0x1000000000002
oid:0x1500000000000c
2
7

COUNTERS_PG_INDEX_MAP
COUNTERS_PG_NAME_MAP
COUNTERS_PG_PORT_MAP
COUNTERS_PORT_NAME_MAP
1
hash
none
2
41
ERR unknown command 'SET': this server only reads counters

ERR wrong number of arguments for 'hget' command

OK
0
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	const maps = "COUNTERS_QUEUE_INDEX_MAP\nCOUNTERS_QUEUE_NAME_MAP\nCOUNTERS_QUEUE_PORT_MAP\n"
	if out := cli("-n", "2", "--scan", "--pattern", "COUNTERS_QUEUE*"); out != maps {
		t.Errorf("--scan: got %q", out)
	}
}

// TestRedisProtocol sends what no client sends.
func TestRedisProtocol(t *testing.T) {
	address := redis(t, &Node{Name: "leaf0", Ports: []*Port{{Name: "Ethernet0"}}})
	for sent, want := range map[string]string{
		"*x\r\n":                           "-ERR Protocol error: invalid multibulk length\r\n",
		"*1\r\n$-4\r\n":                    "-ERR Protocol error: invalid bulk length\r\n",
		"*1\r\n$4\r\nPINGxx":               "-ERR Protocol error: a bulk string does not end where it should\r\n",
		"ping\r\nQUIT\r\n":                 "+PONG\r\n+OK\r\n",
		strings.Repeat("x", 5000) + "\r\n": "-ERR Protocol error: too big inline request\r\n",
		"*2\r\n$6\r\nSELECT\r\n$2\r\n16\r\nQUIT\r\n": "-ERR DB index is out of range\r\n+OK\r\n",
		"*0\r\nQUIT\r\n": "+OK\r\n",
	} {
		c, err := net.DialTCP("tcp", nil, address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write([]byte(sent))
		var got bytes.Buffer
		_, _ = got.ReadFrom(c)
		c.Close()
		if got.String() != want {
			t.Errorf("%.40q: got %q, want %q", sent, got.String(), want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("  Port Rx PFC0 PFC1 PFC2 PFC3 PFC4 PFC5 PFC6 PFC7\nEthernet0 1 2 3 4 5 6 7 1,008\n"))
	f.Add([]byte("NIC statistics:\n     rx_prio3_pause: 7\n"))
	f.Add([]byte(`{"COUNTERS_PORT_NAME_MAP": {"type": "hash", "value": {"Ethernet0": "oid:0x1"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var a, b Fabric
		if a.Read("x.txt", data) != nil {
			return
		}
		n := a.Nodes[0]
		n.Host = len(n.Ports) > 0 && n.Ports[0].RoCE != nil
		for _, p := range n.Ports {
			if strings.ContainsAny(p.Name, " \t\n\r\v\f\u0085\u00a0") || p.Name == "" || strings.HasPrefix(p.Name, "#") {
				return
			}
		}
		for _, text := range n.Files() {
			_ = b.Read("x.txt", text) // any names of ports
		}
	})
}

// FuzzRedis sends any bytes to the server's parser.
func FuzzRedis(f *testing.F) {
	f.Add([]byte("*2\r\n$4\r\nKEYS\r\n$1\r\n*\r\n"))
	f.Add([]byte("HGETALL x\r\nscan 0 match [a count 10\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		own, peer := net.Pipe()
		s := &Server{Database: func(int) (Database, error) { return Database{"x": {"a": "1"}}, nil }}
		go func() {
			_, _ = own.Write(data)
			own.Close()
		}()
		s.serve(&halfDeaf{peer})
		peer.Close()
	})
}

// halfDeaf is a connection whose peer reads nothing.
type halfDeaf struct{ net.Conn }

func (*halfDeaf) Write(p []byte) (int, error) { return len(p), nil }

func TestPerftest(t *testing.T) {
	want := Perftest{
		Local: netip.MustParseAddr("10.0.0.2"), Remote: netip.MustParseAddr("10.1.0.255"), Bytes: 65536, Iterations: 5000,
		Gigabits: 2758.10 * 1.048576 * 8 / 1000,
	}
	var b bytes.Buffer
	if err := want.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := ReadPerftest(b.Bytes())
	if err != nil || math.Abs(got.Gigabits-want.Gigabits) > 1e-4 {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
	if got.Gigabits = want.Gigabits; *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
	// The table of ib_write_bw --report_gbits.
	text := " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n" +
		" 65536      10             0.00               92.51                0.176\n"
	if got, err = ReadPerftest([]byte(text)); err != nil || got.Gigabits != 92.51 || got.Server {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err = ReadPerftest([]byte("* Waiting for client to connect... *\n" + text)); err != nil || !got.Server {
		t.Errorf("a server: got %+v, %v", got, err)
	}
	if _, err = ReadPerftest([]byte(" #bytes #iterations x x\n 65536 many 1 1\n")); err == nil {
		t.Error("read a number that is none")
	}
}

func FuzzPerftest(f *testing.F) {
	f.Add([]byte(" GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:02\n #bytes #iterations BW BW[Gb/sec]\n 65536 10 0.0 92.5\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadPerftest(data)
		if err == nil && (p.Bytes < 0 || p.Iterations < 0 || !(p.Gigabits >= 0)) {
			t.Errorf("%+v", p)
		}
	})
}
