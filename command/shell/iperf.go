//go:build linux

package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

var iperfVerbs = []verb{
	{
		"iperf", "[FROM TO] [SECONDS]", "measure TCP between two hosts, the first and the last (needs iperf3)",
		(*Shell).iperf, completeHosts,
	},
	{
		"iperfudp", "RATE [FROM TO] [SECONDS]", "measure UDP at a rate of virtual time: loss and jitter",
		(*Shell).iperfUDP, completeUDP,
	},
}

// measurement describes an iperf3 test: its hosts, and its duration.
type measurement struct {
	source, target *topologies.Node
	seconds        string // of wall-clock time
}

// measurement reads [FROM TO] [SECONDS].
func (s *Shell) measurement(verb string, args []string) (m measurement, err error) {
	if _, err := exec.LookPath("iperf3"); err != nil {
		return m, errors.New("iperf3 is not installed (apt-get install iperf3 on Debian and Ubuntu, dnf install " +
			"iperf3 on Fedora)")
	}
	m.seconds = "5"
	if n := len(args); n > 0 {
		if given, err := strconv.Atoi(args[n-1]); err == nil {
			if given < 1 { // iperf3 interprets 0 as endless
				return m, fmt.Errorf("%s of %d seconds: expected at least 1", verb, given)
			}
			m.seconds, args = args[n-1], args[:n-1]
		}
	}
	hosts := s.Fabric.Plan.Hosts
	from, to := s.Fabric.Plan.Nodes[hosts[0]].Name, s.Fabric.Plan.Nodes[hosts[len(hosts)-1]].Name
	switch len(args) {
	case 0:
	case 2:
		from, to = args[0], args[1]
	default:
		return m, errUsage
	}
	if m.target, err = s.Fabric.Host(to); err != nil {
		return m, err
	}
	if m.source, err = s.Fabric.Host(from); err != nil {
		return m, err
	}
	if m.source == m.target {
		return m, fmt.Errorf("%s: %s cannot measure to itself (name two hosts)", verb, from)
	}
	return m, nil
}

// iperfReport holds the fields that we use of iperf3's report.
type iperfReport struct {
	Error string `json:"error"`
	End   struct {
		Sent struct {
			Retransmits int `json:"retransmits"`
		} `json:"sum_sent"`
		Received struct {
			Rate float64 `json:"bits_per_second"`
		} `json:"sum_received"`
		Sum struct { // for UDP
			Rate    float64 `json:"bits_per_second"` // sending rate
			Jitter  float64 `json:"jitter_ms"`
			Lost    int     `json:"lost_packets"`
			Packets int     `json:"packets"`
		} `json:"sum"`
	} `json:"end"`
}

// runIperf runs iperf3 on both hosts. slowdown is the slow-down after the test, which may have risen.
func (s *Shell) runIperf(m measurement, more ...string) (report iperfReport, slowdown float64, err error) {
	from, to := m.source.Name, m.target.Name
	interrupted, stop := s.interrupts()
	defer stop()
	ctx, end := context.WithCancel(context.Background()) // ends both programs, even if only one has failed
	defer end()
	go func() {
		select {
		case <-interrupted:
			end()
		case <-ctx.Done():
		}
	}()
	server := exec.CommandContext(ctx, "iperf3", "-s", "-1", "--forceflush")
	listening := &firstLine{seen: make(chan struct{})}
	server.Stdout = listening
	serverEnd := make(chan error, 1)
	go func() { serverEnd <- s.Fabric.Run(to, server) }()
	select {
	case <-listening.seen:
	case err := <-serverEnd:
		if ctx.Err() != nil {
			return report, 0, fmt.Errorf("iperf3 from %s to %s: interrupted", from, to)
		}
		return report, 0, fmt.Errorf("iperf3 -s on %s: %w", to, err)
	case <-time.After(5 * time.Second):
	}
	var out bytes.Buffer
	client := exec.CommandContext(ctx, "iperf3", append([]string{"-c", m.target.Addr.String(), "-t", m.seconds, "-J"},
		more...)...)
	client.Stdout = &out
	start := time.Now()
	err = s.Fabric.Run(from, client)
	slowdown = float64(vtime.FromDuration(time.Since(start))) / float64(s.Fabric.Virtual(start, time.Now()))
	if jerr := json.Unmarshal(out.Bytes(), &report); err == nil {
		err = jerr
	}
	if err != nil || report.Error != "" {
		end()
		<-serverEnd
		why := report.Error
		if why == "" {
			why = err.Error()
		}
		select {
		case <-interrupted:
			why = "interrupted"
		default:
		}
		return report, 0, fmt.Errorf("iperf3 from %s to %s: %s", from, to, why)
	}
	<-serverEnd
	return report, slowdown, nil
}

