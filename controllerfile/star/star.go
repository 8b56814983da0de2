package star

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/vtime"
)

// MostSource limits the bytes of a file.
const MostSource = 64 << 10

// options selects the language's features.
var options = &syntax.FileOptions{While: true}

// arguments lists the parameter names of handlers.
var arguments = [controllerfile.HandlerCount]string{
	controllerfile.Init: "flow", controllerfile.Preset: "flow, now, rate",
	controllerfile.OnAck: "flow, ack", controllerfile.OnCNP: "flow, cnp", controllerfile.OnCNM: "flow, cnm",
	controllerfile.OnNak:     "flow, now",
	controllerfile.OnTimeout: "flow, now", controllerfile.OnTimer: "flow, now",
	controllerfile.OnSent: "flow, now, payload",
}

// source holds a file during and after parsing.
type source struct {
	name     string
	content  []byte
	declared controllerfile.Declaration
	handlers map[string]*syntax.DefStmt
	reads    map[string]bool // attributes that the program reads
	slots    slots
	loops    []loop
	problems []error
}

func init() { controllerfile.Register(".star", Read) }

// Read parses a program. name is the file's, for messages. The error joins *controllerfile.Errors: every mistake that
// can be found without running the program.
func Read(name string, content []byte) (controllerfile.Program, error) {
	s := newSource(name, content)
	if len(content) > MostSource {
		return nil, &controllerfile.Error{
			File: name,
			Message: fmt.Sprintf("has %d bytes, but a controller may have at most %d",
				len(content),
				MostSource),
		}
	}
	file, err := s.parse()
	if err != nil {
		return nil, err
	}
	if len(file.Stmts) == 0 {
		return nil, &controllerfile.Error{
			File: name,
			Message: "is empty: a controller needs init(flow), which sets flow.rate, " +
				"and functions such as on_ack(flow, ack)",
		}
	}
	s.scan(file)
	s.loops = loopsOf(file)
	s.functions(file)
	s.outer(file)
	first := file.Stmts[0]
	file.Stmts = s.declare(file)
	if len(s.problems) > 0 {
		return nil, errors.Join(s.problems...)
	}
	if _, ok := s.handlers["init"]; !ok {
		s.errorf(first, "init is missing: def init(flow): flow.rate = path.line_rate sets the rate of new flows")
		return nil, errors.Join(s.problems...)
	}
	// The rest is the same whatever the constants are.
	set := func(object, name string) (any, bool) {
		if object == "path" {
			return pathConstant(&cc.Env{}, name)
		}
		for i := range s.declared.Parameters {
			if p := &s.declared.Parameters[i]; p.Name == name {
				return map[cc.Kind]any{cc.FlagKind: true, cc.ChoiceKind: ""}[p.Kind], true
			}
		}
		return nil, false
	}
	if _, err := s.compile(func(object, name string) (any, bool) {
		v, ok := set(object, name)
		if ok && v == nil {
			v = 1.0
		}
		return v, ok
	}); err != nil {
		return nil, err
	}
	s.warn(file)
	return s, nil
}

func newSource(name string, content []byte) *source {
	s := &source{
		name: name, content: content, handlers: map[string]*syntax.DefStmt{}, reads: map[string]bool{},
		slots: slots{},
	}
	s.declared.Departure = cc.DepartureStays
	return s
}

// Declares returns the file's declarations.
func (s *source) Declares() *controllerfile.Declaration { return &s.declared }

func (s *source) parse() (*syntax.File, error) {
	file, err := options.Parse(s.name, s.content, 0)
	var mistake syntax.Error
	if errors.As(err, &mistake) {
		return nil, s.syntaxMistake(mistake)
	}
	return file, err
}

func (s *source) at(pos syntax.Position, message string) error {
	return &controllerfile.Error{File: s.name, Line: int(pos.Line), Column: int(pos.Col), Message: message}
}

