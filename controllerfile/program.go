package controllerfile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// MostRate limits the rate that a program may set, in bits per second: no line is faster.
const MostRate = 10e12

// Handler identifies a function of a program that the NIC calls.
type Handler uint8

// Handlers, and their number.
const (
	Init Handler = iota
	Preset
	OnAck
	OnCNP
	OnCNM
	OnNak
	OnTimeout
	OnTimer
	OnSent
	HandlerCount
)

var handlerNames = [HandlerCount]string{
	"init", "preset", "on_ack", "on_cnp", "on_cnm", "on_nak", "on_timeout",
	"on_timer", "on_sent",
}

// String returns the handler's name in programs.
func (h Handler) String() string { return handlerNames[h] }

// HandlerNames returns the handlers' names in programs.
func HandlerNames() []string { return handlerNames[:] }

// Misspelt returns the handler that a name differs from in case and underscores only, such as onAck; empty for none.
func Misspelt(name string) (handler string) {
	fold := func(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }
	for _, h := range handlerNames {
		if h != name && fold(h) == fold(name) {
			return h
		}
	}
	return ""
}

// IsHandler reports whether the NIC calls functions of this name.
func IsHandler(name string) bool { return slices.Contains(handlerNames[:], name) }

// Handlers represents a set of handlers.
type Handlers uint16

// Has reports whether the set contains h.
func (s Handlers) Has(h Handler) bool { return s>>h&1 != 0 }

// With returns the set with h added.
func (s Handlers) With(h Handler) Handlers { return s | 1<<h }

// Declaration holds a program's declarations.
type Declaration struct {
	Summary, Source string
	Needs           cc.SwitchNeeds
	Departure       cc.Departure
	HasWindow       bool
	Parameters      []cc.Parameter
	Handlers        Handlers
	Warnings        []string // likely mistakes in a valid program, with their positions
}

// Program represents a parsed program of a congestion controller.
type Program interface {
	// Declares returns its declarations.
	Declares() *Declaration
	// Bind prepares the program for the flows of an Env, with resolved constants. The error is an *Error.
	Bind(env cc.Env, set *cc.Settings) (Bound, error)
}

// Reader parses a program. name is the file's name, for messages. The error joins *Errors.
type Reader func(name string, content []byte) (Program, error)

var readers = map[string]Reader{} // by extension

// Register adds the language of the files with an extension, such as ".star". The language's package calls it from
// init.
func Register(extension string, read Reader) { readers[extension] = read }

// Extensions returns the extensions of the files that this program can read, sorted and without the dot.
func Extensions() (all []string) {
	for end := range readers {
		all = append(all, end[1:])
	}
	slices.Sort(all)
	return all
}

// Bound represents a program with the constants of an Env. Flows share it, and may call it concurrently, each from one
// goroutine.
type Bound interface {
	// Flow returns a new flow after the program's init. The error is an *Error.
	Flow(env cc.Env) (Flow, error)
}

// Flow holds the state of one flow. Its methods are those of cc.Controller, and are only called if the program has the
// handler. Each error is an *Error.
type Flow interface {
	// Answer returns the program's decisions after the last call. The pointer stays valid for the flow's lifetime.
	Answer() *Answer

	Ack(s *cc.Sample) error
	CNP(s *cc.Sample) error
	CNM(s *cc.Sample) error
	Nak(now vtime.Time) error
	Timeout(now vtime.Time) error
	Timer(now vtime.Time) error
	Sent(now vtime.Time, payload int) error
	Preset(now vtime.Time, rate float64) error
}

// Answer holds a flow's decisions. Languages set valid values only, by Answer.SetRate and its like.
type Answer struct {
	Rate   float64    // bits per second of line time
	Window int64      // payload bytes; 0 means no window
	Timer  vtime.Time // time of the next call of Timer; vtime.Never for none
	Moves  bool       // under cc.DepartureMovesInWindow: a change of the rate moves a departure now

	Metered bool   // Steps is needed
	Steps   uint64 // steps of the last call, in the language's count
}

// Meter counts and limits the steps of a program's calls, because a limit per call does not end a run of many long
// calls. Steps are equal on any machine.
type Meter struct {
	MostSteps uint64             // limit on the steps of all calls of a flow beyond FreeSteps each; 0 for none
	FreeSteps uint64             // steps of a call that do not count towards MostSteps
	Took      func(steps uint64) // called after each call of any flow, possibly concurrently
	// OwnClock makes the times that a flow sees begin at its own start, so that no program can follow a timetable of
	// the run.
	OwnClock bool
}

