package why

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/rundir"
)

// end is a port as people name it: "L2 to R1".
func (r *Run) end(name string) string {
	if p, known := r.ports[name]; known {
		return p.node + " to " + p.peer
	}
	return name
}

// path is where a part of a flow's time stands in its tree, from the top.
func (r *Run) path(x *rundir.WhyRow) (path []string) {
	if x.Again {
		path = append(path, "sending again what was lost")
	}
	switch x.Stage {
	case "sending":
		return append(path, r.sending(x)...)
	case "window":
		path = append(path, "its window was closed: waiting for an ACK", r.signal(x))
	case "repair":
		path = append(path, "waiting for what says that a packet was lost")
	case "last":
		path = append(path, "the way of its last packet, and of the ACK")
	}
	return append(path, r.journey(x)...)
}

func (r *Run) sending(x *rundir.WhyRow) []string {
	switch x.What {
	case "serialisation":
		return []string{"its packets went onto its host's link"}
	case "pacing":
		return append([]string{"paced by its congestion control, below the line's rate", r.signal(x)}, r.chain(x.SignalCause)...)
	case "paused":
		c := &r.causes[x.Cause]
		return append([]string{"its NIC was paused", "by " + r.ports[c.Port].peer}, r.chain(c.Because)...)
	case "queue":
		return []string{"its NIC was sending other frames", "of " + x.Behind}
	}
	return []string{"its NIC could not send: " + stopped}
}

const stopped = "no credits, or its link was down"

// journey is a part of the way of a packet or of an ACK.
func (r *Run) journey(x *rundir.WhyRow) []string {
	whose := ""
	if x.Answer {
		whose = " (ACK)"
	}
	switch x.What {
	case "serialisation":
		return []string{"onto links", r.end(x.Port) + whose}
	case "propagation":
		return []string{"along cables", r.end(x.Port) + whose}
	case "queue":
		path := []string{"in queues", r.end(x.Port) + whose + ", behind " + x.Behind}
		if x.Cause >= 0 && r.causes[x.Cause].Because >= 0 { // a congested queue is its own root
			path = append(path, r.chain(x.Cause)...)
		}
		return path
	case "paused":
		return append([]string{"at paused ports"}, r.chain(x.Cause)...)
	case "stopped":
		return []string{"at ports that could not send: " + stopped, r.end(x.Port) + whose}
	case "receiver":
		return []string{"in the buffer of a slow receiver", r.ports[x.Port].node}
	case "timeout":
		return []string{"the retransmission timeout"}
	case "unanswered":
		return []string{"no ACK had come by the end of the run"}
	}
	return []string{"something else than an ACK opened it, or nothing did by the end of the run"}
}

// signal is what had a congestion control lower its rate or window.
func (r *Run) signal(x *rundir.WhyRow) string {
	at := ""
	if x.SignalPort != "" {
		at = r.end(x.SignalPort)
	}
	switch x.Signal {
	case "start":
		return "as it began with; nothing has lowered it"
	case "cnp":
		if at == "" {
			return "last lowered by a CNP without a mark"
		}
		return "last lowered by a CNP, for a mark at " + at
	case "ecn_echo":
		return "last lowered by an ACK, for a mark at " + at
	case "cnm":
		return "last lowered by a CNM of " + at
	case "rtt", "telemetry":
		by := map[string]string{"rtt": "round trip", "telemetry": "telemetry"}[x.Signal]
		if at == "" {
			return "last lowered by an ACK's " + by + ", which had waited nowhere"
		}
		return "last lowered by an ACK's " + by + ", which had waited longest at " + at
	case "nak":
		return "last lowered by a NAK"
	case "timeout":
		return "last lowered by a retransmission timeout"
	}
	return "last lowered by its own timer or count"
}

// chain is a cause and what it is because of, to its root.
func (r *Run) chain(n int) (path []string) {
	for ; n >= 0; n = r.causes[n].Because {
		path = append(path, r.cause(n))
	}
	return path
}

// cause is one in words.
func (r *Run) cause(n int) string {
	c := &r.causes[n]
	p := r.ports[c.Port]
	switch c.Kind {
	case "pause":
		return fmt.Sprintf("%s was paused by %s", r.end(c.Port), p.peer)
	case "congestion":
		return "congestion: " + r.end(c.Port) + share(c.Queue)
	case "pfc_storm":
		return "PFC storm: the NIC of " + p.node + " malfunctions"
	case "slow_receiver":
		return "slow receiver: " + p.node
	case "deadlock":
		return "deadlock: the chain of pauses comes back to " + r.end(c.Port)
	case "no_credits":
		return "credits on their way: " + r.end(c.Port)
	}
	return "not known why"
}

// share is whose bytes were in a congested queue, by causes.csv: "burst=97;f1=3" is " (burst 97 %, f1 3 %)".
func share(queue string) string {
	type part struct {
		tag   string
		bytes float64
	}
	var parts []part
	sum := 0.0
	for _, text := range strings.Split(queue, ";") {
		i := strings.LastIndexByte(text, '=')
		if i < 0 {
			continue
		}
		n, err := strconv.ParseFloat(text[i+1:], 64)
		if err != nil {
			continue
		}
		parts = append(parts, part{text[:i], n})
		sum += n
	}
	sort.SliceStable(parts, func(i, k int) bool { return parts[i].bytes > parts[k].bytes })
	var words []string
	for _, p := range parts {
		if percent := 100 * p.bytes / sum; percent >= 0.5 {
			words = append(words, fmt.Sprintf("%s %.0f %%", p.tag, percent))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// root is what a part of a flow's time comes down to.
func (r *Run) root(x *rundir.WhyRow) string {
	n := x.Cause
	if n < 0 {
		n = x.SignalCause
	}
	if n >= 0 {
		for r.causes[n].Because >= 0 {
			n = r.causes[n].Because
		}
		return r.cause(n)
	}
	switch x.What {
	case "serialisation":
		if x.Stage == "sending" {
			return "its size: sending it at the line's rate"
		}
		return "links and cables: onto them and along them"
	case "propagation":
		return "links and cables: onto them and along them"
	case "queue":
		return "other frames of its host's NIC"
	case "pacing", "window":
		if x.Signal == "start" {
			return "the rate or window that it began with"
		}
		return "its congestion control"
	case "timeout":
		return "lost packets: the retransmission timeout"
	case "unanswered":
		return "no answer by the end of the run"
	}
	return stopped
}
