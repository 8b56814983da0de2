package measure

import (
	"slices"

	"github.com/pausenet/pausenet/topologies"
)

// mostLinks limits the links in each list of the summary; links.csv has all.
const mostLinks = 10

// LinkSummary describes how busy links were. Each direction of a link counts separately.
type LinkSummary struct {
	// BetweenSwitches and ToHosts hold the distributions of utilisation over the switches' ports: the fraction of the
	// run's time that a port spent sending.
	BetweenSwitches Quantiles `json:"utilisation_between_switches"`
	ToHosts         Quantiles `json:"utilisation_to_hosts"`
	Busiest         []Link    `json:"busiest"`
	// Congested holds the egress ports that were congested longest (see runner/congestion.go), Paused those that flow
	// control paused longest.
	Congested []Link `json:"congested"`
	Paused    []Link `json:"paused"`
}

// Link represents one direction of a link during a run. It is also a row of links.csv.
type Link struct {
	Node        string  `json:"node" csv:"node" doc:"switch or host that sends"`
	Port        string  `json:"port" csv:"port" doc:"its interface"`
	Peer        string  `json:"peer" csv:"peer" doc:"node at the other end"`
	RateBPS     int64   `json:"rate_bps" csv:"rate_bps" unit:"bps" doc:"of the link"`
	TxFrames    int64   `json:"tx_frames" csv:"tx_frames" unit:"frames" doc:"sent"`
	TxBytes     int64   `json:"tx_bytes" csv:"tx_bytes" unit:"bytes" doc:"sent"`
	Utilisation float64 `json:"utilisation" csv:"utilisation,digits=6" doc:"part of the run's time spent sending"`
	PeakQueue   int64   `json:"peak_queue_bytes" csv:"peak_queue_bytes" unit:"bytes" doc:"longest egress queue of a switch's port"`
	CongestedNS int64   `json:"congested_ns" csv:"congested_ns" unit:"ns" doc:"time for which the port was congested"`
	Pauses      int64   `json:"pauses" csv:"pauses" unit:"frames" doc:"PAUSE frames that the peer sent to this port"`
	Resumes     int64   `json:"resumes" csv:"resumes" unit:"frames" doc:"RESUME frames, likewise"`
	PauseRate   float64 `json:"pauses_per_second" csv:"pauses_per_second,digits=3" doc:"PAUSE frames a second"`
	PausedNS    int64   `json:"paused_ns" csv:"paused_ns" unit:"ns" doc:"time from PAUSE to RESUME at the peer, or without credits; all priorities"`
}

// SummariseLinks returns the summary of a fabric's links, given by port.
func SummariseLinks(plan *topologies.Plan, all []Link) LinkSummary {
	var sum LinkSummary
	var between, hosts []float64
	for i := range all {
		p := &plan.Ports[i]
		switch {
		case plan.Nodes[p.Node].Kind != topologies.Switch:
		case plan.PeerNode(p.ID).Kind == topologies.Switch:
			between = append(between, all[i].Utilisation)
		default:
			hosts = append(hosts, all[i].Utilisation)
		}
	}
	sum.BetweenSwitches, sum.ToHosts = QuantilesOf(between), QuantilesOf(hosts)
	sum.Busiest = leading(all, func(l *Link) float64 { return l.Utilisation })
	sum.Congested = leading(all, func(l *Link) float64 { return float64(l.CongestedNS) })
	sum.Paused = leading(all, func(l *Link) float64 { return float64(l.PausedNS) })
	return sum
}

// leading returns the links with the highest values, in order; among equals the first. It omits links with 0.
func leading(all []Link, of func(*Link) float64) []Link {
	some := make([]Link, 0, mostLinks+1)
	for i := range all {
		l := &all[i]
		if most := of(l); most > 0 && (len(some) < mostLinks || of(&some[mostLinks-1]) < most) {
			at, _ := slices.BinarySearchFunc(some, most, func(s Link, most float64) int {
				if of(&s) < most {
					return 1
				}
				return -1 // after equal links
			})
			some = slices.Insert(some, at, *l)
			some = some[:min(len(some), mostLinks)]
		}
	}
	return some
}
