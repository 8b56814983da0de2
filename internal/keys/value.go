package keys

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// number implements Value for a number, which may have bounds.
type number[T ~int64 | ~int | ~uint16 | ~float64] struct {
	of    schema.Kind
	field *T
	parse func(string) (T, error)
	spell func(T) string
	view  func(T) any
}

// Size declares a key whose value is a number of bytes.
func Size(name string, field *units.Bytes) Key {
	view := func(b units.Bytes) any { return int64(b) }
	return Key{Name: name, Value: &number[units.Bytes]{schema.Size, field, units.ParseBytes, units.Bytes.String, view}}
}

// Rate declares a key whose value is in bits per second.
func Rate(name string, field *units.Rate) Key {
	view := func(r units.Rate) any { return int64(r) }
	return Key{Name: name, Value: &number[units.Rate]{schema.Rate, field, units.ParseRate, units.Rate.String, view}}
}

// Time declares a key whose value is a duration. Views have nanoseconds.
func Time(name string, field *vtime.Time) Key {
	view := func(t vtime.Time) any { return float64(t) / float64(vtime.Nanosecond) }
	return Key{Name: name, Value: &number[vtime.Time]{schema.Time, field, units.ParseTime, vtime.Time.String, view}}
}

// Number declares a key whose value is a number that may be a fraction.
func Number(name string, field *float64) Key {
	spell := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	view := func(x float64) any { return x }
	return Key{Name: name, Value: &number[float64]{schema.Number, field, yamlspec.ParseFloat, spell, view}}
}

// Integer declares a key whose value is a whole number.
func Integer[T ~int | ~uint16](name string, field *T) Key {
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
	spell := func(n T) string { return strconv.Itoa(int(n)) }
	return Key{Name: name, Value: &number[T]{schema.Integer, field, parse, spell, func(n T) any { return n }}}
}

func (n *number[T]) decode(v *yamlspec.Value, k *Key) {
	if k.Word != "" && v.Raw() == k.Word {
		*n.field = T(k.WordValue)
		return
	}
	var text string
	if !v.String(&text) {
		return
	}
	x, err := n.parse(text)
	switch {
	case err != nil && k.Word != "":
		v.Errorf("%v, or %s", err, k.Word)
		return
	case err != nil:
		v.Errorf("%v", err)
		return
	case x == 0 && k.Zero != "":
		v.Errorf("%s 0: %s", k.last(), k.Zero)
		return
	}
	if err := n.outside(x, k); err != nil {
		hint := ""
		if n.of == schema.Rate && x > 0 && !strings.ContainsAny(text, "bBkKmMgGtT") {
			hint = fmt.Sprintf(": a number without a unit is bits per second; write %sGbps", text)
		}
		v.Errorf("%v%s", err, hint)
		return
	}
	*n.field = x
}

func (n *number[T]) check(k *Key) error {
	if k.Word != "" && *n.field == T(k.WordValue) || k.Unset && *n.field == 0 {
		return nil
	}
	return n.outside(*n.field, k)
}

// outside reports an x that is out of k's bounds.
func (n *number[T]) outside(x T, k *Key) error {
	beyond := func(bound string, sign int) bool {
		limit, err := n.parse(bound)
		if err != nil && bound != "" {
			panic(fmt.Sprintf("keys: %s has the bound %q: %v", k.Name, bound, err)) // a row's, which a test reads
		}
		return bound != "" && (sign < 0 && x < limit || sign > 0 && x > limit)
	}
	if !beyond(k.Min, -1) && !beyond(k.Max, 1) && x >= 0 {
		return nil
	}
	switch {
	case k.Max == "" && k.Min == "":
		return schema.Errorf(k.Name, "%s is negative", n.spell(x))
	case k.Max == "":
		return schema.Errorf(k.Name, "%s is below %s", n.spell(x), k.Min)
	case k.Min == "" && x >= 0:
		return schema.Errorf(k.Name, "%s is above %s", n.spell(x), k.Max)
	case k.Min == "":
		return schema.Errorf(k.Name, "%s is outside 0..%s", n.spell(x), k.Max)
	}
	return schema.Errorf(k.Name, "%s is outside %s..%s", n.spell(x), k.Min, k.Max)
}

func (n *number[T]) kind() schema.Kind { return n.of }
func (n *number[T]) text() string      { return n.spell(*n.field) }
func (n *number[T]) json() any         { return n.view(*n.field) }
func (n *number[T]) zero() bool        { return *n.field == 0 }
func (n *number[T]) words() []string   { return nil }
func (n *number[T]) means() int64      { return int64(*n.field) }

