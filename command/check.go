package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/analysis/headroom"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

func newCheckCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "check headroom|deadlock",
		Short: "Prove that a fabric has enough headroom and cannot deadlock",
		Long: `Prove or refute a property of a fabric: that its headroom is large enough, or
that PAUSE cannot deadlock it.`,
		Example: `  pausenet check headroom incast --set switch.pfc.headroom=10KB
  pausenet check deadlock leafspine --failures 2`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newCheckHeadroomCommand(), newCheckDeadlockCommand())
	return c
}

func newCheckHeadroomCommand() *cobra.Command {
	var (
		sets               []string
		controller, format string
		response           string
		arithmetic         bool
		tables             tablesFlags
	)
	c := &cobra.Command{
		Use:   "headroom SCENARIO|--lookup FILE...",
		Short: "Check that no lossless frame can be dropped for lack of headroom",
		Long: `Check that no lossless frame can be dropped for lack of headroom, in two ways.

The arithmetic adds up, for each switch port, the bytes that can arrive after
XOFF (the parts of IEEE 802.1Qbb, annex O) and compares the sum with the
headroom. For each switch it compares XOFF and headroom of all ports with the
buffer.

The run is the worst incast for a port of each kind, without congestion
control, on the wasm plane: all hosts send to one receiver that stalls for a
while.

  proved      the headroom is large enough, and the run dropped nothing
  REFUTED     a run dropped lossless frames; its command is printed
  not proved  the headroom is too small, but no run dropped anything

In the model, hardware sends and obeys PAUSE in no time. --response adds the
time that a real switch and NIC take together (switch.pfc.response; an auto
headroom includes it). IEEE 802.3, 31B.3.7, allows each end 3.07 us at 10
Gbps, 1.51 us at 40 Gbps and 2.02 us at 100 Gbps. Only the arithmetic covers
that, buffer cells (switch.pfc.cell_size, switch.pfc.small_packets) and longer
frames of other priorities (topology.interface_mtu).

--lookup checks the rows of SONiC's pg_profile_lookup.ini instead. A row is
proved if its headroom holds the need, and refuted if it is less than the
cable alone holds, or if a run drops frames. A row is inverted if a
shorter cable or a lower rate has more. With --lookup, --response also takes
802.3 (the standard's limit for one end at each rate) or none.

The exit code is 0 if everything is proved, and 1 otherwise.`,
		Example: `  pausenet check headroom incast
  pausenet check headroom incast --set switch.pfc.headroom=10KB
  pausenet check headroom fabric.yaml --response 2us -o json
  pausenet check headroom switch.yaml --set switch.pfc.cell_size=144B
  pausenet check headroom --lookup device/ --mtu 9100 --response 802.3`,
		Args: func(c *cobra.Command, args []string) error {
			if len(tables.globs) > 0 {
				return nil // the shell expands a pattern to several arguments
			}
			return cobra.ExactArgs(1)(c, args)
		},
		ValidArgsFunction: completeSubjects,
		RunE: func(c *cobra.Command, args []string) error {
			if len(tables.globs) > 0 {
				return tables.check(c, args, response, format, !arithmetic)
			}
			for _, name := range tablesOnly {
				if c.Flags().Changed(name) {
					return badInput(fmt.Errorf("--%s is an option for tables: add --lookup FILE, or leave it out", name))
				}
			}
			span, err := units.ParseTime(response)
			if err != nil || span < 0 || span > vtime.Millisecond {
				return badInput(fmt.Errorf("--response %s: expected a time from 0 to 1 ms, such as 1.5us", response))
			}
			if span > 0 {
				sets = append(sets, fmt.Sprintf("switch.pfc.response=%v", span))
			}
			s, err := load(args[0], sets)
			if err != nil {
				return err
			}
			if s.scenario == nil {
				return badInput(fmt.Errorf("%s is a topology, but headroom is a setting of scenarios (name a scenario with "+
					"this topology)", args[0]))
			}
			controller = cmp.Or(controller, s.scenario.Controllers[0])
			own, name, _, err := s.scenario.Under(controller)
			if err != nil {
				return badInput(err)
			}
			check, err := headroom.Of(own)
			if err != nil {
				return badInput(fmt.Errorf("%s: %w", own.Name, err))
			}
			ctx, release := shutdown.Context(c.Context())
			defer release()
			v := newHeadroomView(own, check)
			if !arithmetic {
				trial := headroomTrial{subject: args[0], sets: sets, controller: name}
				if err := v.try(ctx, own, check, trial); err != nil {
					return err
				}
			}
			err = writeResult(c.OutOrStdout(), format, v, v.write)
			if err == nil && !v.Holds {
				err = &exitError{exitVerdict, fmt.Errorf("%s: a lack of headroom or buffer can drop lossless frames, "+
					"or the opposite is not proved", v.Scenario)}
			}
			return err
		},
	}
	setFlag(c, &sets)
	c.Flags().StringVar(&controller, "cc", "",
		"congestion controller or variant to check, by `name` (default: the scenario's first)")
	c.Flags().StringVar(&response, "response", "0s",
		"`time` that hardware takes to send and obey PAUSE, both ends together")
	c.Flags().BoolVar(&arithmetic, "no-run", false, "skip the runs and only do the arithmetic")
	completeController(c, controllerWords)
	completeNothing(c, "response")
	formatFlag(c, &format)
	tables.add(c)
	return c
}

