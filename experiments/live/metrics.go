//go:build linux

package live

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/orchestrator/wallclock"
)

// DefaultMetrics holds the default address of metrics.
const DefaultMetrics = "127.0.0.1:9464"

// metricsServer serves Prometheus metrics.
type metricsServer struct {
	server   *http.Server
	listener net.Listener
	ended    sync.WaitGroup
}

// serveMetrics serves /metrics at a TCP address.
func (f *Fabric) serveMetrics(address string) (*metricsServer, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &runner.EnvironmentError{Err: fmt.Errorf(
			"serve metrics: %w (choose another address with --metrics=127.0.0.1:PORT)", err)}
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", byClient(&collector{fabric: f}, &collector{fabric: f, every: strangersEvery}))
	s := &metricsServer{
		server: &http.Server{
			Handler: mux, ConnContext: markStranger, MaxHeaderBytes: 1 << 14, ReadTimeout: 5 * time.Second,
			WriteTimeout: 30 * time.Second,
			IdleTimeout:  time.Minute, ConnState: State,
		},
		listener: newLimitedListener(listener),
	}
	listener = s.listener
	s.ended.Go(func() { _ = s.server.Serve(listener) })
	return s, nil
}

func (s *metricsServer) close() {
	if s == nil {
		return
	}
	_ = s.server.Close()
	s.ended.Wait()
}

// MetricsAddress returns the address of the metrics; empty for none.
func (f *Fabric) MetricsAddress() string {
	if f.metrics == nil {
		return ""
	}
	return f.metrics.listener.Addr().String()
}

// strangersEvery sets the minimum time between snapshots for scrapes of users other than root and the fabric's owner.
const strangersEvery = time.Second

// mostScrapes limits how many scrapes a collector serves at once.
const mostScrapes = 2

// collector serves snapshots as metrics.
type collector struct {
	fabric  *Fabric
	every   time.Duration // wall-clock lifetime of a snapshot; 0 takes a new one for each scrape
	scrapes atomic.Int32  // in progress
	mutex   sync.Mutex
	last    *Snapshot
	taken   time.Time
}

// ServeHTTP implements http.Handler.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer c.scrapes.Add(-1)
	if c.scrapes.Add(1) > mostScrapes {
		http.Error(w, fmt.Sprintf("%d scrapes are in progress: try again later", mostScrapes), http.StatusServiceUnavailable)
		return
	}
	s, err := c.snapshot()
	if err != nil && !errors.Is(err, wallclock.ErrEnded) {
		http.Error(w, fmt.Sprintf("collect metrics: %v", err), http.StatusInternalServerError)
		return
	}
	out := &exposition{samples: map[*metric]*bytes.Buffer{}}
	if err == nil {
		s.metrics(out)
	}
	out.respond(w, r)
}