// scan collects the attributes in the file, and which of them the program sets.
func (s *source) scan(file *syntax.File) {
	set := func(e syntax.Expr) {}
	set = func(e syntax.Expr) {
		switch e := e.(type) {
		case *syntax.ParenExpr:
			set(e.X)
		case *syntax.TupleExpr:
			for _, e := range e.List {
				set(e)
			}
		case *syntax.ListExpr:
			for _, e := range e.List {
				set(e)
			}
		case *syntax.DotExpr:
			switch name := e.Name.Name; name {
			case windowName:
				s.declared.HasWindow = true
			case rateName, timerName, movesName:
			default:
				if _, there := s.slots[name]; !there {
					s.slots[name] = len(s.slots)
				}
			}
		}
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			set(n.LHS)
		case *syntax.ForStmt:
			set(n.Vars)
		case *syntax.ForClause:
			set(n.Vars)
		case *syntax.DotExpr:
			s.reads[n.Name.Name] = true
		}
		return true
	})
}

// functions finds the handlers.
func (s *source) functions(file *syntax.File) {
	names := controllerfile.HandlerNames()
	for _, stmt := range file.Stmts {
		def, ok := stmt.(*syntax.DefStmt)
		if !ok {
			continue
		}
		at := slices.Index(names, def.Name.Name)
		if at < 0 {
			if strings.HasPrefix(def.Name.Name, "on_") || controllerfile.Misspelt(def.Name.Name) != "" {
				s.errorf(def.Name, "%s is never called: the functions that are called are %s%s", def.Name.Name,
					strings.Join(names, ", "),
					cc.Nearest(def.Name.Name, names))
			}
			continue
		}
		h, takes := controllerfile.Handler(at), arguments[at]
		if n := len(strings.Split(takes, ", ")); len(def.Params) != n {
			s.errorf(def.Name, "%v is called with (%s): it needs %d parameters, not %d", h, takes, n, len(def.Params))
		}
		s.handlers[h.String()] = def
		s.declared.Handlers = s.declared.Handlers.With(h)
	}
}

// compile compiles the program for some constants.
func (s *source) compile(constant func(object, name string) (any, bool)) (*starlark.Program, error) {
	file, err := s.parse()
	if err != nil {
		return nil, err
	}
	own := *s // problems and needs have been reported already
	own.problems = nil
	own.declared.Parameters, own.declared.Needs = nil, cc.SwitchNeeds{}
	file.Stmts = own.declare(file)
	own.problems = nil
	d := &dialect{source: &own, constant: constant}
	d.stmts(file.Stmts)
	if len(own.problems) > 0 {
		return nil, errors.Join(own.problems...)
	}
	program, err := starlark.FileProgram(file, builtins.Has)
	var mistakes resolve.ErrorList
	if errors.As(err, &mistakes) {
		all := lists.Map(mistakes, func(m resolve.Error) error { return s.at(m.Pos, unresolved(m.Msg)) })
		return nil, errors.Join(all...)
	}
	return program, err
}

// unresolved returns advice on a message of the resolver.
func unresolved(message string) string {
	name, ok := strings.CutPrefix(message, "undefined: ")
	if !ok {
		return message
	}
	name, _, _ = strings.Cut(name, " ")
	return missing(name)
}

// missing returns advice on an undefined name.
func missing(name string) string {
	var names []string
	for builtin := range builtins {
		if builtin != itemsName && builtin != listName {
			names = append(names, builtin)
		}
	}
	for unit := range unitNames {
		names = append(names, unit)
	}
	slices.Sort(names)
	switch {
	case name == "math":
		return "math is not available: sqrt, floor, ceil, round, abs, min and max are built in"
	case slices.Contains([]string{"exp", "log", "log2", "log10", "pow", "sin", "cos", "tanh"}, name):
		return name +
			" is not available, because its last bits differ between processors: use sqrt, products, or a list of " +
			"values to look up"
	case name == "print":
		return "print is not available: rates.csv has the flow's rate over time, and fail(\"here\", x) ends " +
			"the run and prints x"
	case pathNamed(name):
		return fmt.Sprintf("unknown name %s: use path.%s", name, name)
	case name == "time" || name == "open" || name == "os" || name == "random":
		return name + ": a controller cannot use files, clocks or random numbers: the functions get now as an argument"
	}
	return fmt.Sprintf("unknown name %s: a flow's state is flow.%s, a parameter is params.%s%s", name, name,
		name, cc.Nearest(name, names))
}

