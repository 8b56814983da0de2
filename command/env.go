package command

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/env"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/machine"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

type envFlags struct {
	interval   string
	events     bool
	hops       int
	count      int
	processors int
	sets       []string
	quick      bool
}

// newEnvCommand returns the internal command that the Python package starts for its environments.
func newEnvCommand() *cobra.Command {
	var f envFlags
	c := &cobra.Command{
		Use:    "env SCENARIO",
		Short:  "Run episodes for agents (internal: pausenet.env in Python starts it; docs/env.md has the protocol)",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(c *cobra.Command, args []string) error {
			if err := errors.Join(atLeastOne(c.Flags(), "count"), atLeastOne(c.Flags(), "processors")); err != nil {
				return err
			}
			return f.run(args[0], os.Stdin, os.Stdout)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.interval, "interval", "10us", "virtual `time` of a step")
	flags.BoolVar(&f.events, "events", false, "end a step at the next event of a flow, not after an interval")
	flags.IntVar(&f.hops, "hops", 0, "`number` of hops whose telemetry (INT) is observed")
	flags.IntVar(&f.count, "count", 1, "`number` of environments")
	flags.IntVar(&f.processors, "processors", runtime.NumCPU(), "`number` of processors")
	flags.BoolVar(&f.quick, "quick", false, "use the quick form of a long scenario")
	setFlag(c, &f.sets)
	completeNothing(c, "interval", "hops", "count", "processors")
	return c
}

// mostEnvironments limits the environments of a process.
const mostEnvironments = 1024

// envHello is the first line of the output.
type envHello struct {
	Scenario   string        `json:"scenario"`
	Agents     int           `json:"agents"`      // of each environment
	IntervalPS vtime.Time    `json:"interval_ps"` // 0: a step ends at an event
	DurationPS vtime.Time    `json:"duration_ps"`
	Features   []env.Feature `json:"features"`
	Events     []string      `json:"events"`
	LeastRate  float64       `json:"least_rate"`
	Declares   string        `json:"declares"` // the head of a controller file
}

func (f *envFlags) run(name string, in io.Reader, out io.Writer) error {
	interval, err := units.ParseTime(f.interval)
	if err != nil {
		return badInput(fmt.Errorf("--interval: %w", err))
	}
	if f.events {
		interval = 0
	} else if interval <= 0 {
		return badInput(fmt.Errorf("--interval %s: expected a time above 0", f.interval))
	}
	if f.count > mostEnvironments {
		return badInput(fmt.Errorf("--count %d: expected 1 to %d", f.count, mostEnvironments))
	}
	reading := scenario.Reading{Memory: machine.AvailableMemory(), Quick: f.quick, Sets: f.sets}
	e, err := env.Read(name, env.Options{Interval: interval, Hops: f.hops}, reading)
	if err != nil {
		return badInput(err)
	}
	if _, given := os.LookupEnv("GOGC"); !given {
		debug.SetGCPercent(servedGCPercent)
	}
	runtime.GOMAXPROCS(min(f.processors, runtime.NumCPU())) // more would only wait for each other
	hello, err := json.Marshal(envHello{
		e.Scenario.Name, e.Agents, e.Interval, e.Scenario.Duration, e.Features(), env.EventNames, env.LeastRate,
		e.Declarations(),
	})
	if err != nil {
		return err
	}
	if _, err := out.Write(append(hello, '\n')); err != nil {
		return err
	}
	v := env.NewVector(e, f.count)
	defer v.Close()
	return f.exchange(v, bufio.NewReaderSize(in, 1<<16), out)
}

// exchange answers requests until their end. All numbers are little-endian.
//
// A request has, for each environment, an operation (a byte, see package env) and a seed (8 bytes), then the rates of
// all agents (float32). A reply has the length of an error message, 0 for none (8 bytes), and the message. Without one
// it has, for each environment, its time in ns (float64); then the observations of all agents (float32), their states
// (a byte each) and events (a byte each), and for each environment whether its episode is over (a byte).
func (f *envFlags) exchange(v *env.Vector, in io.Reader, out io.Writer) error {
	request := make([]byte, len(v.Operations)*9+len(v.Rates)*4)
	reply := []byte{}
	for {
		if _, err := io.ReadFull(in, request); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return &exitError{exitEnvironment, fmt.Errorf("read a request: %w", err)}
		}
		at := copy(v.Operations, request)
		for i := range v.Seeds {
			v.Seeds[i] = binary.LittleEndian.Uint64(request[at:])
			at += 8
		}
		for i := range v.Rates {
			v.Rates[i] = math.Float32frombits(binary.LittleEndian.Uint32(request[at:]))
			at += 4
		}
		err := v.Proceed()
		reply = reply[:0]
		if err != nil {
			reply = binary.LittleEndian.AppendUint64(reply, uint64(len(err.Error())))
			_, _ = out.Write(append(reply, err.Error()...))
			return runError(err)
		}
		reply = binary.LittleEndian.AppendUint64(reply, 0)
		for _, now := range v.Times {
			reply = binary.LittleEndian.AppendUint64(reply, math.Float64bits(now.Seconds()*1e9))
		}
		for _, x := range v.Observations {
			reply = binary.LittleEndian.AppendUint32(reply, math.Float32bits(x))
		}
		for _, s := range v.States {
			reply = append(reply, byte(s))
		}
		reply = append(append(reply, v.Events...), v.Over...)
		if _, err := out.Write(reply); err != nil {
			return &exitError{exitEnvironment, fmt.Errorf("write a reply: %w", err)}
		}
	}
}