// flag implements Value for true or false.
type flag struct{ field *bool }

// Flag declares a key whose value is true or false.
func Flag(name string, field *bool) Key { return Key{Name: name, Value: flag{field}} }

func (f flag) kind() schema.Kind                { return schema.Flag }
func (f flag) decode(v *yamlspec.Value, _ *Key) { v.Bool(f.field) }
func (f flag) check(*Key) error                 { return nil }
func (f flag) text() string                     { return strconv.FormatBool(*f.field) }
func (f flag) json() any                        { return *f.field }
func (f flag) zero() bool                       { return !*f.field }
func (f flag) words() []string                  { return []string{"false", "true"} }

// inverse implements Value for a flag that is true when its variable is false.
type inverse struct{ flag }

// Inverse declares a flag that is true when its variable is false. Views have the variable.
func Inverse(name string, field *bool) Key { return Key{Name: name, Value: inverse{flag{field}}} }

func (f inverse) decode(v *yamlspec.Value, _ *Key) {
	is := !*f.field
	v.Bool(&is)
	*f.field = !is
}

func (f inverse) text() string { return strconv.FormatBool(!*f.field) }

// choice implements Value for one of some words. An empty word stands for an absent key.
type choice struct {
	all  []string
	get  func() int
	set  func(int)
	view func() any
}

// Word declares a key whose value is the name of a constant. The words name the constants 0, 1, 2 and so on.
func Word[T ~uint8](name string, field *T, words ...string) Key {
	get, set := func() int { return int(*field) }, func(i int) { *field = T(i) }
	return Key{Name: name, Value: &choice{words, get, set, func() any { return words[*field] }}}
}

// Either declares a key that takes one word for false and another for true. Views have false or true.
func Either(name string, field *bool, no, yes string) Key {
	get := func() int {
		if *field {
			return 1
		}
		return 0
	}
	set, view := func(i int) { *field = i == 1 }, func() any { return *field }
	return Key{Name: name, Value: &choice{[]string{no, yes}, get, set, view}}
}

func (c *choice) decode(v *yamlspec.Value, _ *Key) {
	var text string
	if v.Choice(&text, c.words()...) {
		c.set(slices.Index(c.all, text))
	}
}

func (c *choice) check(k *Key) error {
	if i := c.get(); i >= len(c.all) {
		return schema.Errorf(k.Name, "%d is not one of %s", i, strings.Join(c.words(), ", "))
	}
	return nil
}

func (c *choice) kind() schema.Kind { return schema.Choice }
func (c *choice) text() string      { return c.all[c.get()] }
func (c *choice) json() any         { return c.view() }
func (c *choice) zero() bool        { return c.get() == 0 }

func (c *choice) words() []string {
	return slices.DeleteFunc(slices.Clone(c.all), func(word string) bool { return word == "" })
}

// GroupOf declares a mapping of other keys of the table. Their names begin with its name and a dot.
func GroupOf(name string, g *Group) Key { return Key{Name: name, Value: g} }

// Group describes a mapping of other keys.
type Group struct {
	// Works reports whether the keys have an effect: descriptions for people show only such keys. Viewed does the same
	// for structured output. nil: always.
	Works, Viewed func() bool
	// Off makes the group have no effect, when the word off replaces the mapping; On is called before its keys are
	// read. nil: there is no such word.
	Off, On func()
	// Instead holds the alternative to off, for a key without off.
	Instead string
	// Short names the key that a value in place of the mapping sets: count, of qps: 4. Empty: none.
	Short string
	// Example shows the mapping to a user who wrote something else: "{on: 10us, off: 40us}".
	Example string
}

func (g *Group) decode(v *yamlspec.Value, k *Key) {
	if word := v.Raw(); g.Instead != "" && (word == off || word == "none" || word == "false") {
		v.Errorf("%q: %s", word, g.Instead)
	}
	if v != nil && g.Off != nil {
		if v.Raw() == off {
			g.Off()
			return
		}
		g.On()
	}
}

const off = "off"

func (g *Group) kind() schema.Kind { return schema.Group }
func (g *Group) check(*Key) error  { return nil }
func (g *Group) json() any         { return nil }
func (g *Group) zero() bool        { return false }
func (g *Group) words() []string   { return nil }

func (g *Group) text() string {
	if g.Off != nil && !g.Works() {
		return off
	}
	return ""
}

// holds calls a condition that may be missing.
func holds(condition func() bool) bool { return condition == nil || condition() }
