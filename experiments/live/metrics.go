//go:build linux

package live

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

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
	handler := func(c *collector) http.Handler {
		registry := prometheus.NewRegistry()
		registry.MustRegister(c)
		return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2})
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", apart(handler(&collector{fabric: f}), handler(&collector{fabric: f, every: strangersEvery})))
	s := &metricsServer{
		server: &http.Server{
			Handler: mux, ConnContext: inContext, MaxHeaderBytes: 1 << 14, ReadTimeout: 5 * time.Second,
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

// collector turns snapshots into metrics.
type collector struct {
	fabric *Fabric
	every  time.Duration // wall-clock lifetime of a snapshot; 0 takes a new one for each scrape
	mutex  sync.Mutex
	last   *Snapshot
	taken  time.Time
}

// Describe implements prometheus.Collector: which metrics there are depends on the fabric.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s, err := c.snapshot()
	if err != nil {
		if !errors.Is(err, wallclock.ErrEnded) {
			out <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		}
		return
	}
	s.metrics(out)
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

// describe returns the description of a metric with the label fabric and the given labels.
func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("pausenet_"+name, help, append([]string{"fabric"}, labels...), nil)
}

var (
	metricQueue    = describe("queue_bytes", "Bytes in the egress queue.", "node", "port", "priority")
	metricBuffered = describe("ingress_buffered_bytes",
		"Bytes in the switch, or in a slow receiver's buffer, that arrived through the port.", "node", "port", "priority")
	oldBuffered   = describe("ingress_held_bytes", "The old name of ingress_buffered_bytes.", "node", "port", "priority")
	metricPaused  = describe("paused", "1 while flow control stops the egress queue.", "node", "port", "priority")
	metricPausedS = describe("paused_seconds_total",
		"Virtual time for which flow control has stopped the egress queue, by PAUSE or a lack of credits.", "node",
		"port", "priority")
	metricStorm = describe("storm", "1 while the PFC watchdog treats the egress queue as in a storm.", "node", "port",
		"priority")
	metricUp = describe("link_up", "1 while the port's link is up.", "node", "port")
	metricTx = describe("transmitted_bytes_total", "Bytes of frames that the port has started to send, without FCS.",
		"node", "port")
	metricPausesTx = describe("pauses_sent_total", "PAUSE frames that the port has sent.", "node", "port", "priority")
	metricPausesRx = describe("pauses_received_total", "PAUSE frames that the port has received.", "node", "port",
		"priority")
	metricECN = describe("ecn_marks_total", "Packets marked CE (congestion experienced) at the egress port.", "node",
		"port", "priority")
	metricUE = describe("ue_marks_total", "Packets marked UE (undetermined) at the egress port.", "node", "port",
		"priority")
	metricCNMs = describe("cnms_sent_total", "Congestion notification messages that the switch has sent because of bursts in the "+
		"egress queue.", "node", "port", "priority")
	metricDrops = describe("dropped_frames_total", "Frames dropped at the port, by cause.", "node", "port", "priority",
		"cause")
	metricHostDrop = describe("host_dropped_frames_total",
		"Frames of the host's programs that were dropped before they left its NIC, by cause.", "node", "cause")
	metricCNPsTx = describe("cnps_sent_total", "Congestion notification packets that the host has sent.", "node")
	metricCNPsRx = describe("cnps_received_total", "Congestion notification packets that the host has received.", "node")
	metricCNMsRx = describe("cnms_received_total", "Congestion notification messages that the host has received.",
		"node")
	metricRate = describe("flow_rate_bytes_per_second",
		"Rate that congestion control allows an RDMA flow, in virtual time; of the 1000 oldest open flows.", "flow", "source",
		"destination")
	metricRTT = describe("flow_rtt_seconds", "Last round-trip time of an RDMA flow, in virtual time; of the 1000 oldest open flows.",
		"flow", "source", "destination")
	metricFlows    = describe("open_flows", "RDMA flows that have not finished.")
	metricEnded    = describe("ended_flows_total", "RDMA flows that have finished.")
	metricEndedB   = describe("ended_flows_bytes_total", "Payload of finished RDMA flows.")
	metricSlowness = describe("flow_slowdown_ratio", "Completion time over the ideal one, of finished RDMA flows.")
	metricDeadlock = describe("deadlock", "1 while the fabric is in a deadlock.")
	metricVirtual  = describe("virtual_time_seconds", "Virtual time since bring-up.")
	metricSlowdown = describe("slowdown_ratio", "Wall-clock seconds for one of virtual time.")
	metricLateness = describe("event_lateness_seconds", "How long after its time an event happened, in virtual time.")
	metricFrames   = describe("program_frame_lateness_seconds",
		"Wall-clock time from a frame's arrival at its host's port, from a program, until the engine processed it.")
	metricStalled = describe("stalled_seconds_total",
		"Wall-clock time for which virtual time stood still because the machine could not keep up.")
	oldStalled = describe("held_seconds_total", "The old name of stalled_seconds_total.")
	metricTook = describe("snapshot_seconds", "Wall-clock time for which the engine stopped to collect this scrape.")
)

// metrics sends a snapshot's metrics to out.
func (s *Snapshot) metrics(out chan<- prometheus.Metric) {
	emit := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, value, append([]string{s.Fabric}, labels...)...)
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		emit(d, prometheus.GaugeValue, value, labels...)
	}
	counter := func(d *prometheus.Desc, value float64, labels ...string) {
		emit(d, prometheus.CounterValue, value, labels...)
	}
	for i := range s.Ports {
		p := &s.Ports[i]
		gauge(metricUp, truth(p.Up), p.Node, p.Port)
		counter(metricTx, float64(p.TxBytes), p.Node, p.Port)
		for _, d := range p.Drops {
			counter(metricDrops, float64(d.Frames), p.Node, p.Port, strconv.Itoa(int(d.Priority)), d.Cause)
		}
		for k := range p.Classes {
			c := &p.Classes[k]
			priority := strconv.Itoa(int(c.Priority))
			gauge(metricQueue, float64(c.QueueBytes), p.Node, p.Port, priority)
			gauge(metricBuffered, float64(c.BufferedBytes), p.Node, p.Port, priority)
			gauge(oldBuffered, float64(c.BufferedBytes), p.Node, p.Port, priority)
			gauge(metricPaused, truth(c.Paused), p.Node, p.Port, priority)
			counter(metricPausedS, seconds(c.PausedNS), p.Node, p.Port, priority)
			counter(metricPausesTx, float64(c.PausesSent), p.Node, p.Port, priority)
			counter(metricPausesRx, float64(c.PausesReceived), p.Node, p.Port, priority)
			gauge(metricStorm, truth(c.Storm), p.Node, p.Port, priority)
			counter(metricECN, float64(c.ECNMarks), p.Node, p.Port, priority)
			counter(metricUE, float64(c.UEMarks), p.Node, p.Port, priority)
			counter(metricCNMs, float64(c.CNMs), p.Node, p.Port, priority)
		}
	}
	for i := range s.Hosts {
		h := &s.Hosts[i]
		counter(metricCNPsTx, float64(h.CNPsSent), h.Node)
		counter(metricCNPsRx, float64(h.CNPsReceived), h.Node)
		counter(metricCNMsRx, float64(h.CNMsReceived), h.Node)
		for _, d := range h.Drops {
			counter(metricHostDrop, float64(d.Frames), h.Node, d.Cause)
		}
	}
	for i := range s.Flows {
		f := &s.Flows[i]
		flow := strconv.Itoa(f.Flow)
		gauge(metricRate, f.RateBPS/8, flow, f.From, f.To)
		gauge(metricRTT, seconds(f.RTTNS), flow, f.From, f.To)
	}
	gauge(metricFlows, float64(s.OpenFlows))
	counter(metricEnded, float64(s.Ended.Count))
	counter(metricEndedB, float64(s.Ended.SizeBytes))
	out <- prometheus.MustNewConstSummary(metricSlowness, uint64(s.Ended.Count),
		s.Ended.SlowdownMean*float64(s.Ended.Count),
		map[float64]float64{0.5: s.Ended.SlowdownP50, 0.99: s.Ended.SlowdownP99}, s.Fabric)
	gauge(metricDeadlock, truth(s.Deadlock != ""))
	gauge(metricVirtual, seconds(s.Clock.VirtualNS))
	gauge(metricSlowdown, s.Clock.Slowdown)
	counter(metricStalled, s.Clock.StalledSeconds)
	counter(oldStalled, s.Clock.StalledSeconds)
	gauge(metricTook, seconds(s.TookNS))
	out <- prometheus.MustNewConstSummary(metricFrames, uint64(s.Clock.Frames), seconds(s.FramesNS),
		map[float64]float64{0.5: seconds(s.Clock.FrameLatenessP50NS), 0.99: seconds(s.Clock.FrameLatenessP99NS)}, s.Fabric)
	out <- prometheus.MustNewConstSummary(metricLateness, uint64(s.Late), seconds(s.LateNS),
		map[float64]float64{0.5: seconds(s.Clock.LatenessP50NS), 0.99: seconds(s.Clock.LatenessP99NS)}, s.Fabric)
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
