package star

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/syntax"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/hostagent/cc"
)

// declarations lists the names at the top of a file that declare properties of the controller and belong to no code.
var declarations = []string{"params", "needs", "summary", "source", "departure"}

// kinds lists the constructors of parameters.
var kinds = map[string]cc.Kind{
	"rate": cc.RateKind, "time": cc.TimeKind, "size": cc.SizeKind, "number": cc.NumberKind, "integer": cc.IntegerKind,
	"flag": cc.FlagKind, "choice": cc.ChoiceKind,
}

// departures lists the values of departure.
var departures = map[string]cc.Departure{
	"stays": cc.DepartureStays, "moves": cc.DepartureMoves, "flow.moves": cc.DepartureMovesInWindow,
}

// declare reads the declarations of a file, and returns its other statements.
func (s *source) declare(file *syntax.File) (rest []syntax.Stmt) {
	declared := map[string]bool{}
	for _, stmt := range file.Stmts {
		assign, ok := stmt.(*syntax.AssignStmt)
		var name *syntax.Ident
		if ok {
			name, ok = assign.LHS.(*syntax.Ident)
		}
		if !ok || !slices.Contains(declarations, name.Name) {
			rest = append(rest, stmt)
			continue
		}
		if declared[name.Name] || assign.Op != syntax.EQ {
			s.errorf(assign, "%s must be declared once, as %s = ...", name.Name, name.Name)
		}
		declared[name.Name] = true
		s.declaration(name.Name, assign.RHS)
	}
	s.needs(declared["needs"], file)
	return rest
}

// windowDeclared names the declaration of a program without code that it sets windows.
const windowDeclared = "window"

// Declare parses the declarations of a program in another language, in this language's syntax. name is for messages;
// has lists its handlers.
func Declare(name string, text []byte, has controllerfile.Handlers) (*controllerfile.Declaration, error) {
	s := newSource(name, text)
	s.declared.Handlers = has
	if len(text) > MostSource {
		return nil, &controllerfile.Error{File: name, Message: "is too long"}
	}
	file, err := s.parse()
	if err != nil {
		return nil, err
	}
	for _, stmt := range file.Stmts {
		assign, ok := stmt.(*syntax.AssignStmt)
		if !ok {
			continue
		}
		if name, ok := assign.LHS.(*syntax.Ident); ok && name.Name == windowDeclared {
			value, _ := assign.RHS.(*syntax.Ident)
			s.declared.HasWindow = value != nil && value.Name == "True"
		}
	}
	for _, stmt := range s.declare(file) {
		if assign, ok := stmt.(*syntax.AssignStmt); ok {
			if name, ok := assign.LHS.(*syntax.Ident); ok && name.Name == windowDeclared {
				continue
			}
		}
		s.errorf(stmt, "expected only declarations here: %s, %s", strings.Join(declarations, ", "),
			windowDeclared)
	}
	return &s.declared, errors.Join(s.problems...)
}

func (s *source) declaration(name string, value syntax.Expr) {
	switch name {
	case "params":
		s.params(value)
	case "needs":
		list, ok := value.(*syntax.ListExpr)
		if !ok {
			s.errorf(value, `needs must be a list of names, such as needs = ["ECN", "CNP"]`)
			return
		}
		for _, item := range list.List {
			s.need(item)
		}
	case "summary":
		s.declared.Summary, _ = s.text(value)
	case "source":
		s.declared.Source, _ = s.text(value)
	case "departure":
		text, ok := s.text(value)
		if departure, known := departures[text]; known {
			s.declared.Departure = departure
		} else if ok {
			s.errorf(value, `departure = %q: expected how a change of the rate affects a packet that is already scheduled: `+
				`"stays", "moves", or "flow.moves" if the flow decides`, text)
		}
	}
}

// needNames lists the values of needs.
var needNames = map[string]func(*cc.SwitchNeeds) *bool{
	"ECN":        func(n *cc.SwitchNeeds) *bool { return &n.ECN },
	"ECN step":   func(n *cc.SwitchNeeds) *bool { return &n.ECNStep },
	"CNP":        func(n *cc.SwitchNeeds) *bool { return &n.CNP },
	"CNM":        func(n *cc.SwitchNeeds) *bool { return &n.CNM },
	"INT":        func(n *cc.SwitchNeeds) *bool { return &n.INT },
	"PCN":        func(n *cc.SwitchNeeds) *bool { return &n.PCN },
	"TCD":        func(n *cc.SwitchNeeds) *bool { return &n.TCD },
	"ACK":        func(n *cc.SwitchNeeds) *bool { return &n.ACK },
	"timestamps": func(n *cc.SwitchNeeds) *bool { return &n.Timestamps },
}