// Bind compiles the program for the constants of an Env.
func (s *source) Bind(env cc.Env, set *cc.Settings) (controllerfile.Bound, error) {
	program, err := s.compile(func(object, name string) (any, bool) {
		if object == "path" {
			return pathConstant(&env, name)
		}
		for i := range s.declared.Parameters {
			if p := &s.declared.Parameters[i]; p.Name == name {
				return controllerfile.Constant(set, p), true
			}
		}
		return nil, false
	})
	if err != nil {
		return nil, err
	}
	thread := newThread(mostLoading)
	globals, err := program.Init(thread, builtins)
	if err != nil {
		return nil, s.failed(err, "")
	}
	globals.Freeze()
	b := &bound{source: s}
	for h := range controllerfile.HandlerCount {
		b.functions[h], _ = globals[h.String()].(*starlark.Function)
	}
	return b, nil
}

func newThread(steps uint64) *starlark.Thread {
	thread := new(starlark.Thread)
	thread.SetMaxExecutionSteps(steps)
	thread.SetLocal(accountName, new(account))
	return thread
}

// bound holds a program with the constants of an Env.
type bound struct {
	*source
	functions [controllerfile.HandlerCount]*starlark.Function
}

// Flow returns a new flow.
func (b *bound) Flow(cc.Env) (controllerfile.Flow, error) {
	f := &flow{bound: b, thread: newThread(mostSteps)}
	f.account = f.thread.Local(accountName).(*account)
	f.value.names, f.value.values = b.slots, make([]starlark.Value, len(b.slots))
	f.value.answer.Timer = vtime.Never
	f.args[0] = &f.value
	if err := f.call(controllerfile.Init, 1); err != nil {
		return nil, err
	}
	if f.value.answer.Rate == 0 {
		start, _ := b.handlers["init"].Span()
		return nil, &controllerfile.Error{
			File: b.name, Line: int(start.Line), Function: "init",
			Message: "it does not set flow.rate, so no packet can leave: flow.rate = path.line_rate",
		}
	}
	return f, nil
}

// flow holds the state of one flow.
type flow struct {
	*bound
	thread  *starlark.Thread
	account *account
	value   flowValue
	sample  sampleValue
	args    [3]starlark.Value
	// telemetry of earlier ACKs; nil before the first, and if the program does not read it
	telemetry *controllerfile.Telemetry
}

// Answer returns the flow's rate, window and timer.
func (f *flow) Answer() *controllerfile.Answer { return &f.value.answer }

// call calls a handler with the first n of args.
func (f *flow) call(handler controllerfile.Handler, n int) error {
	f.thread.Steps = 0
	f.account.call = 0
	_, err := starlark.Call(f.thread, f.functions[handler], f.args[:n:n], nil)
	f.value.answer.Steps = f.thread.Steps
	if err == nil && f.account.kept > mostKept {
		f.account.kept = count(f.value.values, mostKept)
		if f.account.kept > mostKept {
			err = fmt.Errorf("the flow keeps more than %d items in lists: remove old ones with pop(0) or clear", mostKept)
		}
		f.account.kept /= 2 // counting again is for as many items more
	}
	if err != nil {
		return f.failed(err, handler.String())
	}
	return nil
}

