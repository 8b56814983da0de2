//go:build linux

package shell

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/experiments/live"
)

// changeVerbs change the running fabric.
var changeVerbs = []verb{
	{"link", "A [B] down|up|FAULT... [TIME]", "take the links of a node, or between two, down or up, or set loss, " +
		"corruption, delay or rate", fault("link"), completeLink},
	{
		"switch", "SWITCH stop|start [TIME]", "take all links of a switch down, as in a power failure, or up again",
		fault("switch"), completeSwitch,
	},
	{
		"host", "HOST FAULT... [TIME]", "make a host's NIC a slow receiver, or make it inject a PFC storm",
		fault("host"), completeHost,
	},
	{"set", "NODE.SETTING=VALUE", "change a switch's setting, such as leaf0.pfc.xoff=320KB; " +
		"switch.SETTING for all switches", (*Shell).set, completeSet},
}

// details holds additional help of commands.
var details = map[string]string{
	"link": `  link leaf0 spine0 down                   routes change at once; reroute=200us: later; reroute=never: not at all
  link leaf0 spine0 up                     undoes it
  link leaf0 spine0 loss=1% corrupt=0.1%   of frames, both ways; ber=1e-9: bit errors
  link leaf0 spine0 delay=20us rate=10Gbps
  link leaf0 spine0 normal                 as in the topology, and up
  link h0 down 50ms                        all links of h0, for 50 ms of virtual time
`,
	"host": `  host h3 receive=1Gbps                    limits the rate at which it accepts frames; buffer=512KB xoff=256KB xon=128KB
  host h3 receive=normal                   undoes it
  host h3 pfc-storm on                     sends PAUSE of the longest time for the priority of data; on 3,4 interval=50us
  host h3 pfc-storm off                    stops it; the last PAUSE expires
  host h3 normal                           undoes both
`,
	"switch": `  switch spine0 stop                       its links go down, its queues are lost, routes avoid it at once
  switch spine0 start                      links that were up before come up again
`,
	"time": `  time flow h0 h5 10MB
  time h1 ping -c 3 h5
`,
	"noecho": `  noecho h1 login                          at a terminal: typing is hidden
  noecho ping h0 h1                        in a file of lines: the line is not printed
`,
	"xterm": `  xterm h1 h2                              two windows; in tmux, windows of the session
`,
	"iperfudp": `  iperfudp 5Gbps                           from the first host to the last; the rate is of virtual time
  iperfudp 5Gbps h1 h6 10                  for 10 s of wall-clock time
`,
	"set": `  set leaf0.pfc.xoff=320KB
  set switch.pfc.watchdog={detect: 200us, restore: 500us}   on all switches; action: forward sends despite PAUSE
  set switch.pfc.watchdog=off
`,
	"start": `  start              all flows of the scenario that the fabric was brought up from, each at its start time
  start bouncing &   flows with a tag, without waiting for their end
`,
}

// fault returns the function of a verb that changes links, switches or hosts.
func fault(verb string) func(s *Shell, args []string) error {
	return func(s *Shell, args []string) error {
		_, _, err := s.Fabric.Fault(append([]string{verb}, args...))
		if errors.Is(err, live.ErrFaultUsage) {
			return errUsage
		}
		return err
	}
}

func (s *Shell) set(args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	warnings, err := s.Fabric.Set(strings.Join(args, " "))
	for _, text := range warnings {
		fmt.Fprintf(s.Out, "warning: %s\n", text)
	}
	return err
}