const needList = "ECN, ECN step, CNP, CNM, INT, PCN, TCD, ACK, timestamps"

func (s *source) need(item syntax.Expr) {
	name, ok := s.text(item)
	if !ok {
		return
	}
	need, known := needNames[name]
	if !known {
		s.errorf(item, "unknown need %q: expected %s", name, needList)
		return
	}
	*need(&s.declared.Needs) = true
	if s.declared.Needs.ECNStep {
		s.declared.Needs.ECN = true
	}
}

// needs compares the declared needs with the program's handlers. Without a declaration, the handlers determine the
// needs.
func (s *source) needs(declared bool, file *syntax.File) {
	n := &s.declared.Needs
	for _, h := range []struct {
		handler controllerfile.Handler
		name    string
		is      *bool
		why     string
	}{
		{controllerfile.OnAck, "ACK", &n.ACK, "without it, receivers may acknowledge many packets with one ACK"},
		{controllerfile.OnCNP, "CNP", &n.CNP, "without it, receivers send no CNP"},
		{controllerfile.OnCNM, "CNM", &n.CNM, "without it, switches send no CNM"},
	} {
		has := s.declared.Handlers.Has(h.handler)
		switch {
		case !has && *h.is && (h.name != "ACK" || !s.declared.HasWindow):
			s.errorf(file, "needs has %q, but there is no on_%s that uses it", h.name, strings.ToLower(h.name))
		case has && !*h.is && declared && (h.name != "CNP" || !n.PCN):
			at := syntax.Node(file)
			if def := s.handlers["on_"+strings.ToLower(h.name)]; def != nil {
				at = def
			}
			s.errorf(at, "on_%s is defined, but needs lacks %q: %s", strings.ToLower(h.name), h.name, h.why)
		case has && !declared:
			*h.is = true
			if h.handler != controllerfile.OnAck {
				n.ECN = true
			}
		}
	}
	if !declared && s.declared.Handlers.Has(controllerfile.OnAck) {
		n.ECN = n.ECN || s.reads["ce"]
		n.INT = s.reads["hops"]
	}
	if s.declared.HasWindow {
		n.ACK = true
	}
}

// params reads the dictionary of parameters.
func (s *source) params(value syntax.Expr) {
	dict, ok := value.(*syntax.DictExpr)
	if !ok {
		s.errorf(value, `params must be a dictionary of names and declarations, such as params = {"g": number(1/16, min=0, max=1, doc="gain")}`)
		return
	}
	for _, e := range dict.List {
		entry := e.(*syntax.DictEntry)
		name, ok := s.text(entry.Key)
		if !ok {
			continue
		}
		switch {
		case !isName(name):
			s.errorf(entry.Key, "invalid parameter name %q: expected lower-case letters, digits and _, starting with a letter",
				name)
			continue
		case slices.ContainsFunc(s.declared.Parameters, func(p cc.Parameter) bool { return p.Name == name }):
			s.errorf(entry.Key, "duplicate parameter %q", name)
			continue
		}
		if p, ok := s.parameter(name, entry.Value); ok {
			s.declared.Parameters = append(s.declared.Parameters, p)
		}
	}
}

func isName(name string) bool {
	for i, r := range name {
		if !(r >= 'a' && r <= 'z' || i > 0 && (r == '_' || r >= '0' && r <= '9')) {
			return false
		}
	}
	return name != ""
}

// parameter reads one parameter: a constructor's call, or a number.
func (s *source) parameter(name string, value syntax.Expr) (p cc.Parameter, ok bool) {
	p = cc.Parameter{Name: name, Kind: cc.NumberKind, Doc: "-"}
	call, isCall := value.(*syntax.CallExpr)
	if !isCall {
		p.Default, ok = s.value(value)
		return p, ok
	}
	fn, _ := call.Fn.(*syntax.Ident)
	known := false
	if fn != nil {
		p.Kind, known = kinds[fn.Name]
	}
	if !known {
		s.errorf(call, "unknown kind of parameter: expected rate, time, size, number, integer, flag or choice, "+
			"such as rate(\"line/1000\", doc=\"step\")")
		return p, false
	}
	ok = true
	for i, arg := range call.Args {
		key, at := [...]string{"default", "choices"}[min(i, 1)], arg
		if named, is := arg.(*syntax.BinaryExpr); is && named.Op == syntax.EQ {
			key, at = named.X.(*syntax.Ident).Name, named.Y
		} else if i > 1 || i == 1 && p.Kind != cc.ChoiceKind {
			s.errorf(arg, "%s takes its default, then min=, max= and doc=", fn.Name)
			return p, false
		}
		ok = s.argument(&p, key, at) && ok
	}
	if p.Default == "" && ok {
		s.errorf(call, "parameter %q has no default: give it as %s's first argument", name, fn.Name)
		return p, false
	}
	if p.Kind == cc.ChoiceKind && ok && !slices.Contains(p.Choices, p.Default) {
		s.errorf(call, "the default of %q, %q, is not one of its choices", name, p.Default)
		return p, false
	}
	return p, ok
}

