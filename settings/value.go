package settings

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// number is a field with a number, which may have bounds.
type number[T ~int64 | ~int | ~uint16 | ~float64] struct {
	field *T
	parse func(string) (T, error)
	spell func(T) string
	view  func(T) any
}

func size(field *units.Bytes) value {
	return &number[units.Bytes]{field, units.ParseBytes, units.Bytes.String, func(b units.Bytes) any { return int64(b) }}
}

func rate(field *units.Rate) value {
	return &number[units.Rate]{field, units.ParseRate, units.Rate.String, func(r units.Rate) any { return int64(r) }}
}

// span is a span of time. Views have nanoseconds.
func span(field *vtime.Time) value {
	return &number[vtime.Time]{field, units.ParseTime, vtime.Time.String, func(t vtime.Time) any {
		return float64(t) / float64(vtime.Nanosecond)
	}}
}

func ratio(field *float64) value {
	spell := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return &number[float64]{field, yamlspec.ParseFloat, spell, func(x float64) any { return x }}
}

func integer[T ~int | ~uint16](field *T) value {
	parse := func(text string) (T, error) {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 0, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a whole number", text)
		}
		if int64(T(n)) != n {
			return 0, fmt.Errorf("%d is too large", n)
		}
		return T(n), nil
	}
	return &number[T]{field, parse, func(n T) string { return strconv.Itoa(int(n)) }, func(n T) any { return n }}
}

func (n *number[T]) decode(v *yamlspec.Value, s *Setting) {
	if s.Word != "" && v.Raw() == s.Word {
		*n.field = T(s.Means)
		return
	}
	var text string
	if !v.String(&text) {
		return
	}
	x, err := n.parse(text)
	switch {
	case err != nil && s.Word != "":
		v.Errorf("%v, or %s", err, s.Word)
		return
	case err != nil:
		v.Errorf("%v", err)
		return
	case x == 0 && s.Zero != "":
		v.Errorf("%s 0: %s", s.last(), s.Zero)
		return
	}
	if err := n.outside(x, s); err != nil {
		v.Errorf("%v", err)
		return
	}
	*n.field = x
}

func (n *number[T]) check(s *Setting) error {
	if s.Word != "" && *n.field == T(s.Means) || s.Unset && *n.field == 0 {
		return nil
	}
	return n.outside(*n.field, s)
}

// outside says whether x is out of s's bounds.
func (n *number[T]) outside(x T, s *Setting) error {
	beyond := func(bound string, sign int) bool {
		limit, err := n.parse(bound)
		if err != nil && bound != "" {
			panic(fmt.Sprintf("settings: %s has the bound %q: %v", s.Name, bound, err)) // a row's, which a test reads
		}
		return bound != "" && (sign < 0 && x < limit || sign > 0 && x > limit)
	}
	if !beyond(s.Min, -1) && !beyond(s.Max, 1) && x >= 0 {
		return nil
	}
	switch {
	case s.Max == "" && s.Min == "":
		return schema.Errorf(s.Name, "%s is negative", n.spell(x))
	case s.Max == "":
		return schema.Errorf(s.Name, "%s is below %s", n.spell(x), s.Min)
	case s.Min == "" && x >= 0:
		return schema.Errorf(s.Name, "%s is above %s", n.spell(x), s.Max)
	case s.Min == "":
		return schema.Errorf(s.Name, "%s is outside 0..%s", n.spell(x), s.Max)
	}
	return schema.Errorf(s.Name, "%s is outside %s..%s", n.spell(x), s.Min, s.Max)
}

func (n *number[T]) text() string      { return n.spell(*n.field) }
func (n *number[T]) json() any         { return n.view(*n.field) }
func (n *number[T]) zero() bool        { return *n.field == 0 }
func (n *number[T]) choices() []string { return nil }
func (n *number[T]) means() int64      { return int64(*n.field) }

// flag is true or false.
type flag struct{ field *bool }

func (f flag) decode(v *yamlspec.Value, _ *Setting) { v.Bool(f.field) }
func (f flag) check(*Setting) error                 { return nil }
func (f flag) text() string                         { return strconv.FormatBool(*f.field) }
func (f flag) json() any                            { return *f.field }
func (f flag) zero() bool                           { return !*f.field }
func (f flag) choices() []string                    { return []string{"false", "true"} }

// inverse is a flag whose key says the contrary of its field. Views have the field.
type inverse struct{ flag }

func (f inverse) decode(v *yamlspec.Value, _ *Setting) {
	is := !*f.field
	v.Bool(&is)
	*f.field = !is
}

func (f inverse) text() string { return strconv.FormatBool(!*f.field) }

// choice is one of some words. A word that is empty is that of a value which is not given.
type choice struct {
	words []string
	get   func() int
	set   func(int)
	view  func() any
}

// word is a field of an enumeration whose values have names, in their order.
func word[T ~uint8](field *T, names ...string) value {
	return &choice{names, func() int { return int(*field) }, func(i int) { *field = T(i) }, func() any { return names[*field] }}
}

