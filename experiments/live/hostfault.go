//go:build linux

package live

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// HostWords are what ChangeHost takes.
var HostWords = []string{"receive=", "buffer=", "xoff=", "xon=", "pause-flood", "normal"}

// ChangeHost changes a host's NIC: receive=1Gbps (with buffer=, xoff=, xon=) makes it a slow receiver, receive=normal a healthy one;
// pause-flood on (with priorities such as 3,4 and interval=50us) has it flood its switch with PAUSE, pause-flood off ends that; normal
// undoes both.
func (f *Fabric) ChangeHost(name string, words []string) error {
	n, err := f.Host(name)
	if err != nil {
		return err
	}
	var change func(e *orchestrator.Engine) error
	key := ""
	if len(words) > 0 {
		key, _, _ = strings.Cut(words[0], "=")
	}
	switch key {
	case "receive":
		change, err = receive(n.Index, words)
	case "pause-flood":
		change, err = f.flood(n, words[1:])
	case "normal":
		if len(words) > 1 {
			err = fmt.Errorf("%s: normal stands alone", words[1])
		}
		change = func(e *orchestrator.Engine) error {
			if err := e.SetReceiver(n.Index, nil); err != nil || f.Made.Scenario.Switch.FlowControl == switchagent.FlowCBFC {
				return err // under credits nobody floods
			}
			return e.SetPauseFlood(n.Index, 0, 0)
		}
	default:
		err = fmt.Errorf("%q is nothing that a host can be: write receive=1Gbps, receive=normal, pause-flood on, pause-flood off or normal", key)
	}
	if err != nil {
		return err
	}
	return f.Do(change)
}

// receive reads receive=RATE [buffer=SIZE] [xoff=SIZE] [xon=SIZE], with the defaults of scenarios.
func receive(host int, words []string) (func(e *orchestrator.Engine) error, error) {
	if words[0] == "receive=normal" && len(words) == 1 {
		return func(e *orchestrator.Engine) error { return e.SetReceiver(host, nil) }, nil
	}
	r := orchestrator.Receiver{Buffer: 512 * units.KB, XOFF: -1, XON: -1}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch key {
		case "receive":
			r.Rate, err = units.ParseRate(value)
		case "buffer":
			r.Buffer, err = units.ParseBytes(value)
		case "xoff":
			r.XOFF, err = units.ParseBytes(value)
		case "xon":
			r.XON, err = units.ParseBytes(value)
		default:
			err = errors.New("a slow receiver has buffer=, xoff= and xon=")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
	}
	if r.XOFF < 0 {
		r.XOFF = r.Buffer / 2
	}
	if r.XON < 0 {
		r.XON = r.XOFF / 2
	}
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(words, " "), err)
	}
	return func(e *orchestrator.Engine) error { return e.SetReceiver(host, &r) }, nil
}

// flood reads on [3,4] [interval=50us], or off.
func (f *Fabric) flood(host *topologies.Node, words []string) (func(e *orchestrator.Engine) error, error) {
	if len(words) == 1 && words[0] == "off" {
		return func(e *orchestrator.Engine) error { return e.SetPauseFlood(host.Index, 0, 0) }, nil
	}
	if len(words) == 0 || words[0] != "on" {
		return nil, fmt.Errorf("write: host %s pause-flood on [PRIORITIES] [interval=TIME], or host %s pause-flood off", host.Name, host.Name)
	}
	priorities := uint8(1) << f.Made.Scenario.Host.DataPriority
	interval := vtime.Time(0)
	for _, word := range words[1:] {
		var err error
		if value, found := strings.CutPrefix(word, "interval="); found {
			if interval, err = units.ParseTime(value); err == nil && interval < vtime.Microsecond {
				err = fmt.Errorf("%v between PAUSEs is below 1us", interval)
			}
		} else {
			priorities, err = parsePriorities(word)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
	}
	return func(e *orchestrator.Engine) error {
		every := interval
		if every == 0 {
			every = wire.PauseTime(wire.PauseMax, e.Wire(int(host.Ports[0])).Rate) / 2
		}
		return e.SetPauseFlood(host.Index, priorities, every)
	}, nil
}

// parsePriorities reads priorities such as 3 or 3,4.
func parsePriorities(s string) (set uint8, err error) {
	for _, word := range strings.Split(strings.Trim(s, "[]"), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 0 || n >= switchagent.Priorities {
			return 0, fmt.Errorf("priorities are 0 to 7, such as 3 or 3,4")
		}
		set |= 1 << n
	}
	return set, nil
}

// parseProbability reads 1% or 0.01.
func parseProbability(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	p, err := strconv.ParseFloat(number, 64)
	if percent {
		p /= 100
	}
	if err != nil || !(p >= 0 && p <= 1) {
		return 0, fmt.Errorf("a probability such as 1%% or 0.01, at most 100%%")
	}
	return p, nil
}
