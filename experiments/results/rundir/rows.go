package rundir

import (
	"errors"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/table"
)

// Tables of a run's folder. To add a column, add a field to a row below with the option optional, because folders of
// older programs lack it.
var (
	Flows       = table.Of[FlowRow]("flows.csv", "flows")
	Ports       = table.Of[PortRow]("ports.csv", "queues over time")
	PFC         = table.Of[PFCRow]("pfc.csv", "PFC frames")
	Rates       = table.Of[RateRow]("rates.csv", "rates over time")
	Links       = table.Of[LinkRow]("links.csv", "links, each way")
	Events      = table.Of[EventRow]("events.csv", "faults, PFC storms and deadlocks")
	Panels      = table.Of[PanelRow]("panels.csv", "the report's plots over time")
	Collectives = table.Of[CollectiveRow]("collectives.csv", "collective operations")
	Why         = table.Of[WhyRow]("why.csv", "parts of flows' times")
	Causes      = table.Of[CauseRow]("causes.csv", "causes that why.csv names")
	Recovery    = table.Of[RecoveryRow]("recovery.csv", "what selective repeat met, by flow")
	QPs         = table.Of[QPRow]("qps.csv", "QPs of flows with several")
)

// Tables lists the tables.
var Tables = []*table.Schema{
	&Flows.Schema, &Ports.Schema, &PFC.Schema, &Rates.Schema, &Links.Schema, &Events.Schema, &Panels.Schema,
	&Collectives.Schema,
	&Why.Schema, &Causes.Schema, &Recovery.Schema, &QPs.Schema,
}

// FlowRow describes one flow and its completion.
type FlowRow struct {
	Number        int     `csv:"flow" doc:"number, from 0 in the scenario's order"`
	Tag           string  `csv:"tag" doc:"tag of its workload; may be empty"`
	Source        string  `csv:"src" doc:"sending host; of a host with several ports also the port: h0.2"`
	Destination   string  `csv:"dst" doc:"receiving host, likewise"`
	Size          int64   `csv:"size_bytes" unit:"bytes" doc:"payload; 0: the flow sends until the run ends"`
	Start         int64   `csv:"start_ns" unit:"ns" doc:"virtual time"`
	FCT           int64   `csv:"fct_ns,null" unit:"ns" doc:"from the start to the ACK of the last packet; empty: not finished"`
	Ideal         int64   `csv:"ideal_fct_ns,null" unit:"ns" doc:"FCT of the flow alone on its path; empty: not finished"`
	Slowdown      float64 `csv:"slowdown,null,digits=6" doc:"FCT over ideal FCT; empty: not finished"`
	Retransmitted int64   `csv:"retransmitted_bytes" unit:"bytes" doc:"payload sent more than once"`
}

// Finished reports whether the flow has a completion time.
func (f *FlowRow) Finished() bool { return f.FCT >= 0 }

// Check returns an error if some of the columns of a finished flow are empty.
func (f *FlowRow) Check() error {
	if f.Finished() != (f.Ideal >= 0) || f.Finished() != (f.Slowdown >= 0) {
		return errors.New("fct_ns, ideal_fct_ns and slowdown must be all empty or all set: the file is damaged")
	}
	return nil
}

// PortRow samples one priority of one port.
type PortRow struct {
	Time     int64  `csv:"time_ns" unit:"ns" doc:"virtual time"`
	Node     string `csv:"node,plain" doc:"switch or host"`
	Port     string `csv:"port,plain" doc:"its interface"`
	Peer     string `csv:"peer,plain" doc:"node at the other end of the link"`
	Priority int    `csv:"priority" doc:"0 to 7"`
	Queue    int64  `csv:"queue_bytes" unit:"bytes" doc:"in the egress queue"`
	Ingress  int64  `csv:"ingress_bytes" unit:"bytes" doc:"buffered frames received through the port"`
	Paused   bool   `csv:"paused" doc:"1: the peer has paused it"`
	Sent     int64  `csv:"tx_bytes" unit:"bytes" doc:"sent since the run's start"`
}

