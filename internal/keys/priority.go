package keys

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/units"
)

// classes counts the priorities (IEEE 802.1Q).
const classes = 8

// priority implements Value for the number of a priority.
type priority struct{ field *uint8 }

// Priority declares a key whose value is the number of a priority.
func Priority(name string, field *uint8) Key { return Key{Name: name, Value: priority{field}} }

func (p priority) decode(v *yamlspec.Value, _ *Key) {
	n := int(*p.field)
	v.Int(&n, 0, classes-1)
	*p.field = uint8(n)
}

func (p priority) check(k *Key) error {
	if *p.field >= classes {
		return schema.Errorf(k.Name, "%d is outside 0..7", *p.field)
	}
	return nil
}

func (p priority) kind() schema.Kind { return schema.Priority }
func (p priority) text() string      { return strconv.Itoa(int(*p.field)) }
func (p priority) json() any         { return *p.field }
func (p priority) zero() bool        { return *p.field == 0 }
func (p priority) words() []string   { return nil }

// priorities implements Value for a set of priorities, as bits.
type priorities struct{ field *uint8 }

// Priorities declares a key whose value is a set of priorities. The variable holds them as bits.
func Priorities(name string, field *uint8) Key { return Key{Name: name, Value: priorities{field}} }

func (p priorities) decode(v *yamlspec.Value, _ *Key) {
	if v == nil {
		return
	}
	*p.field = 0
	for _, item := range v.Items() {
		n := 0
		if item.Int(&n, 0, classes-1) {
			*p.field |= 1 << n
		}
	}
}

func (p priorities) kind() schema.Kind { return schema.Priorities }
func (p priorities) check(*Key) error  { return nil }
func (p priorities) zero() bool        { return *p.field == 0 }
func (p priorities) json() any         { return PriorityList(*p.field) }
func (p priorities) words() []string   { return nil }

func (p priorities) text() string {
	return strings.ReplaceAll(fmt.Sprint(PriorityList(*p.field)), " ", ", ")
}

// PriorityList returns a set of bits as a list.
func PriorityList(set uint8) []int {
	list := make([]int, 0, bits.OnesCount8(set))
	for p := range classes {
		if set&(1<<p) != 0 {
			list = append(list, p)
		}
	}
	return list
}

// weights implements Value for sizes by priority; 0: none.
type weights struct{ field *[classes]units.Bytes }

// Weights declares a key whose value is a size for each of some priorities; 0: none.
func Weights(name string, field *[classes]units.Bytes) Key {
	return Key{Name: name, Value: weights{field}}
}

func (w weights) decode(v *yamlspec.Value, _ *Key) {
	v.Mapping().All(func(key, value *yamlspec.Value) {
		priority, err := strconv.Atoi(key.Raw())
		if err != nil || priority < 0 || priority >= classes {
			key.Errorf("%q is not a priority (expected 0 to 7)", key.Raw())
			return
		}
		if value.Bytes(&w.field[priority]) && w.field[priority] == 0 {
			value.Errorf("a quantum must be positive (leave the priority out to make it strict)")
		}
	})
}

func (w weights) kind() schema.Kind { return schema.Weights }
func (w weights) check(*Key) error  { return nil }
func (w weights) json() any         { return *w.field }
func (w weights) zero() bool        { return *w.field == [classes]units.Bytes{} }
func (w weights) words() []string   { return nil }

func (w weights) text() string {
	var parts []string
	for p, quantum := range w.field {
		if quantum > 0 {
			parts = append(parts, fmt.Sprintf("%d: %v", p, quantum))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// ownPriority implements Value for 1 + the number of a priority; 0: none is set.
type ownPriority struct{ priority }

// OwnPriority declares a key whose value is the number of a priority. The variable holds 1 + the number; 0: the key is
// absent.
func OwnPriority(name string, field *uint8) Key {
	return Key{Name: name, Value: ownPriority{priority{field}}}
}

func (p ownPriority) decode(v *yamlspec.Value, _ *Key) {
	if n := 0; v.Int(&n, 0, classes-1) {
		*p.field = uint8(1 + n)
	}
}

func (p ownPriority) check(k *Key) error {
	if *p.field > classes {
		return schema.Errorf(k.Name, "%d is outside 0..7", *p.field-1)
	}
	return nil
}

func (p ownPriority) json() any { return *p.field - 1 }

func (p ownPriority) text() string {
	if *p.field == 0 {
		return ""
	}
	return strconv.Itoa(int(*p.field) - 1)
}
