//go:build linux

package live

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pausenet/pausenet/orchestrator/verbs"
	"github.com/pausenet/pausenet/topologies"
)

// verbsFolder returns the folder of the libraries that `make verbs` builds. Without them a test is skipped; in CI it
// fails.
func verbsFolder(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("../../bin/verbs")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "librdmacm.so.1")); err == nil {
		return folder
	}
	if os.Getenv("CI") != "" {
		t.Fatal("this test needs the libraries for RDMA programs: make verbs")
	}
	t.Skip("this test needs the libraries for RDMA programs: make verbs")
	return ""
}

// rdma returns a command of a program that finds the libraries.
func rdma(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = verbs.WithLibrary(os.Environ(), verbsFolder(t))
	return cmd
}

// onRDMA runs an RDMA program on a node until it ends, and returns its output.
func onRDMA(t *testing.T, f *Fabric, node string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := rdma(t, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := f.Run(node, cmd); err != nil {
		t.Fatalf("%s: %v: %v\n%s", node, args, err, out.String())
	}
	return out.String()
}

// TestVerbsDevices lists a host's RDMA devices by the programs that people do it with.
func TestVerbsDevices(t *testing.T) {
	t.Parallel()
	program(t, "ibv_devinfo", "ibverbs-utils")
	verbsFolder(t)
	f := bringUp(t, "")
	defer down(t, f)
	if out := onRDMA(t, f, "h1", "ibv_devices"); !strings.Contains(out, "pausenet0       \t020a00fffe000002") {
		t.Errorf("ibv_devices on h1:\n%s", out)
	}
	out := onRDMA(t, f, "h2", "ibv_devinfo", "-v")
	for _, want := range []string{
		"hca_id:\tpausenet0", "PORT_ACTIVE (4)", "active_mtu:\t\t1024 (3)",
		"link_layer:\t\tEthernet", "10.0 Gbps (4)", "GID[  0]:\t\t::ffff:10.0.0.3, RoCE v2",
		"GID[  1]:\t\tfd00::a00:3, RoCE v2",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("ibv_devinfo on h2 lacks %q:\n%s", want, out)
		}
	}
}

// meet runs a program on one node, and another on a second node that connects to it, and returns the output of both.
// The second is restarted until the first listens.
func meet(f *Fabric, server string, serve *exec.Cmd, client string,
	connect func() *exec.Cmd,
) (served, connected string, err error) {
	var atServer bytes.Buffer
	serve.Stdout, serve.Stderr = &atServer, &atServer
	ended := make(chan error, 1)
	go func() { ended <- f.Run(server, serve) }()
	for deadline := time.Now().Add(timeout); ; time.Sleep(100 * time.Millisecond) {
		var out bytes.Buffer
		cmd := connect()
		cmd.Stdout, cmd.Stderr = &out, &out
		if err = f.Run(client, cmd); err == nil {
			select {
			case err = <-ended:
				return atServer.String(), out.String(), err
			case <-time.After(timeout):
				return "", out.String(), errors.New("the first waits on, though the second has ended well")
			}
		}
		select {
		case <-ended:
			return atServer.String(), out.String(), err
		default:
		}
		if time.Now().After(deadline) {
			return "", out.String(), err
		}
	}
}

// together does the work of meet, and fails the test if a program fails.
func together(t *testing.T, f *Fabric, server string, serve []string, client string,
	connect []string,
) (served, connected string) {
	t.Helper()
	served, connected, err := meet(f, server, rdma(t, serve...), client, func() *exec.Cmd { return rdma(t, connect...) })
	if err != nil {
		t.Fatalf("%s: %v, %s: %v: %v\n%s\n%s", server, serve, client, connect, err, served, connected)
	}
	return served, connected
}

// TestVerbsPingpong sends messages back and forth, whose data the programs check.
func TestVerbsPingpong(t *testing.T) {
	t.Parallel()
	program(t, "ibv_rc_pingpong", "ibverbs-utils")
	f := bringUp(t, "")
	defer down(t, f)
	// polling, and sleeping until a completion arrives; over IPv6
	for _, more := range [][]string{{"-g", "0"}, {"-g", "0", "-e"}, {"-g", "1"}} {
		command := append([]string{"ibv_rc_pingpong", "-n", "30", "-s", "3001", "-c"}, more...)
		served, connected := together(t, f, "h1", command, "h5", append(command, "h1"))
		for _, out := range []string{served, connected} {
			if !strings.Contains(out, "30 iters in") || strings.Contains(out, "invalid data") {
				t.Errorf("%v:\n%s", command, out)
			}
		}
	}
}