// PFCRow records one PFC frame when it starts to leave a port.
type PFCRow struct {
	Time     int64  `csv:"time_ns" unit:"ns" doc:"virtual time at which its transmission starts"`
	Node     string `csv:"node" doc:"sender"`
	Port     string `csv:"port" doc:"its interface"`
	Peer     string `csv:"peer" doc:"node that must pause or resume"`
	Priority int    `csv:"priority" doc:"0 to 7"`
	Event    string `csv:"event" doc:"pause or resume"`
}

// RateRow samples one flow.
type RateRow struct {
	Time    int64 `csv:"time_ns" unit:"ns" doc:"virtual time"`
	Flow    int   `csv:"flow" doc:"number in flows.csv"`
	Rate    int64 `csv:"rate_bps" unit:"bps" doc:"rate that congestion control allows; 0: finished"`
	Goodput int64 `csv:"goodput_bps" unit:"bps" doc:"payload delivered since the last sample"`
	RTT     int64 `csv:"rtt_ns" unit:"ns" doc:"last round-trip time; 0: none yet"`
}

// LinkRow describes one direction of a link.
type LinkRow = measure.Link

// EventRow records the start or the end of a fault, a PFC storm or a deadlock.
type EventRow struct {
	Time   int64  `csv:"time_ns" unit:"ns" doc:"virtual time"`
	Node   string `csv:"node" doc:"node concerned; empty: the fabric"`
	Port   string `csv:"port" doc:"its interface"`
	Peer   string `csv:"peer" doc:"node at the other end of the link"`
	Event  string `csv:"event" doc:"see [faults](faults.md#what-is-written)"`
	Detail string `csv:"detail" doc:"text; may have commas, and is then in quotes"`
}

// PanelRow holds one point of a plot over time in the report.
type PanelRow struct {
	Panel  int     `csv:"panel" doc:"number in the manifest's configuration.report, from 0"`
	Series int     `csv:"series" doc:"number in the panel, from 0"`
	Time   int64   `csv:"time_ns" unit:"ns" doc:"virtual time"`
	Value  float64 `csv:"value" doc:"in the base unit of the series' quantity"`
}

// CollectiveRow describes one collective operation.
type CollectiveRow struct {
	Number     int    `csv:"collective" doc:"number, from 0"`
	Tag        string `csv:"tag" doc:"tag of its workload"`
	Kind       string `csv:"kind" doc:"allreduce, alltoall, ..."`
	Algorithm  string `csv:"algorithm" doc:"ring, tree, ..."`
	Ranks      int    `csv:"ranks" doc:"number of ranks"`
	Size       int64  `csv:"size_bytes" unit:"bytes" doc:"as defined by nccl-tests"`
	Iteration  int    `csv:"iteration" doc:"of its job, from 0"`
	Begin      int64  `csv:"begin_ns,null" unit:"ns" doc:"time when the first rank entered; this and the following columns are empty if it has not finished"`
	Completion int64  `csv:"completion_ns,null" unit:"ns" doc:"until the last rank left"`
	Limit      int64  `csv:"limit_ns,null" unit:"ns" doc:"lower bound of the time under any controller"`
	AlgBW      int64  `csv:"algbw_bps,null" unit:"bps" doc:"algorithm bandwidth: size over completion time"`
	BusBW      int64  `csv:"busbw_bps,null" unit:"bps" doc:"bus bandwidth"`
	Skew       int64  `csv:"skew_ns,null" unit:"ns" doc:"delay of the last rank's entry after the first"`
	Straggler  string `csv:"straggler" doc:"host that left last"`
	Late       int64  `csv:"late_ns,null" unit:"ns" doc:"delay of its exit after the median rank's"`
}

