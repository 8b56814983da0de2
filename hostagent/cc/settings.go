package cc

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Settings holds a congestion control's constants, checked and with every default filled in for one Env. Get them from
// Resolve. They are read-only, and any number of flows may share them.
type Settings struct {
	spec      *Spec
	env       Env // with Seed 0
	values    []setting
	constants any // constants for the Spec's New: a pointer to the controller's own struct
}

// setting holds one parameter's value.
type setting struct {
	name string
	kind Kind
	value
	text string // a spelling that parses back as exactly this value
}

// Controller returns the congestion control's name.
func (s *Settings) Controller() string {
	if s.spec == nil {
		return ""
	}
	return s.spec.Name
}

// Map returns every constant that applies, by parameter name. Resolving it again, for the same Env, gives equal
// settings.
func (s *Settings) Map() map[string]string {
	m := make(map[string]string, len(s.values))
	for i := range s.values {
		m[s.values[i].name] = s.values[i].text
	}
	return m
}

// MarshalJSON writes every constant that applies as an object of strings, in the order of the controller's parameters.
func (s Settings) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range s.values {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(s.values[i].name)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(s.values[i].text)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Rate returns the value of a rate parameter in bits per second. Like all methods of this kind it panics if no
// parameter of that name and kind applies.
func (s *Settings) Rate(name string) float64 { return s.get(name, RateKind).number }

// Time returns the value of a time parameter.
func (s *Settings) Time(name string) vtime.Time { return vtime.Time(s.get(name, TimeKind).integer) }

// Size returns the value of a size parameter in bytes.
func (s *Settings) Size(name string) units.Bytes { return units.Bytes(s.get(name, SizeKind).integer) }

// Number returns the value of a number parameter.
func (s *Settings) Number(name string) float64 { return s.get(name, NumberKind).number }

// Integer returns the value of an integer parameter.
func (s *Settings) Integer(name string) int64 { return s.get(name, IntegerKind).integer }

// Flag returns the value of a flag.
func (s *Settings) Flag(name string) bool { return s.get(name, FlagKind).integer != 0 }

// Choice returns the selected choice.
func (s *Settings) Choice(name string) string { return s.get(name, ChoiceKind).text }

// File returns the content and path of the file that a parameter names; nil for a built-in.
func (s *Settings) File(name string) (path string, content []byte) {
	v := s.get(name, FileKind)
	path, _ = cutDigest(v.text)
	return path, v.content
}

// Has reports whether a parameter of that name applies.
func (s *Settings) Has(name string) bool {
	for i := range s.values {
		if s.values[i].name == name {
			return true
		}
	}
	return false
}

func (s *Settings) get(name string, kind Kind) *setting {
	for i := range s.values {
		if v := &s.values[i]; v.name == name && v.kind == kind {
			return v
		}
	}
	panic(fmt.Sprintf("cc: no %v parameter %q of %s applies", kind, name, s.Controller()))
}

// read returns p's value and spelling in an Env: the given text, or the default.
func (s *Settings) read(p *Parameter, texts map[string]string, env Env, r Resolver) (value, string, error) {
	text, given := texts[p.Name]
	switch {
	case given:
	case p.Name == minRateName && env.MinRate > 0:
		text = env.MinRate.String()
	default:
		text = p.Default
	}
	if p.Kind == FileKind {
		v, spelled, err := r.file(text)
		if err != nil {
			return value{}, "", s.spec.wrong(p.Name, "= %q: %w", text, err)
		}
		return v, spelled, nil
	}
	v, err := parse(p, text, env)
	if err != nil {
		return value{}, "", s.spec.wrong(p.Name, "= %q: %w", text, err)
	}
	return v, spell(p, v), nil
}

// minRateName names the rate floor's parameter in every controller that has one.
const minRateName = "min_rate"
