package command

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/headroom"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

func newCheckCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "check headroom",
		Short:   "Prove or refute what a fabric's settings promise",
		Example: "  pausenet check headroom incast --set switch.pfc.headroom=10KB",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newCheckHeadroomCommand())
	return c
}

func newCheckHeadroomCommand() *cobra.Command {
	var (
		sets               []string
		controller, format string
		response           string
		arithmetic         bool
	)
	c := &cobra.Command{
		Use:   "headroom SCENARIO",
		Short: "Prove or refute that no lossless frame is dropped for want of headroom",
		Long: `check headroom adds up, for each port of each switch, what can come in after its account has
reached XOFF, by the parts of IEEE 802.1Qbb, annex O, and sets the port's headroom against
it; and for each switch XOFF and headroom of all ports against its buffer. Then it runs the
worst incast for a port of each kind, without congestion control, on the wasm plane: hosts
beyond the port and others send to one receiver, and hosts on this side send the other way.

In the model hardware takes no time to send or obey a PAUSE. --response adds what a real
switch and NIC take together; IEEE 802.3, 31B.3.7, allows each end 3.07 us at 10 Gb/s,
1.51 us at 40 Gb/s and 2.02 us at 100 Gb/s. The run cannot show that part.

The exit code is 0 if the headroom is proved and the run dropped nothing, and else 1.`,
		Example: `  pausenet check headroom incast
  pausenet check headroom incast --set switch.pfc.headroom=10KB
  pausenet check headroom fabric.yaml --response 2us -f json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSubjects,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			span, err := units.ParseTime(response)
			if err != nil || span < 0 || span > vtime.Millisecond {
				return badInput(fmt.Errorf("--response %s: a time of 0 to 1 ms, as 1.5us", response))
			}
			s, err := load(args[0], sets)
			if err != nil {
				return err
			}
			if s.scenario == nil {
				return badInput(fmt.Errorf("%s is a topology: headroom is a scenario's setting; name a scenario that has this topology", args[0]))
			}
			if controller == "" {
				controller = s.scenario.Controllers[0]
			}
			own, _, _, err := s.scenario.Under(controller)
			if err != nil {
				return badInput(err)
			}
			check, err := headroom.Of(own, span)
			if err != nil {
				return badInput(fmt.Errorf("%s: %w", own.Name, err))
			}
			ctx, release := shutdown.Context(c.Context())
			defer release()
			v, err := viewHeadroom(ctx, own, check, !arithmetic)
			if err != nil {
				return err
			}
			if format == "json" {
				err = writeJSON(c.OutOrStdout(), v)
			} else {
				err = v.write(c.OutOrStdout())
			}
			if err == nil && !v.Holds {
				err = &exitError{exitVerdict, fmt.Errorf("%s: lossless frames can be dropped for want of headroom or buffer", v.Scenario)}
			}
			return err
		},
	}
	setFlag(c, &sets)
	c.Flags().StringVar(&controller, "cc", "", "congestion control or variant whose settings are meant (default: the scenario's first)")
	c.Flags().StringVar(&response, "response", "0s", "`time` that the hardware at both ends of a cable takes to send and obey PAUSE")
	c.Flags().BoolVar(&arithmetic, "no-run", false, "do the arithmetic alone")
	completeWord(c, "cc", controllerWords)
	completeNothing(c, "response")
	formatFlag(c, &format)
	return c
}

// headroomView is what a check comes to.
type headroomView struct {
	Scenario string         `json:"scenario"`
	Holds    bool           `json:"holds"`
	Ports    []headroomKind `json:"ports"`
	Switches []bufferKind   `json:"switches"`
}

// headroomKind is ports that are alike. Sizes are bytes, times nanoseconds.
type headroomKind struct {
	Ports     []string      `json:"ports"`
	Rate      int64         `json:"rate_bps"`
	Delay     int64         `json:"delay_ns"`
	PeerDelay int64         `json:"peer_delay_ns"`
	Parts     []inFlight    `json:"in_flight"`
	Needed    int64         `json:"needed_bytes"`
	Headroom  int64         `json:"headroom_bytes"`
	Proved    bool          `json:"proved"`
	Unpaused  bool          `json:"unpaused,omitempty"` // hosts send ACK, NAK and CNP of a lossless priority although it is paused
	Fault     string        `json:"fault,omitempty"`    // that makes the cable so; absent: it is so from the start
	Tried     *headroomTest `json:"tried,omitempty"`
	rate      units.Rate
	delay     vtime.Time
}

// inFlight is a part of what can be in flight.
type inFlight struct {
	What  string `json:"what"`
	Bytes int64  `json:"bytes"`
}

// headroomTest is a run of the worst incast.
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
}

// bufferKind is switches that are alike.
type bufferKind struct {
	Switches []string `json:"switches"`
	Ports    int      `json:"ports"`
	Buffer   int64    `json:"buffer_bytes"`
	XOFF     int64    `json:"xoff_bytes"` // 0: it is dynamic
	Headroom int64    `json:"headroom_bytes"`
	Proved   bool     `json:"proved"`
}

// viewHeadroom names what a check is about, and tries each kind of ports.
func viewHeadroom(ctx context.Context, s *scenario.Scenario, check *headroom.Check, try bool) (*headroomView, error) {
	plan := s.Topology
	v := &headroomView{Scenario: s.Name, Holds: check.Holds(), Ports: []headroomKind{}, Switches: []bufferKind{}}
	name := func(id topologies.NodeID) string { return plan.Nodes[id].Name }
	names := func(ids []topologies.NodeID) (of []string) {
		for _, id := range ids {
			of = append(of, name(id))
		}
		return of
	}
	for i := range check.Kinds {
		k := &check.Kinds[i]
		f := &k.InFlight
		of := headroomKind{
			Rate: int64(k.Cable.Rate), Delay: k.Cable.Delay.RoundNanoseconds(), PeerDelay: k.Cable.PeerDelay.RoundNanoseconds(),
			Needed: int64(k.Needed()), Headroom: int64(k.Headroom), Proved: k.Holds(), Unpaused: k.Unpaused, rate: k.Cable.Rate, delay: k.Cable.Delay,
			Parts: []inFlight{
				{"on the cable, both ways", int64(f.Cable)},
				{"past XOFF: the frame that reaches it", int64(f.PastXOFF)},
				{"while the port sends a frame that PAUSE waits for", int64(f.Sending)},
				{"while the port sends PFC frames", int64(f.PFC)},
				{"the frame that the peer is sending", int64(f.Peer)},
			},
		}
		if k.Fault >= 0 {
			of.Fault = cmp.Or(s.Faults[k.Fault].Name, fmt.Sprintf("faults.%d", k.Fault))
		}
		if k.Response > 0 {
			of.Parts = append(of.Parts, inFlight{"while hardware answers", int64(k.Response)})
		}
		for _, id := range k.Ports {
			of.Ports = append(of.Ports, scenario.PortLabel(plan, id))
		}
		if try {
			incast := headroom.Worst(plan, k.Ports)
			if incast != nil {
				t, err := incast.Try(ctx, s, k.Fault)
				if err != nil {
					return nil, err
				}
				of.Tried = &headroomTest{
					Port: scenario.PortLabel(plan, incast.Port), Receiver: name(incast.Receiver), Through: names(incast.Through), Beside: names(incast.Beside),
					Back: names(incast.Back), Paused: t.Paused, Most: int64(t.Most), XOFF: int64(k.XOFF), Dropped: t.Dropped, VirtualN: t.For.RoundNanoseconds(),
				}
				v.Holds = v.Holds && t.Dropped == 0
			}
		}
		v.Ports = append(v.Ports, of)
	}
	for i := range check.Switches {
		k := &check.Switches[i]
		v.Switches = append(v.Switches, bufferKind{
			Switches: names(k.Nodes), Ports: k.Ports, Buffer: int64(k.Buffer), XOFF: int64(k.XOFF), Headroom: int64(k.Headroom), Proved: k.Margin() >= 0,
		})
	}
	return v, nil
}

// proved is how a check's outcome is said.
func proved(ok bool) string {
	if ok {
		return "proved"
	}
	return "REFUTED"
}

func (v *headroomView) write(w io.Writer) error {
	fmt.Fprintf(w, "%s: can lossless frames be dropped for want of headroom?\n", v.Scenario)
	for i := range v.Ports {
		k := &v.Ports[i]
		by := ""
		if k.Fault != "" {
			by = ", by fault " + k.Fault
		}
		fmt.Fprintf(w, "\n%s (%v, %v%s): %s\n", scenario.Few(k.Ports), k.rate, k.delay, by, proved(k.Proved))
		row := func(bytes int64, what string) { fmt.Fprintf(w, "  %12s  %s\n", units.Bytes(bytes), what) }
		for _, part := range k.Parts {
			row(part.Bytes, part.What)
		}
		row(k.Needed, "in all can be in flight after XOFF")
		row(k.Headroom, "is the headroom")
		if k.Unpaused {
			fmt.Fprintln(w, "  no headroom is enough: hosts send ACK, NAK and CNP although their priority is paused (host.ack_when_paused)")
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
			what = fmt.Sprintf("headroom %v (XOFF is dynamic and takes what is free)", units.Bytes(k.Headroom))
		}
		fmt.Fprintf(w, "%s: %s of %d ports, buffer %v: %s\n", scenario.Few(k.Switches), what, k.Ports, units.Bytes(k.Buffer), proved(k.Proved))
	}
	_, err := fmt.Fprintf(w, "%s: %s\n", v.Scenario, proved(v.Holds))
	return err
}

// write says what was tried, and what came of it.
func (t *headroomTest) write(w io.Writer) {
	fmt.Fprintf(w, "  worst incast for %s: %s by it", t.Port, scenario.Few(t.Through))
	if len(t.Beside) > 0 {
		fmt.Fprintf(w, " and %s", scenario.Few(t.Beside))
	}
	fmt.Fprintf(w, " to %s", t.Receiver)
	if len(t.Back) > 0 {
		fmt.Fprintf(w, ", %s back to %s", scenario.Few(t.Back), t.Through[0])
	}
	fmt.Fprintf(w, "\n  in %v: ", vtime.Time(t.VirtualN)*vtime.Nanosecond)
	switch {
	case !t.Paused:
		fmt.Fprintln(w, "the port never reached XOFF: this traffic does not put it to the test")
	case t.XOFF > 0:
		fmt.Fprintf(w, "at most %v buffered from the port, XOFF %v and %v more; %d lossless frames dropped\n",
			units.Bytes(t.Most), units.Bytes(t.XOFF), units.Bytes(max(0, t.Most-t.XOFF)), t.Dropped)
	default:
		fmt.Fprintf(w, "at most %v buffered from the port; %d lossless frames dropped\n", units.Bytes(t.Most), t.Dropped)
	}
}