// WayACK marks, in the column way, time that an acknowledgement spent.
const WayACK = "ack"

// WhyRow assigns a part of a flow's completion time to a cause. The parts of a flow add up to its completion time. A
// cause of -1 means none.
type WhyRow struct {
	Flow        int    `csv:"flow" doc:"number in flows.csv"`
	Stage       string `csv:"stage" doc:"sending, window, repair or last"`
	Again       bool   `csv:"again" doc:"1: while the flow retransmitted"`
	What        string `csv:"what" doc:"use of the time: queue, paused, pacing, ..."`
	Way         string `csv:"way" doc:"data, or ack for the ACK's path"`
	Port        string `csv:"port" doc:"port, as in links.csv"`
	Behind      string `csv:"behind" doc:"in a queue: tag of the flows whose packets were ahead"`
	Cause       int    `csv:"cause,null" doc:"number in causes.csv"`
	Signal      string `csv:"signal" doc:"last signal that slowed the flow: cnp, ecn_echo, rtt, ..."`
	SignalPort  string `csv:"signal_port" doc:"port of that signal"`
	SignalCause int    `csv:"signal_cause,null" doc:"number in causes.csv: the cause of that port's queue"`
	Picoseconds int64  `csv:"time_ps" unit:"ps" doc:"time"`
}

// CauseRow explains a queue, or why a port did not send. A cause follows the causes that it refers to.
type CauseRow struct {
	Number  int    `csv:"cause,null" doc:"number, from 0"`
	Kind    string `csv:"kind" doc:"congestion, pfc_storm, slow_receiver, deadlock, no_credits, unknown or pause"`
	Port    string `csv:"port" doc:"egress port, or a host's"`
	Because int    `csv:"because,null" doc:"number of its own cause; empty: it is a root"`
	Queue   string `csv:"queue" doc:"of congestion: bytes in the queue by tag when it caused PAUSE, as a=5;b=6"`
}

// RecoveryRow counts the packets of a flow that selective repeat retransmitted, or received twice or out of order.
type RecoveryRow struct {
	Flow       int   `csv:"flow" doc:"number in flows.csv"`
	Spurious   int64 `csv:"spurious" unit:"packets" doc:"retransmitted although they had arrived"`
	Duplicates int64 `csv:"duplicates" unit:"packets" doc:"arrived a second time"`
	Reordered  int64 `csv:"reordered" unit:"packets" doc:"arrived after one that was sent later"`
	Extent     int64 `csv:"reordering_extent" unit:"packets" doc:"maximum reordering extent"`
	Trimmed    int64 `csv:"trimmed" unit:"packets" doc:"cut to their headers by switches"`
}

// QPRow describes one QP of a flow that has several.
type QPRow struct {
	Flow          int   `csv:"flow" doc:"number in flows.csv"`
	QP            int   `csv:"qp" doc:"number in the flow, from 0"`
	Port          int   `csv:"udp_source_port" doc:"UDP source port, by which ECMP chooses"`
	Size          int64 `csv:"size_bytes" unit:"bytes" doc:"payload; 0: it sends until the run ends"`
	FCT           int64 `csv:"fct_ns,null" unit:"ns" doc:"as in flows.csv"`
	Delivered     int64 `csv:"delivered_bytes" unit:"bytes" doc:"payload"`
	Retransmitted int64 `csv:"retransmitted_bytes" unit:"bytes" doc:"payload sent more than once"`
	Marked        int64 `csv:"ce_packets" unit:"packets" doc:"data packets that arrived with CE"`
}

// ReadCauses reads causes.csv.
func ReadCauses(folder string) (all []CauseRow, err error) {
	err = Read(folder, Causes, func(c *CauseRow) error {
		if c.Number != len(all) || c.Because >= len(all) {
			return errors.New("the causes are not numbered in order: the file is damaged")
		}
		all = append(all, *c)
		return nil
	})
	return all, err
}