// either is a field that is false or true by these words. Views have true or false.
func either(field *bool, no, yes string) value {
	get := func() int {
		if *field {
			return 1
		}
		return 0
	}
	return &choice{[]string{no, yes}, get, func(i int) { *field = i == 1 }, func() any { return *field }}
}

func (c *choice) decode(v *yamlspec.Value, _ *Setting) {
	var text string
	if v.Choice(&text, c.choices()...) {
		c.set(slices.Index(c.words, text))
	}
}

func (c *choice) check(s *Setting) error {
	if i := c.get(); i >= len(c.words) {
		return schema.Errorf(s.Name, "%d is not one of %s", i, strings.Join(c.choices(), ", "))
	}
	return nil
}

func (c *choice) text() string { return c.words[c.get()] }
func (c *choice) json() any    { return c.view() }
func (c *choice) zero() bool   { return c.get() == 0 }

func (c *choice) choices() []string {
	return slices.DeleteFunc(slices.Clone(c.words), func(word string) bool { return word == "" })
}

// priority is a priority's number.
type priority struct{ field *uint8 }

func (p priority) decode(v *yamlspec.Value, _ *Setting) {
	n := int(*p.field)
	v.Int(&n, 0, switchagent.Priorities-1)
	*p.field = uint8(n)
}

func (p priority) check(s *Setting) error {
	if *p.field >= switchagent.Priorities {
		return schema.Errorf(s.Name, "%d is outside 0..7", *p.field)
	}
	return nil
}

func (p priority) text() string      { return strconv.Itoa(int(*p.field)) }
func (p priority) json() any         { return *p.field }
func (p priority) zero() bool        { return *p.field == 0 }
func (p priority) choices() []string { return nil }

// priorities is a set of them, as bits.
type priorities struct{ field *uint8 }

func (p priorities) decode(v *yamlspec.Value, _ *Setting) { DecodePriorities(v, p.field) }
func (p priorities) check(*Setting) error                 { return nil }
func (p priorities) zero() bool                           { return *p.field == 0 }
func (p priorities) json() any                            { return Priorities(*p.field) }
func (p priorities) choices() []string                    { return nil }

func (p priorities) text() string {
	return strings.ReplaceAll(fmt.Sprint(Priorities(*p.field)), " ", ", ")
}

// DecodePriorities reads a list of priorities into a set of bits.
func DecodePriorities(v *yamlspec.Value, into *uint8) {
	if v == nil {
		return
	}
	*into = 0
	for _, item := range v.Items() {
		n := 0
		if item.Int(&n, 0, switchagent.Priorities-1) {
			*into |= 1 << n
		}
	}
}

// Priorities is a set of bits as a list.
func Priorities(set uint8) []int {
	list := make([]int, 0, bits.OnesCount8(set))
	for p := range switchagent.Priorities {
		if set&(1<<p) != 0 {
			list = append(list, p)
		}
	}
	return list
}

// weights are sizes by priority; 0: none.
type weights struct {
	field *[switchagent.Priorities]units.Bytes
}

func (w weights) decode(v *yamlspec.Value, _ *Setting) {
	v.Mapping().All(func(key, value *yamlspec.Value) {
		priority, err := strconv.Atoi(key.Raw())
		if err != nil || priority < 0 || priority >= switchagent.Priorities {
			key.Errorf("%q is not a priority: 0..7", key.Raw())
			return
		}
		if value.Bytes(&w.field[priority]) && w.field[priority] == 0 {
			value.Errorf("a quantum must be positive; leave the priority out to make it strict")
		}
	})
}

func (w weights) check(*Setting) error { return nil }
func (w weights) json() any            { return *w.field }
func (w weights) zero() bool           { return *w.field == [switchagent.Priorities]units.Bytes{} }
func (w weights) choices() []string    { return nil }

func (w weights) text() string {
	var parts []string
	for p, quantum := range w.field {
		if quantum > 0 {
			parts = append(parts, fmt.Sprintf("%d: %v", p, quantum))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// group is a mapping of other keys.
type group struct {
	// works says that the keys have an effect: people are told of them. Programs are by viewed. nil: always.
	works, viewed func() bool
	// off has the group be without effect, as the word off in the place of the mapping does; on is called before its keys are
	// read. nil: there is no such word.
	off, on func()
	// instead says what to write in the place of the word off, if there is none.
	instead string
}

func (g *group) decode(v *yamlspec.Value, _ *Setting) {
	if word := v.Raw(); g.instead != "" && (word == off || word == "none" || word == "false") {
		v.Errorf("%q: %s", word, g.instead)
	}
	if v != nil && g.off != nil {
		if v.Raw() == off {
			g.off()
			return
		}
		g.on()
	}
}

const off = "off"

func (g *group) check(*Setting) error { return nil }
func (g *group) json() any            { return nil }
func (g *group) zero() bool           { return false }
func (g *group) choices() []string    { return nil }

func (g *group) text() string {
	if g.off != nil && !g.works() {
		return off
	}
	return ""
}

// holds calls a condition that may be missing.
func holds(condition func() bool) bool { return condition == nil || condition() }