// SetRate sets the rate, or returns why it is invalid.
func (a *Answer) SetRate(rate float64) error {
	switch {
	case math.IsNaN(rate):
		return fmt.Errorf("the rate would be NaN, which is not a number (from 0/0 or inf - inf)")
	case rate <= 0:
		return fmt.Errorf("the rate would be %g bps, but must be above 0 (keep a minimum, as with max(rate, 10 Mbps))", rate)
	case rate > MostRate:
		return fmt.Errorf("the rate would be %g bps, above the limit of %v (rates are in bits per second)", rate,
			units.Rate(MostRate))
	}
	a.Rate = rate
	return nil
}

// SetWindow sets the window in bytes, rounded down, or returns why it is invalid.
func (a *Answer) SetWindow(window float64) error {
	switch {
	case math.IsNaN(window):
		return fmt.Errorf("the window would be NaN, which is not a number (from 0/0 or inf - inf)")
	case window < 0:
		return fmt.Errorf("the window would be %g B, but cannot be negative (it is in bytes of payload; 0 means no window)",
			window)
	case window > 1<<53:
		return fmt.Errorf("the window would be %g B (windows are in bytes of payload)", window)
	}
	a.Window = int64(window)
	return nil
}

// SetTimer sets the timer in picoseconds, or returns why it is invalid; infinity means none.
func (a *Answer) SetTimer(at float64) error {
	switch {
	case math.IsNaN(at):
		return fmt.Errorf("the timer would be NaN, which is not a number (from 0/0 or inf - inf)")
	case math.IsInf(at, 1):
		a.Timer = vtime.Never
		return nil
	case at < 0 || at > 1<<53:
		return fmt.Errorf("the timer would be at %g ps (it is a time of the run, such as now plus 55 us)", at)
	}
	a.Timer = vtime.Time(at)
	return nil
}

// Constant returns the value of a parameter: a number, in b/s, ps or bytes if it has a unit; a bool, or a choice's
// text.
func Constant(set *cc.Settings, p *cc.Parameter) any {
	switch p.Kind {
	case cc.RateKind:
		return set.Rate(p.Name)
	case cc.TimeKind:
		return float64(set.Time(p.Name))
	case cc.SizeKind:
		return float64(set.Size(p.Name))
	case cc.IntegerKind:
		return float64(set.Integer(p.Name))
	case cc.FlagKind:
		return set.Flag(p.Name)
	case cc.ChoiceKind:
		return set.Choice(p.Name)
	default:
		return set.Number(p.Name)
	}
}

// Number returns the value of a parameter as a number: 0 or 1 for a flag, the index for a choice.
func Number(set *cc.Settings, p *cc.Parameter) float64 {
	switch v := Constant(set, p).(type) {
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	default:
		return float64(slices.Index(p.Choices, set.Choice(p.Name)))
	}
}

// Error describes a mistake in a program.
type Error struct {
	File         string
	Line, Column int    // counted from 1; 0 if unknown
	Function     string // the function with the mistake; empty if none
	Message      string
	Trace        string // calls, for debugging; empty if none
}

func (e *Error) Error() string {
	position := e.File
	if e.Line > 0 {
		position += fmt.Sprintf(":%d", e.Line)
		if e.Column > 0 {
			position += fmt.Sprintf(":%d", e.Column)
		}
	}
	if e.Function != "" {
		position += ": in " + e.Function
	}
	return position + ": " + e.Message
}

// Details marks a panic with this value as a mistake in a controller's file, not in Go. It returns the message and the
// trace, which replace the stack.
func (e *Error) Details() string { return e.Error() + "\n" + e.Trace }

// Spec returns a congestion controller that runs a program. name is the file's name, without its folder; content is
// the whole file. meter may be nil.
func Spec(name string, content []byte, p Program, meter *Meter) *cc.Spec {
	d := p.Declares()
	sum := sha256.Sum256(content)
	spec := cc.Spec{
		Name: name, Summary: d.Summary, Source: d.Source, Needs: d.Needs, Departure: d.Departure, HasWindow: d.HasWindow,
		Parameters: d.Parameters,
		File:       &cc.File{Name: name, SHA256: hex.EncodeToString(sum[:]), Content: content, Warnings: d.Warnings},
	}
	spec.Summary = cmp.Or(spec.Summary, "from the file "+name)
	spec.Source = cmp.Or(spec.Source, "the file "+name)
	type bound struct{ Bound }
	common := &shared{handlers: d.Handlers, departure: d.Departure, file: name, meter: meter}
	return cc.Define(spec, func(env cc.Env, set *cc.Settings) (*bound, error) {
		b, err := p.Bind(env, set)
		return &bound{b}, err
	}, func(env cc.Env, b *bound) (cc.Controller, error) {
		flow, err := b.Flow(env)
		if err != nil {
			return nil, err
		}
		flow.Answer().Metered = meter != nil
		c := &controller{Flow: flow, answer: flow.Answer(), shared: common, line: float64(env.LineRate)}
		if meter != nil && meter.OwnClock {
			return &ownClock{controller: c}, nil
		}
		return c, nil
	})
}