// TestVerbsPerftest runs perftest's programs of each kind of operation, with connections by TCP and by the connection
// manager.
func TestVerbsPerftest(t *testing.T) {
	t.Parallel()
	program(t, "ib_write_bw", "perftest")
	f := bringUp(t, "")
	defer down(t, f)
	for _, command := range [][]string{
		{"ib_write_bw", "-n", "20"},
		{"ib_send_bw", "-n", "20", "-s", "5000"},
		{"ib_read_bw", "-n", "20", "-s", "5000"},
		{"ib_send_lat", "-n", "20"},
		{"ib_write_lat", "-n", "20", "-R"},
		{"ib_write_bw", "-n", "20", "--ipv6"},
		{"ib_read_lat", "-n", "20"},
	} {
		_, connected := together(t, f, "h1", append(command, "-F"), "h5", append(command, "-F", "h1"))
		if !strings.Contains(connected, " 20  ") {
			t.Errorf("%v:\n%s", command, connected)
		}
	}
}

// TestVerbsManagerSlow lets programs connect again after data, by the connection manager, where a round trip takes
// longer than the programs.
func TestVerbsManagerSlow(t *testing.T) {
	t.Parallel()
	program(t, "ib_send_lat", "perftest")
	verbsFolder(t)
	f := bringUpAs(t, Options{Slowdown: 1000})
	defer down(t, f)
	command := []string{"ib_send_lat", "-n", "20", "-F", "-R"}
	for range 3 {
		_, connected := together(t, f, "h1", command, "h5", append(command[:len(command):len(command)], "h1"))
		if strings.Contains(connected, "REJECTED") {
			t.Error(connected)
		}
	}
}

// TestVerbsRping connects by the connection manager, and checks that it refuses if nobody listens.
func TestVerbsRping(t *testing.T) {
	t.Parallel()
	program(t, "rping", "rdmacm-utils")
	f := bringUp(t, "")
	defer down(t, f)
	cmd := rdma(t, "rping", "-c", "-C", "3", "-a", "10.0.0.2")
	if err := f.Run("h5", cmd); err == nil {
		t.Error("rping connected to nobody")
	}
	for _, k := range []struct{ listen, connect []string }{
		{nil, []string{"-a", "10.0.0.2"}},
		{[]string{"-a", "::"}, []string{"-a", "fd00::a00:2"}},
		{[]string{"-a", "::"}, []string{"-a", "10.0.0.2"}}, // a listener of any IPv6 address is one of IPv4, too
		{[]string{"-a", "fd00::a00:2"}, []string{"-a", "fd00::a00:2", "-I", "fd00::a00:6"}},
	} {
		_, connected := together(t, f, "h1", append([]string{"rping", "-s", "-C", "3"}, k.listen...), "h5",
			append([]string{"rping", "-c", "-v", "-V", "-C", "3"}, k.connect...))
		if !strings.Contains(connected, "ping data: rdma-ping-2: CDEF") {
			t.Errorf("rping %v:\n%s", k.connect, connected)
		}
	}
}