func (f *flow) notify(handler controllerfile.Handler, kind string, s *cc.Sample) error {
	f.sample.of, f.sample.kind = s, kind
	f.args[1] = &f.sample
	return f.call(handler, 2)
}

func (f *flow) when(handler controllerfile.Handler, now vtime.Time) error {
	f.args[1] = starlark.Float(now)
	return f.call(handler, 2)
}

// Ack calls on_ack.
func (f *flow) Ack(s *cc.Sample) error {
	f.sample.hops = nil
	if len(s.Hops) > 0 && f.reads["hops"] {
		if f.telemetry == nil {
			f.telemetry = new(controllerfile.Telemetry)
		}
		f.sample.hops = f.telemetry.Read(s)
	}
	return f.notify(controllerfile.OnAck, "ACK", s)
}

func (f *flow) CNP(s *cc.Sample) error       { return f.notify(controllerfile.OnCNP, "CNP", s) }
func (f *flow) CNM(s *cc.Sample) error       { return f.notify(controllerfile.OnCNM, "CNM", s) }
func (f *flow) Nak(now vtime.Time) error     { return f.when(controllerfile.OnNak, now) }
func (f *flow) Timeout(now vtime.Time) error { return f.when(controllerfile.OnTimeout, now) }
func (f *flow) Timer(now vtime.Time) error   { return f.when(controllerfile.OnTimer, now) }

func (f *flow) Sent(now vtime.Time, payload int) error {
	f.args[1], f.args[2] = starlark.Float(now), starlark.Float(payload)
	return f.call(controllerfile.OnSent, 3)
}

func (f *flow) Preset(now vtime.Time, rate float64) error {
	f.args[1], f.args[2] = starlark.Float(now), starlark.Float(rate)
	return f.call(controllerfile.Preset, 3)
}

// failed turns the interpreter's error into a controllerfile.Error.
func (s *source) failed(err error, handler string) error {
	e := &controllerfile.Error{File: s.name, Function: handler, Message: err.Error()}
	if def := s.handlers[handler]; def != nil { // until the interpreter gives a position
		start, _ := def.Span()
		e.Line = int(start.Line)
	}
	var eval *starlark.EvalError
	if errors.As(err, &eval) {
		e.Message = explain(eval.Msg)
		e.Trace = eval.CallStack.String()
		spinning := strings.Contains(eval.Msg, "too many steps")
		for i := range eval.CallStack {
			frame := eval.CallStack.At(i)
			if frame.Pos.Filename() != s.name {
				continue
			}
			if e.Column == 0 {
				e.Line, e.Column, e.Function = int(frame.Pos.Line), int(frame.Pos.Col), frame.Name
			}
			if !spinning {
				break
			}
			if l := s.spinning(frame.Name, frame.Pos.Line); l != nil {
				e.Line, e.Column, e.Function = int(l.start.Line), int(l.start.Col), frame.Name
				break
			}
		}
		if e.Function == "<toplevel>" {
			e.Function = ""
		}
	}
	return e
}

// explain adds advice to a message of the interpreter.
func explain(message string) string {
	switch {
	case strings.Contains(message, "too many steps"):
		return fmt.Sprintf("the call has taken %d steps: is there an endless loop?", mostSteps)
	case strings.HasSuffix(message, "called recursively"):
		return message + ": a function cannot call itself; use a loop"
	case strings.Contains(message, "division by zero"), strings.Contains(message, "modulo by zero"):
		return message + ": make sure that the divisor is not 0"
	case strings.HasPrefix(message, "float has no "):
		return strings.Replace(message, "float", "a number", 1)
	case !strings.HasPrefix(message, "unknown binary op: ") && !strings.HasSuffix(message, " not implemented"):
	case strings.Contains(message, "NoneType"):
		return message + ": None is no number (a function without return gives None)"
	case strings.Contains(message, "list"):
		return message + ": a list is no number (len(l), sum(l) and l[0] are)"
	}
	return message
}