// shared holds the data that all flows of a program share.
type shared struct {
	handlers  Handlers
	departure cc.Departure
	file      string
	meter     *Meter
}

// controller adapts a flow to cc.Controller. There may be millions.
type controller struct {
	Flow
	answer *Answer
	*shared
	line  float64
	steps uint64 // sum over all calls of those that count, if there is a meter
}

// took ends a call: it handles its error, and counts its steps.
func (c *controller) took(err error) {
	if err != nil {
		panic(err)
	}
	if m := c.meter; m != nil {
		m.Took(c.answer.Steps)
		if c.answer.Steps > m.FreeSteps {
			c.steps += c.answer.Steps - m.FreeSteps
		}
		if m.MostSteps > 0 && c.steps > m.MostSteps {
			each := ""
			if m.FreeSteps > 0 {
				each = fmt.Sprintf(" beyond %d for each call", m.FreeSteps)
			}
			panic(&Error{File: c.file, Message: fmt.Sprintf(
				"the calls of a flow have taken more than %d steps in all%s, the most allowed (do less in each)",
				m.MostSteps, each)})
		}
	}
}

// Rate returns the program's rate.
func (c *controller) Rate() float64 { return c.answer.Rate }

// Retimes returns the program's declaration.
func (c *controller) Retimes() bool {
	switch c.departure {
	case cc.DepartureMoves:
		return true
	case cc.DepartureMovesInWindow:
		return c.answer.Moves
	}
	return false
}

// Window returns the program's window.
func (c *controller) Window() int64 { return c.answer.Window }

// OnSent calls on_sent.
func (c *controller) OnSent(now vtime.Time, payload int) {
	if c.handlers.Has(OnSent) {
		c.took(c.Sent(now, payload))
	}
}

// OnAck calls on_ack.
func (c *controller) OnAck(s *cc.Sample) {
	if c.handlers.Has(OnAck) {
		c.took(c.Ack(s))
	}
}

// OnCNP calls on_cnp.
func (c *controller) OnCNP(s *cc.Sample) {
	if c.handlers.Has(OnCNP) {
		c.took(c.CNP(s))
	}
}

// OnCNM calls on_cnm.
func (c *controller) OnCNM(s *cc.Sample) {
	if c.handlers.Has(OnCNM) {
		c.took(c.CNM(s))
	}
}

// OnNak calls on_nak.
func (c *controller) OnNak(now vtime.Time) {
	if c.handlers.Has(OnNak) {
		c.took(c.Nak(now))
	}
}

// OnTimeout calls on_timeout.
func (c *controller) OnTimeout(now vtime.Time) {
	if c.handlers.Has(OnTimeout) {
		c.took(c.Timeout(now))
	}
}

// Deadline returns the program's timer.
func (c *controller) Deadline() vtime.Time { return c.answer.Timer }

// OnTimer calls on_timer. The timer has expired: the program sets a new one, or none.
func (c *controller) OnTimer(now vtime.Time) {
	if now < c.answer.Timer {
		return
	}
	c.answer.Timer = vtime.Never
	if c.handlers.Has(OnTimer) {
		c.took(c.Timer(now))
	}
	if c.answer.Timer <= now {
		panic(&Error{
			File: c.file, Function: "on_timer",
			Message: fmt.Sprintf("it leaves the timer at %v, which is not after now, %v: time would stand still", c.answer.Timer,
				now),
		})
	}
}

// Preset calls preset, or sets the rate if there is no preset.
func (c *controller) Preset(now vtime.Time, rate float64) {
	if c.handlers.Has(Preset) {
		c.took(c.Flow.Preset(now, rate))
	} else if rate > 0 {
		c.answer.Rate = min(rate, c.line)
	}
}