// argument reads one argument of a parameter's constructor.
func (s *source) argument(p *cc.Parameter, key string, at syntax.Expr) (ok bool) {
	switch key {
	case "default":
		p.Default, ok = s.value(at)
		if _, bare := number(at); bare && (p.Kind == cc.RateKind || p.Kind == cc.TimeKind || p.Kind == cc.SizeKind) {
			s.errorf(at, "a %v needs a unit, as a string: %s", p.Kind, map[cc.Kind]string{
				cc.RateKind: `"40Mbps", or "line/1000"`, cc.TimeKind: `"55us", or "2rtt"`, cc.SizeKind: `"10KB", or "1bdp"`,
			}[p.Kind])
			return false
		}
	case "min":
		p.Min, ok = s.value(at)
	case "max":
		p.Max, ok = s.value(at)
	case "doc":
		p.Doc, ok = s.text(at)
	case "choices":
		list, is := at.(*syntax.ListExpr)
		if !is {
			s.errorf(at, "choices must be a list of strings")
			return false
		}
		for _, item := range list.List {
			text, is := s.text(item)
			if !is {
				return false
			}
			p.Choices = append(p.Choices, text)
		}
		ok = true
	default:
		s.errorf(at, "unknown argument %q: a parameter has a default, min, max and doc, and a choice has choices", key)
	}
	return ok
}

// value returns a constant in the user's syntax: a text unchanged, or a number.
func (s *source) value(e syntax.Expr) (string, bool) {
	switch e := e.(type) {
	case *syntax.Literal:
		if text, ok := e.Value.(string); ok {
			return text, true
		}
	case *syntax.Ident:
		if e.Name == "True" || e.Name == "False" {
			return strings.ToLower(e.Name), true
		}
	}
	if f, ok := number(e); ok {
		return strconv.FormatFloat(f, 'g', -1, 64), true
	}
	s.errorf(e, `expected a constant: a number such as 0.5 or 1/16, or a string with a unit such as `+
		`"40Mbps", "55us", "line/1000", "2rtt" or "1bdp"`)
	return "", false
}

// number evaluates a number made of literals.
func number(e syntax.Expr) (float64, bool) {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return number(e.X)
	case *syntax.Literal:
		return literal(e)
	case *syntax.UnaryExpr:
		f, ok := number(e.X)
		return -f, ok && e.Op == syntax.MINUS
	case *syntax.BinaryExpr:
		x, ok := number(e.X)
		y, also := number(e.Y)
		if !ok || !also {
			return 0, false
		}
		return compute(e.Op, x, y)
	}
	return 0, false
}

// text evaluates a text made of literals, with + between them.
func (s *source) text(e syntax.Expr) (string, bool) {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return s.text(e.X)
	case *syntax.Literal:
		if text, ok := e.Value.(string); ok && e.Token == syntax.STRING {
			return strings.Join(strings.Fields(text), " "), true
		}
	case *syntax.BinaryExpr:
		if e.Op == syntax.PLUS {
			x, ok := s.text(e.X)
			y, also := s.text(e.Y)
			return x + " " + y, ok && also
		}
	}
	s.errorf(e, "expected a string, such as %q", "ECN")
	return "", false
}

func (s *source) errorf(at syntax.Node, format string, args ...any) {
	start := syntax.Position{Line: 1, Col: 1}
	if file, ok := at.(*syntax.File); !ok || len(file.Stmts) > 0 {
		start, _ = at.Span()
	}
	s.problems = append(s.problems, &controllerfile.Error{
		File: s.name, Line: int(start.Line), Column: int(start.Col),
		Message: fmt.Sprintf(format, args...),
	})
}