func (c *collector) snapshot() (s *Snapshot, err error) {
	if c.every == 0 {
		return c.fabric.Snapshot()
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.last != nil && time.Since(c.taken) < c.every {
		return c.last, nil
	}
	if s, err = c.fabric.Snapshot(); err == nil {
		c.last, c.taken = s, time.Now()
	}
	return s, err
}

var (
	metricQueue    = gauge("queue_bytes", "Bytes in the egress queue.", "node", "port", "priority")
	metricBuffered = gauge("ingress_buffered_bytes",
		"Bytes in the switch, or in a slow receiver's buffer, that arrived through the port.", "node", "port", "priority")
	oldBuffered   = gauge("ingress_held_bytes", "The old name of ingress_buffered_bytes.", "node", "port", "priority")
	metricPaused  = gauge("paused", "1 while flow control stops the egress queue.", "node", "port", "priority")
	metricPausedS = counter("paused_seconds_total",
		"Virtual time for which flow control has stopped the egress queue, by PAUSE or a lack of credits.", "node",
		"port", "priority")
	metricStorm = gauge("storm", "1 while the PFC watchdog treats the egress queue as in a storm.", "node", "port",
		"priority")
	metricUp = gauge("link_up", "1 while the port's link is up.", "node", "port")
	metricTx = counter("transmitted_bytes_total", "Bytes of frames that the port has started to send, without FCS.",
		"node", "port")
	metricPausesTx = counter("pauses_sent_total", "PAUSE frames that the port has sent.", "node", "port", "priority")
	metricPausesRx = counter("pauses_received_total", "PAUSE frames that the port has received.", "node", "port",
		"priority")
	metricECN = counter("ecn_marks_total", "Packets marked CE (congestion experienced) at the egress port.", "node",
		"port", "priority")
	metricUE = counter("ue_marks_total", "Packets marked UE (undetermined) at the egress port.", "node", "port",
		"priority")
	metricCNMs = counter("cnms_sent_total",
		"Congestion notification messages that the switch has sent because of bursts in the "+
			"egress queue.", "node", "port", "priority")
	metricDrops = counter("dropped_frames_total", "Frames dropped at the port, by cause.", "node", "port", "priority",
		"cause")
	metricHostDrop = counter("host_dropped_frames_total",
		"Frames of the host's programs that were dropped before they left its NIC, by cause.", "node", "cause")
	metricCNPsTx = counter("cnps_sent_total", "Congestion notification packets that the host has sent.", "node")
	metricCNPsRx = counter("cnps_received_total", "Congestion notification packets that the host has received.", "node")
	metricCNMsRx = counter("cnms_received_total", "Congestion notification messages that the host has received.",
		"node")
	metricRate = gauge("flow_rate_bytes_per_second",
		"Rate that congestion control allows an RDMA flow, in virtual time; of the 1000 oldest open flows.", "flow", "source",
		"destination")
	metricRTT = gauge("flow_rtt_seconds",
		"Last round-trip time of an RDMA flow, in virtual time; of the 1000 oldest open flows.",
		"flow", "source", "destination")
	metricFlows    = gauge("open_flows", "RDMA flows that have not finished.")
	metricEnded    = counter("ended_flows_total", "RDMA flows that have finished.")
	metricEndedB   = counter("ended_flows_bytes_total", "Payload of finished RDMA flows.")
	metricSlowness = summary("flow_slowdown_ratio", "Completion time over the ideal one, of finished RDMA flows.")
	metricDeadlock = gauge("deadlock", "1 while the fabric is in a deadlock.")
	metricVirtual  = gauge("virtual_time_seconds", "Virtual time since bring-up.")
	metricSlowdown = gauge("slowdown_ratio", "Wall-clock seconds for one of virtual time.")
	metricLateness = summary("event_lateness_seconds", "How long after its time an event happened, in virtual time.")
	metricFrames   = summary("program_frame_lateness_seconds",
		"Wall-clock time from a frame's arrival at its host's port, from a program, until the engine processed it.")
	metricStalled = counter("stalled_seconds_total",
		"Wall-clock time for which virtual time stood still because the machine could not keep up.")
	oldStalled = counter("held_seconds_total", "The old name of stalled_seconds_total.")
	metricTook = gauge("snapshot_seconds", "Wall-clock time for which the engine stopped to collect this scrape.")
)

func (s *Snapshot) metrics(out *exposition) {
	out.fabric = s.Fabric
	for i := range s.Ports {
		p := &s.Ports[i]
		out.add(metricUp, truth(p.Up), p.Node, p.Port)
		out.add(metricTx, float64(p.TxBytes), p.Node, p.Port)
		for _, d := range p.Drops {
			out.add(metricDrops, float64(d.Frames), p.Node, p.Port, strconv.Itoa(int(d.Priority)), d.Cause)
		}
		for k := range p.Classes {
			c := &p.Classes[k]
			priority := strconv.Itoa(int(c.Priority))
			out.add(metricQueue, float64(c.QueueBytes), p.Node, p.Port, priority)
			out.add(metricBuffered, float64(c.BufferedBytes), p.Node, p.Port, priority)
			out.add(oldBuffered, float64(c.BufferedBytes), p.Node, p.Port, priority)
			out.add(metricPaused, truth(c.Paused), p.Node, p.Port, priority)
			out.add(metricPausedS, seconds(c.PausedNS), p.Node, p.Port, priority)
			out.add(metricPausesTx, float64(c.PausesSent), p.Node, p.Port, priority)
			out.add(metricPausesRx, float64(c.PausesReceived), p.Node, p.Port, priority)
			out.add(metricStorm, truth(c.Storm), p.Node, p.Port, priority)
			out.add(metricECN, float64(c.ECNMarks), p.Node, p.Port, priority)
			out.add(metricUE, float64(c.UEMarks), p.Node, p.Port, priority)
			out.add(metricCNMs, float64(c.CNMs), p.Node, p.Port, priority)
		}
	}
	for i := range s.Hosts {
		h := &s.Hosts[i]
		out.add(metricCNPsTx, float64(h.CNPsSent), h.Node)
		out.add(metricCNPsRx, float64(h.CNPsReceived), h.Node)
		out.add(metricCNMsRx, float64(h.CNMsReceived), h.Node)
		for _, d := range h.Drops {
			out.add(metricHostDrop, float64(d.Frames), h.Node, d.Cause)
		}
	}
	for i := range s.Flows {
		f := &s.Flows[i]
		flow := strconv.Itoa(f.Flow)
		out.add(metricRate, f.RateBPS/8, flow, f.From, f.To)
		out.add(metricRTT, seconds(f.RTTNS), flow, f.From, f.To)
	}
	out.add(metricFlows, float64(s.OpenFlows))
	out.add(metricEnded, float64(s.Ended.Count))
	out.add(metricEndedB, float64(s.Ended.SizeBytes))
	out.summarize(metricSlowness, s.Ended.SlowdownP50, s.Ended.SlowdownP99, s.Ended.SlowdownMean*float64(s.Ended.Count),
		int64(s.Ended.Count))
	out.add(metricDeadlock, truth(s.Deadlock != ""))
	out.add(metricVirtual, seconds(s.Clock.VirtualNS))
	out.add(metricSlowdown, s.Clock.Slowdown)
	out.add(metricStalled, s.Clock.StalledSeconds)
	out.add(oldStalled, s.Clock.StalledSeconds)
	out.add(metricTook, seconds(s.TookNS))
	out.summarize(metricFrames, seconds(s.Clock.FrameLatenessP50NS), seconds(s.Clock.FrameLatenessP99NS),
		seconds(s.FramesNS), int64(s.Clock.Frames))
	out.summarize(metricLateness, seconds(s.Clock.LatenessP50NS), seconds(s.Clock.LatenessP99NS), seconds(s.LateNS),
		int64(s.Late))
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