// headroomView holds the results of a check.
type headroomView struct {
	Scenario string         `json:"scenario"`
	Holds    bool           `json:"holds"` // everything is proved
	Verdict  verdict        `json:"verdict"`
	Ports    []headroomKind `json:"ports"`
	Switches []bufferKind   `json:"switches"`
}

// headroomKind represents ports with equal properties. Sizes are in bytes, times in nanoseconds.
type headroomKind struct {
	Ports     []string   `json:"ports"`
	Rate      int64      `json:"rate_bps"`
	Delay     int64      `json:"delay_ns"`
	PeerDelay int64      `json:"peer_delay_ns"`
	Parts     []inFlight `json:"in_flight"`
	Needed    int64      `json:"needed_bytes"`
	Headroom  int64      `json:"headroom_bytes"`
	Verdict   verdict    `json:"verdict"`
	// bytes by the formula of SONiC's buffermgrd, for a switch with cells
	SONiC int64 `json:"sonic_bytes,omitempty"`
	// Unpaused reports whether hosts send ACK, NAK and CNP of a lossless priority while it is paused.
	Unpaused bool `json:"unpaused,omitempty"`
	// the fault that changes the cable; absent if the cable has these properties from the start
	Fault string        `json:"fault,omitempty"`
	Tried *headroomTest `json:"tried,omitempty"`
	rate  units.Rate
	delay vtime.Time
}

// inFlight holds one part of the bytes in flight.
type inFlight struct {
	What  string `json:"what"`
	Bytes int64  `json:"bytes"`
}

// headroomTest holds the results of a run of the worst incast.
type headroomTest struct {
	Port     string   `json:"port"`
	Receiver string   `json:"receiver"`
	Through  []string `json:"through"`
	Beside   []string `json:"beside"`
	Back     []string `json:"back"`
	Paused   bool     `json:"paused"`
	Most     int64    `json:"most_buffered_bytes"`
	XOFF     int64    `json:"xoff_bytes"`
	Dropped  int64    `json:"dropped_lossless_frames"`
	VirtualN int64    `json:"virtual_ns"`
	Command  string   `json:"command"` // command that repeats the run
}

// bufferKind represents switches with equal properties.
type bufferKind struct {
	Switches []string `json:"switches"`
	Ports    int      `json:"ports"`
	Buffer   int64    `json:"buffer_bytes"`
	XOFF     int64    `json:"xoff_bytes"` // 0 if dynamic
	Headroom int64    `json:"headroom_bytes"`
	Verdict  verdict  `json:"verdict"`
}

// verdict holds the result of a check of ports, switches or everything. Constants are ordered from best to worst.
type verdict string

const (
	proved    verdict = "proved"
	notProved verdict = "not proved"
	refuted   verdict = "refuted"
)

// String returns the verdict as the terminal shows it.
func (v verdict) String() string {
	if v == refuted {
		return "REFUTED"
	}
	return string(v)
}

func provedIf(ok bool) verdict {
	if ok {
		return proved
	}
	return notProved
}

// headroomTrial holds the command whose scenario a run of the worst incast changes.
type headroomTrial struct {
	subject    string
	sets       []string
	controller string
}

// load reads the scenario again with additional changes.
func (t *headroomTrial) load(more []string) (*scenario.Scenario, error) {
	s, err := load(t.subject, slices.Concat(t.sets, more))
	if err != nil {
		return nil, err
	}
	return s.scenario, nil
}