// TestVerbsExamples runs rdma-core's own programs and libfabric's: endpoints in one call, datagrams by the connection
// manager, and refused requests.
func TestVerbsExamples(t *testing.T) {
	t.Parallel()
	program(t, "rdma_server", "rdmacm-utils")
	program(t, "fi_pingpong", "libfabric-bin")
	verbsFolder(t)
	f := bringUp(t, "")
	defer down(t, f)
	for _, k := range []struct {
		serve, connect []string
		want           string
	}{
		{[]string{"rdma_server"}, []string{"rdma_client", "-s", "10.0.0.2"}, "rdma_client: end 0"},
		{[]string{"udaddy"}, []string{"udaddy", "-s", "10.0.0.2"}, "return status 0"},
		{[]string{"udaddy", "-b", "::"}, []string{"udaddy", "-s", "fd00::a00:2"}, "return status 0"},
		{
			[]string{"ib_send_lat", "-F", "-R", "-c", "UD", "-n", "20"},
			[]string{"ib_send_lat", "-F", "-R", "-c", "UD", "-n", "20", "h1"},
			" 20  ",
		},
		{
			[]string{"fi_pingpong", "-p", "verbs", "-e", "rdm", "-I", "20", "-S", "1024"},
			[]string{"fi_pingpong", "-p", "verbs", "-e", "rdm", "-I", "20", "-S", "1024", "10.0.0.2"},
			"=20",
		},
	} {
		if _, connected := together(t, f, "h1", k.serve, "h5", k.connect); !strings.Contains(connected, k.want) {
			t.Errorf("%v:\n%s", k.connect, connected)
		}
	}
	for _, k := range []struct {
		command []string
		want    string
	}{
		{
			[]string{"mckey", "-m", "239.1.1.1", "-s", "-b", "10.0.0.6"},
			"multicast of datagrams is not supported here: use a datagram for each receiver, or UDP\n",
		},
		{[]string{"riostream", "-s", "10.0.0.2"}, "a socket over RDMA (rsocket) is not supported here: use a TCP socket, " +
			"or queue pairs by rdma_create_ep\n"},
		{[]string{"ibv_uc_pingpong", "-g", "0"}, "a UC queue pair is not supported here: use an RC queue pair\n"},
	} {
		cmd := rdma(t, k.command...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := f.Run("h5", cmd); err == nil || !strings.Contains(out.String(), k.want) {
			t.Errorf("%v: %v, want %q:\n%s", k.command, err, k.want, out.String())
		}
	}
}

// TestVerbsLifetimes delivers events for objects that no longer exist: a connection request of a program that has
// ended, which must not harm its destination, and destroyed ids and completion queues, about which a program gets no
// more events.
func TestVerbsLifetimes(t *testing.T) {
	t.Parallel()
	program(t, "cc", "gcc")
	verbsFolder(t)
	path := filepath.Join(t.TempDir(), "lifetimes")
	if out, err := exec.Command("cc", "-Wall", "-Werror", "-o", path, "testdata/lifetimes.c", "-lrdmacm",
		"-libverbs").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f := bringUp(t, "")
	defer down(t, f)
	if out := onRDMA(t, f, "h1", path, "gone", "10.0.0.6"); !strings.Contains(out, "well") {
		t.Error(out)
	}
	goOn, stop, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer goOn.Close()
	defer stop.Close()
	said, says, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	serve := rdma(t, path, "serve", "10.0.0.2")
	var wrong bytes.Buffer
	serve.Stdin, serve.Stdout, serve.Stderr = goOn, says, &wrong
	ended := make(chan error, 1)
	go func() {
		defer says.Close()
		ended <- f.Run("h1", serve)
	}()
	if _, err := said.Read(make([]byte, 64)); err != nil { // it listens
		t.Fatal(err)
	}
	onRDMA(t, f, "h5", path, "leave", "10.0.0.2")
	stop.Close()
	if err := <-ended; err != nil {
		t.Errorf("a program with a request to connect that has ended: %v\n%s", err, wrong.String())
	}
}

// TestVerbsIncast lets eight programs write to one host until a sender is paused, without a congestion control, or gets
// CNPs, under DCQCN. A capture of the senders' links shows it.
func TestVerbsIncast(t *testing.T) {
	t.Parallel()
	program(t, "ib_write_bw", "perftest")
	program(t, "tshark", "tshark")
	verbsFolder(t)
	const senders = 8
	paused := func(s *Snapshot, port topologies.PortID, _ string) bool { return s.Ports[port].PausesReceived > 0 }
	notified := func(s *Snapshot, _ topologies.PortID, host string) bool {
		return slices.ContainsFunc(s.Hosts, func(h HostSnapshot) bool { return h.Node == host && h.CNPsReceived > 0 })
	}
	for _, k := range []struct {
		controller, filter string
		seen               func(s *Snapshot, port topologies.PortID, host string) bool
	}{{"none", "macc.cbfc.pause_time.c3 > 0", paused}, {"dcqcn", "infiniband.bth.opcode == 0x81", notified}} {
		t.Run(k.controller, func(t *testing.T) {
			f := bringUpFrom(t, "topology: dcon-testbed\n", k.controller, Options{Slowdown: 1000})
			defer down(t, f)
			node := func(i int) *topologies.Node { return &f.Plan.Nodes[f.Plan.Hosts[i]] }
			path := filepath.Join(t.TempDir(), "capture.pcapng")
			file, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			var ports []topologies.PortID
			for i := range senders {
				ports = append(ports, node(1 + i).Ports[0])
			}
			stop, captured := make(chan struct{}), make(chan error, 1)
			go func() { captured <- f.Capture(ports, file, stop) }()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var running sync.WaitGroup
			environment := rdma(t, "true").Env
			run := func(node string, args ...string) {
				cmd := exec.CommandContext(ctx, "ib_write_bw", append([]string{"-F", "-n", "20"}, args...)...)
				cmd.Env = environment
				_ = f.Run(node, cmd)
			}
			target := f.Plan.Address(node(0).Ports[0]).String()
			for i := range senders {
				port := strconv.Itoa(18515 + i)
				running.Add(2)
				go func() {
					defer running.Done()
					for ctx.Err() == nil {
						run(node(0).Name, "-p", port)
					}
				}()
				go func() {
					defer running.Done()
					for ctx.Err() == nil { // with pauses, in which the others' TCP gets to the target: RDMA comes before it
						run(node(1+i).Name, "-p", port, target)
					}
				}()
			}
			for deadline := time.Now().Add(timeout); ; time.Sleep(50 * time.Millisecond) {
				s, err := f.Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(f.Plan.Hosts[1:1+senders],
					func(id topologies.NodeID) bool { n := &f.Plan.Nodes[id]; return k.seen(s, n.Ports[0], n.Name) }) {
					break
				}
				if time.Now().After(deadline) {
					t.Error("the senders went on as if they were alone")
					break
				}
			}
			cancel()
			running.Wait()
			close(stop)
			if err := errors.Join(<-captured, file.Close()); err != nil {
				t.Fatal(err)
			}
			for _, filter := range []string{k.filter, "infiniband.bth.opcode == 6"} { // RDMA WRITE First
				if out, err := exec.Command("tshark", "-r", path, "-Y", filter).Output(); err != nil || len(out) == 0 {
					t.Errorf("no frame is %s: %v", filter, err)
				}
			}
		})
	}
}

// TestVerbsKill kills one program of two, or both, at random times, and checks that nothing of them is left.
// PAUSENET_KILLS sets the number of times; `make live-cycles` does it a hundred times.
func TestVerbsKill(t *testing.T) {
	program(t, "ib_write_bw", "perftest")
	verbsFolder(t)
	kills := 6
	if n, err := strconv.Atoi(os.Getenv("PAUSENET_KILLS")); err == nil {
		kills = n
	}
	f := bringUp(t, "")
	defer down(t, f)
	rng := rand.New(rand.NewPCG(19, 1))
	pingpong := []string{"ibv_rc_pingpong", "-g", "0", "-n", "10"}
	together(t, f, "h1", pingpong, "h5", append(pingpong, "h1")) // nodes' namespaces are made as their first program comes
	before := openFiles(t)
	for i := range kills {
		tool := []string{"ib_write_bw", "ib_send_bw", "ib_read_bw"}[i%3]
		connection := [][]string{nil, {"-R"}}[i/3%2]
		command := append([]string{tool, "-F", "-D", "60"}, connection...)
		contexts, cancels := [2]context.Context{}, [2]context.CancelFunc{}
		ended := make(chan struct{}, 2)
		for side := range contexts {
			contexts[side], cancels[side] = context.WithCancel(context.Background())
			args := command
			if side == 1 {
				args = append(command[:len(command):len(command)], "10.0.0.2")
			}
			cmd := exec.CommandContext(contexts[side], args[0], args[1:]...)
			cmd.Env = rdma(t, "true").Env
			node := []string{"h1", "h5"}[side]
			go func() {
				_ = f.Run(node, cmd)
				ended <- struct{}{}
			}()
			if side == 0 {
				time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
			}
		}
		time.Sleep(time.Duration(rng.IntN(600)) * time.Millisecond)
		first := rng.IntN(2)
		cancels[first]()
		time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
		cancels[1-first]()
		<-ended
		<-ended
	}
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		connections, objects := f.verbs.InUse()
		if connections == 0 && objects == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %d kills there are %d connections and %d objects", kills, connections, objects)
		}
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d files were open, %d are", before, after)
	}
	together(t, f, "h1", pingpong, "h5", append(pingpong, "h1"))
}

// TestVerbsHostile runs a program on one host that posts work requests with random addresses and keys to queue pairs of
// another host's program, and sends random requests to the server. The memory that the other program does not offer
// must not change.
func TestVerbsHostile(t *testing.T) {
	t.Parallel()
	program(t, "python3", "python3")
	verbsFolder(t)
	f := bringUp(t, "")
	defer down(t, f)
	script, err := filepath.Abs("testdata/hostile.py")
	if err != nil {
		t.Fatal(err)
	}
	served, connected := together(t, f, "h1", []string{"python3", script}, "h5", []string{"python3", script, "10.0.0.2"})
	for _, out := range []string{served, connected} {
		if !strings.Contains(out, "unharmed") {
			t.Errorf("%s\n%s", served, connected)
		}
	}
	together(t, f, "h1", []string{"ibv_rc_pingpong", "-g", "0", "-n", "10"}, "h5",
		[]string{"ibv_rc_pingpong", "-g", "0", "-n", "10", "h1"})
}
