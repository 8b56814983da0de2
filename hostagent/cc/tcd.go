package cc

import (
	"slices"
	"strings"
)

// tcdSuffix after the name of a congestion control makes it tell "undetermined" from congested.
const tcdSuffix = "+tcd"

// withTCD returns another congestion control: base, whose switches mark by ternary congestion detection and which
// knows what an undetermined mark means. Constants say so to what they are compiled into (Settings.ternary); more
// are their own.
func withTCD(base *Spec, how, source string, more ...Parameter) *Spec {
	s := *base
	s.Name += tcdSuffix
	s.base = base
	s.Summary = strings.ToUpper(base.Name) + " with ternary congestion detection. " + how + " " + s.Summary
	s.Source += "; " + source
	s.Needs.ECN, s.Needs.TCD = true, true
	s.Parameters = append(slices.Clone(base.Parameters), more...)
	return complete(s)
}

// ternaryNames lists the congestion controls that tcdSuffix may follow.
func ternaryNames() string {
	var names []string
	for _, s := range registry {
		if name, ok := strings.CutSuffix(s.Name, tcdSuffix); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// ternary reports whether the settings are of a congestion control that knows what an undetermined mark means.
func (s *Settings) ternary() bool { return s.spec.Needs.TCD }

// undeterminedAnswer is what DCQCN does on a CNP that says undetermined, and not congested.
type undeterminedAnswer uint8

const (
	undeterminedNone   undeterminedAnswer = iota // nothing; it is all that is known where no switch marks so
	undeterminedHold                             // increases begin anew, a timer later
	undeterminedSettle                           // and what they lead to is the rate
)

// undeterminedName is the parameter that chooses it.
const undeterminedName = "ue"

// undeterminedNames are its values.
var undeterminedNames = []string{undeterminedNone: "none", undeterminedHold: "hold", undeterminedSettle: "settle"}

// undetermined returns what the settings say.
func (s *Settings) undetermined() undeterminedAnswer {
	if !s.ternary() {
		return undeterminedNone
	}
	return undeterminedAnswer(slices.Index(undeterminedNames, s.Choice(undeterminedName)))
}

// ceAlphaName is the parameter that makes DCQCN's cuts for CE deeper.
const ceAlphaName = "ce_alpha"

var dcqcnTCDSpec = withTCD(dcqcnSpec,
	"A CNP with the mark undetermined keeps the rate and delays increases.",
	"its reaction to ternary marks is that of TCD's authors' simulator; in the patent, paragraph 0102, the rate stays",
	Parameter{
		Name: undeterminedName, Kind: ChoiceKind, Choices: undeterminedNames, Default: "settle",
		Doc: "effect of a CNP with the mark undetermined, besides keeping the rate: settle: the rate becomes " +
			"the target and increases restart, as in the simulator; hold: increases restart, towards the " +
			"old target; none: nothing",
	},
	Parameter{
		Name: ceAlphaName, Kind: NumberKind, Default: "0", Min: "0", Max: "1", When: "a",
		Doc: "minimum alpha of a cut, for the aggressive decrease that TCD's patent requires on CE; 0: DCQCN's own",
	},
)

var timelyTCDSpec = withTCD(timelySpec,
	"The RTT of a packet marked undetermined does not change the rate; that of a packet marked CE does not raise it.",
	"the effect of ternary marks is our inference, as no source defines it",
)