func (s *Shell) iperf(args []string) error {
	m, err := s.measurement("iperf", args)
	if err != nil {
		return err
	}
	report, slowdown, err := s.runIperf(m)
	if err != nil {
		return err
	}
	rate := report.End.Received.Rate
	virtual := units.Rate(rate * slowdown)
	line := s.Fabric.Plan.Ports[m.source.Ports[0]].Rate
	most := units.Rate(float64(line) * tcpShare(s.Fabric.Plan))
	fmt.Fprintf(s.Out, "%s -> %s TCP: %.1f Mbps by the wall clock, %.3g Gbps of virtual time: %.1f %% of the %.3g Gbps "+
		"that full segments can use of %v; %d retransmissions\n",
		m.source.Name, m.target.Name, rate/1e6, virtual.Gigabits(), 100*float64(virtual)/float64(most),
		most.Gigabits(), line, report.End.Sent.Retransmits)
	return nil
}

// tcpShare returns the share of a link's rate that is payload when the kernel's TCP sends full segments (IPv4,
// timestamps).
func tcpShare(plan *topologies.Plan) float64 {
	const headers = 20 + 20 + 12 // IPv4, TCP, timestamps
	return float64(plan.InterfaceMTU-headers) / float64(plan.Framing.LineBytes(plan.InterfaceMTU+wire.EthernetLen))
}

func (s *Shell) iperfUDP(args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	wanted, err := units.ParseRate(args[0])
	if err != nil {
		return fmt.Errorf("%w: give the rate first, in virtual time, as in iperfudp 5Gbps", err)
	}
	slowdown := s.Fabric.Slowdown()
	wall := float64(wanted) / slowdown
	if wall < 1 { // iperf3 interprets 0 as unlimited
		return fmt.Errorf("%v of virtual time is less than 1 bps by the wall clock at a slow-down of %g (use a higher rate)",
			wanted,
			slowdown)
	}
	m, err := s.measurement("iperfudp", args[1:])
	if err != nil {
		return err
	}
	report, _, err := s.runIperf(m, "-u", "-b", strconv.FormatInt(int64(wall), 10))
	if err != nil {
		return err
	}
	// iperf3 kept its rate by the wall clock, which is more in virtual time
	if now := s.Fabric.Slowdown(); now != slowdown {
		fmt.Fprintf(s.Out, "the slow-down rose from %g to %g during the measurement, which sent more than %v of virtual "+
			"time; measuring again\n", slowdown, now, wanted)
		return s.iperfUDP(args)
	}
	u := &report.End.Sum
	sent := units.Rate(u.Rate * slowdown)
	kept := 1 - float64(u.Lost)/float64(max(1, u.Packets))
	// over the time until the last datagram, including those that waited in the host
	received := units.Rate(report.End.Received.Rate * slowdown)
	if received == 0 { // an old iperf3 without this field
		received = units.Rate(float64(sent) * kept)
	}
	jitter := vtime.Time(u.Jitter * float64(vtime.Millisecond) / slowdown)
	fmt.Fprintf(s.Out, "%s -> %s UDP: sent %.3g Gbps of virtual time, received %.3g Gbps: %d of %d datagrams lost "+
		"(%.2g %%); jitter %v of virtual time\n",
		m.source.Name, m.target.Name, sent.Gigabits(), received.Gigabits(), u.Lost, u.Packets, 100*(1-kept), nearest(jitter))
	return nil
}

// firstLine closes seen when the first line is complete.
type firstLine struct {
	seen chan struct{}
	done bool
}

func (f *firstLine) Write(p []byte) (int, error) {
	if !f.done && bytes.Contains(p, []byte("listening")) {
		f.done = true
		close(f.seen)
	}
	return len(p), nil
}