// command returns the command that runs the scenario with additional changes.
func (t *headroomTrial) command(more []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pausenet run %s --cc %s --plane wasm", quoted(t.subject), quoted(t.controller))
	for _, set := range slices.Concat(t.sets, more) {
		fmt.Fprintf(&b, " --set %s", quoted(set))
	}
	return b.String()
}

// quoted quotes a word for a shell.
func quoted(word string) string {
	if !strings.ContainsAny(word, " '\"\\$`*?[]{}()<>|&;#~!") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// newHeadroomView returns the results of the arithmetic, with names.
func newHeadroomView(s *scenario.Scenario, check *headroom.Check) *headroomView {
	plan := s.Topology
	v := &headroomView{Scenario: s.Name, Ports: []headroomKind{}, Switches: []bufferKind{}}
	for i := range check.Kinds {
		k := &check.Kinds[i]
		f := &k.InFlight
		of := headroomKind{
			Rate: int64(k.Cable.Rate), Delay: k.Cable.Delay.RoundNanoseconds(), PeerDelay: k.Cable.PeerDelay.RoundNanoseconds(),
			Needed: int64(k.Needed()), Headroom: int64(k.Headroom), Verdict: provedIf(k.Holds()), SONiC: int64(k.SONiC),
			Unpaused: k.Unpaused,
			rate:     k.Cable.Rate, delay: k.Cable.Delay,
			Parts: []inFlight{
				{"propagation on the cable, both ways", int64(f.Cable)},
				{"past XOFF: the frame that reached it", int64(f.PastXOFF)},
				{"a frame that the port is sending when PAUSE is due", int64(f.Sending)},
				{"PFC frames that the port is sending", int64(f.PFC)},
				{"a frame that the peer is sending", int64(f.Peer)},
			},
		}
		if k.Fault >= 0 {
			of.Fault = cmp.Or(s.Faults[k.Fault].Name, fmt.Sprintf("faults.%d", k.Fault))
		}
		if f.Response > 0 {
			of.Parts = append(of.Parts, inFlight{"response time of the hardware", int64(f.Response)})
		}
		if cells := int64(f.Buffered - f.Line()); s.Switch.PFC.CellSize > 0 {
			of.Parts = append(of.Parts, inFlight{fmt.Sprintf("rounding up to cells of %v", s.Switch.PFC.CellSize), cells})
		} else if cells < 0 {
			of.Parts = append(of.Parts, inFlight{"preambles, checksums and gaps, which are not buffered", cells})
		}
		for _, id := range k.Ports {
			of.Ports = append(of.Ports, scenario.PortLabel(plan, id))
		}
		v.Ports = append(v.Ports, of)
	}
	for i := range check.Switches {
		k := &check.Switches[i]
		v.Switches = append(v.Switches, bufferKind{
			Switches: plan.NamesOf(k.Nodes), Ports: k.Ports, Buffer: int64(k.Buffer), XOFF: int64(k.XOFF),
			Headroom: int64(k.Headroom),
			Verdict:  provedIf(k.Margin() >= 0),
		})
	}
	v.conclude()
	return v
}

// conclude sets the overall verdict from the others.
func (v *headroomView) conclude() {
	v.Verdict = proved
	worse := func(of verdict) {
		if of == refuted || v.Verdict == proved {
			v.Verdict = of
		}
	}
	for i := range v.Ports {
		worse(v.Ports[i].Verdict)
	}
	for i := range v.Switches {
		worse(v.Switches[i].Verdict)
	}
	v.Holds = v.Verdict == proved
}

// try runs the worst incast for each kind of port. If frames are dropped, it marks the ports and switches as
// refuted.
func (v *headroomView) try(ctx context.Context, s *scenario.Scenario, check *headroom.Check,
	trial headroomTrial,
) error {
	plan := s.Topology
	for i := range check.Kinds {
		k := &check.Kinds[i]
		incast := headroom.Worst(plan, k.Ports)
		if incast == nil {
			continue
		}
		t, err := incast.Try(ctx, s, trial.controller, k, trial.load)
		if err != nil {
			return err
		}
		v.Ports[i].Tried = &headroomTest{
			Port: scenario.PortLabel(plan, incast.Port), Receiver: plan.Nodes[incast.Receiver].Name,
			Through: plan.NamesOf(incast.Through),
			Beside:  plan.NamesOf(incast.Beside), Back: plan.NamesOf(incast.Back), Paused: t.Paused, Most: int64(t.Most),
			XOFF:    int64(k.XOFF),
			Dropped: t.Dropped, VirtualN: t.For.RoundNanoseconds(), Command: trial.command(t.Sets),
		}
		for j := range check.Kinds {
			has := func(id topologies.PortID) bool { return slices.Contains(t.Overrun, plan.Ports[id].Name) }
			if slices.ContainsFunc(check.Kinds[j].Ports, has) && (check.Kinds[j].Fault == k.Fault || j == i) {
				v.Ports[j].Verdict = refuted
			}
		}
		for j := range check.Switches {
			has := func(id topologies.NodeID) bool {
				return slices.ContainsFunc(plan.Nodes[id].Ports,
					func(id topologies.PortID) bool { return slices.Contains(t.Full, plan.Ports[id].Name) })
			}
			if slices.ContainsFunc(check.Switches[j].Nodes, has) {
				v.Switches[j].Verdict = refuted
			}
		}
	}
	v.conclude()
	return nil
}

func (v *headroomView) write(w io.Writer) {
	fmt.Fprintf(w, "%s: can a lack of headroom drop lossless frames?\n", v.Scenario)
	for i := range v.Ports {
		k := &v.Ports[i]
		by := ""
		if k.Fault != "" {
			by = ", by fault " + k.Fault
		}
		fmt.Fprintf(w, "\n%s (%v, %v%s): %s\n", lists.Few(k.Ports), k.rate, k.delay, by, k.Verdict)
		row := func(bytes int64, what string) { fmt.Fprintf(w, "  %12s  %s\n", units.Bytes(bytes), what) }
		for _, part := range k.Parts {
			row(part.Bytes, part.What)
		}
		row(k.Needed, "total in flight after XOFF")
		row(k.Headroom, "headroom")
		if k.SONiC > 0 {
			row(k.SONiC, "headroom by SONiC's formula")
		}
		if k.Unpaused {
			fmt.Fprintln(w, "  no headroom is enough: paused hosts still send ACK, NAK and CNP (host.ack_when_paused)")
		}
		if k.Tried != nil {
			k.Tried.write(w)
		}
	}
	fmt.Fprintln(w)
	for i := range v.Switches {
		k := &v.Switches[i]
		what := fmt.Sprintf("XOFF %v and headroom %v", units.Bytes(k.XOFF), units.Bytes(k.Headroom))
		if k.XOFF == 0 {
			what = fmt.Sprintf("headroom %v (XOFF is dynamic and uses all free buffer)", units.Bytes(k.Headroom))
		}
		fmt.Fprintf(w, "%s: %s of %d ports, buffer %v: %s\n", lists.Few(k.Switches), what, k.Ports, units.Bytes(k.Buffer),
			k.Verdict)
	}
	fmt.Fprintf(w, "%s: %s\n", v.Scenario, v.Verdict)
}

// write prints the senders, and what the run buffered and dropped.
func (t *headroomTest) write(w io.Writer) {
	fmt.Fprintf(w, "  worst incast for %s: from %s through it", t.Port, lists.Few(t.Through))
	if len(t.Beside) > 0 {
		fmt.Fprintf(w, " and from %s", lists.Few(t.Beside))
	}
	fmt.Fprintf(w, " to %s, which stalls", t.Receiver)
	if len(t.Back) > 0 {
		fmt.Fprintf(w, "; %s back to %s", lists.Few(t.Back), t.Through[0])
	}
	fmt.Fprintf(w, "\n  in %v: ", vtime.Time(t.VirtualN)*vtime.Nanosecond)
	switch {
	case !t.Paused:
		fmt.Fprintln(w, "the port never reached XOFF: this traffic does not test it")
	case t.XOFF > 0:
		fmt.Fprintf(w, "at most %v buffered from a port: XOFF %v and %v more; %d lossless frames dropped\n",
			units.Bytes(t.Most), units.Bytes(t.XOFF), units.Bytes(max(0, t.Most-t.XOFF)), t.Dropped)
	default:
		fmt.Fprintf(w, "at most %v buffered from a port; %d lossless frames dropped\n", units.Bytes(t.Most), t.Dropped)
	}
	if t.Dropped > 0 {
		fmt.Fprintf(w, "  %s\n", t.Command)
	}
}
