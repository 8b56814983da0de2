package why

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/results/rundir"
)

// end returns a port's name for people, such as "L2 to R1".
func (r *Run) end(name string) string {
	if p, known := r.ports[name]; known {
		return p.node + " to " + p.peer
	}
	return name
}

// word holds the words of a node of a tree, and the interface that they concern; "": none.
type word struct{ what, port string }

// about returns a node with words about no port.
func about(what string) word { return word{what: what} }

// path returns where a part of a flow's time stands in its tree, from the top.
func (r *Run) path(x *rundir.WhyRow) (path []word) {
	if x.Again {
		path = append(path, about("retransmitting lost packets"))
	}
	switch x.Stage {
	case "sending":
		return append(path, r.sending(x)...)
	case "window":
		if x.What == "grant" {
			return append(path, about(ungranted))
		}
		path = append(path, about("window full, waiting for an ACK"), r.signal(x))
	case "repair":
		path = append(path, about("waiting for a loss to be detected"))
	case "last":
		path = append(path, about("the last packet and its ACK under way"))
	}
	return append(path, r.journey(x)...)
}

func (r *Run) sending(x *rundir.WhyRow) []word {
	switch x.What {
	case "serialisation":
		return []word{{"sending at line rate", x.Port}}
	case "pacing":
		return append([]word{about("paced below line rate by the congestion control"), r.signal(x)},
			r.chain(x.SignalCause)...)
	case "paused":
		c := &r.causes[x.Cause]
		return append([]word{about("NIC paused"), {"by " + r.ports[c.Port].peer, c.Port}}, r.chain(c.Because)...)
	case "queue":
		return []word{about("NIC busy with other frames"), {"of " + x.Behind, x.Port}}
	}
	return []word{{"NIC blocked: " + stopped, x.Port}}
}

const stopped = "no credits, or link down"

// journey returns the words for a part of the path of a packet or an ACK.
func (r *Run) journey(x *rundir.WhyRow) []word {
	whose := ""
	if x.Way == rundir.WayACK {
		whose = " (ACK)"
	}
	at := word{r.end(x.Port) + whose, x.Port}
	switch x.What {
	case "serialisation":
		return []word{about("serialization"), at}
	case "propagation":
		return []word{about("propagation"), at}
	case "queue":
		at.what += ", behind " + x.Behind
		path := []word{about("in queues"), at}
		if x.Cause >= 0 && r.causes[x.Cause].Because >= 0 { // a congested queue is its own root
			path = append(path, r.chain(x.Cause)...)
		}
		return path
	case "paused":
		return append([]word{about("at paused ports")}, r.chain(x.Cause)...)
	case "stopped":
		return []word{about("at blocked ports: " + stopped), at}
	case "receiver":
		return []word{about("in the buffer of a slow receiver"), {r.ports[x.Port].node, x.Port}}
	case "timeout":
		return []word{about("the retransmission timeout")}
	case "unanswered":
		return []word{about("no ACK by the end of the run")}
	}
	return []word{about("opened by something other than an ACK, or not at all")}
}

// ungranted explains why a flow under RCCC waits.
const ungranted = "waiting for a grant of its receiver"

// signal returns the words for the event that made a congestion control lower its rate or window.
func (r *Run) signal(x *rundir.WhyRow) word { return word{r.signalText(x), x.SignalPort} }

func (r *Run) signalText(x *rundir.WhyRow) string {
	at := ""
	if x.SignalPort != "" {
		at = r.end(x.SignalPort)
	}
	switch x.Signal {
	case "start":
		return "initial rate or window, never lowered"
	case "cnp":
		if at == "" {
			return "last lowered by a CNP without a mark"
		}
		return "last lowered by a CNP for a mark at " + at
	case "ecn_echo":
		return "last lowered by an ACK for a mark at " + at
	case "cnm":
		return "last lowered by a CNM from " + at
	case "rtt", "telemetry":
		by := map[string]string{"rtt": "RTT", "telemetry": "telemetry"}[x.Signal]
		if at == "" {
			return "last lowered by an ACK's " + by + ", with no queueing"
		}
		return "last lowered by an ACK's " + by + ", delayed most at " + at
	case "nak":
		return "last lowered by a NAK"
	case "timeout":
		return "last lowered by a retransmission timeout"
	}
	return "last lowered by its own timer or counter"
}

// chain returns a cause and the causes behind it, to the root.
func (r *Run) chain(n int) (path []word) {
	for ; n >= 0; n = r.causes[n].Because {
		path = append(path, word{r.cause(n), r.causes[n].Port})
	}
	return path
}

// cause returns a cause in words.
func (r *Run) cause(n int) string {
	c := &r.causes[n]
	p := r.ports[c.Port]
	switch c.Kind {
	case "pause":
		return fmt.Sprintf("%s paused by %s", r.end(c.Port), p.peer)
	case "congestion":
		return "congestion at " + r.end(c.Port) + share(c.Queue)
	case "pfc_storm":
		return "PFC storm: malfunctioning NIC of " + p.node
	case "slow_receiver":
		return "slow receiver " + p.node
	case "deadlock":
		return "deadlock: the chain of pauses returns to " + r.end(c.Port)
	case "no_credits":
		return "credits under way to " + r.end(c.Port)
	}
	return "unknown cause"
}

// share lists the flows whose bytes were in a congested queue, as causes.csv has them: "burst=97;f1=3" becomes " (burst
// 97 %, f1 3 %)".
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

// Unavoidable lists the root causes that a flow has even when it is alone in the fabric.
var Unavoidable = []string{"its size: sending at line rate", "serialization and propagation on the path"}

// root returns the root cause of a part of a flow's time.
func (r *Run) root(x *rundir.WhyRow) word {
	n := x.Cause
	if n < 0 {
		n = x.SignalCause
	}
	if n >= 0 {
		for r.causes[n].Because >= 0 {
			n = r.causes[n].Because
		}
		return word{r.cause(n), r.causes[n].Port}
	}
	switch x.What {
	case "serialisation":
		if x.Stage == "sending" {
			return about(Unavoidable[0])
		}
		return about(Unavoidable[1])
	case "propagation":
		return about(Unavoidable[1])
	case "queue":
		return about("other frames of its NIC")
	case "pacing", "window":
		if x.Signal == "start" {
			return about("initial rate or window")
		}
		return about("congestion control, without a signal of congestion")
	case "timeout":
		return about("lost packets: retransmission timeout")
	case "grant":
		return about("grants of its receiver")
	case "unanswered":
		return about("no ACK by the end of the run")
	}
	return about(stopped)
}
