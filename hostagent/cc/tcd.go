package cc

import (
	"slices"
	"strings"
)

// tcdSuffix after the name of a congestion control makes it distinguish "undetermined" from congested.
const tcdSuffix = "+tcd"

// withTCD returns a variant of base whose switches mark by ternary congestion detection, and which handles undetermined
// marks. Its compiled constants depend on Settings.ternary; more lists its additional parameters.
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

// ternaryNames lists the congestion controls that support tcdSuffix.
func ternaryNames() string {
	var names []string
	for _, s := range registry {
		if name, ok := strings.CutSuffix(s.Name, tcdSuffix); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// ternary reports whether the settings belong to a congestion control that handles undetermined marks.
func (s *Settings) ternary() bool { return s.spec.Needs.TCD }

// undeterminedAnswer selects DCQCN's reaction to a CNP that reports undetermined without CE.
type undeterminedAnswer uint8

const (
	undeterminedNone   undeterminedAnswer = iota // no reaction; the only value if no switch marks undetermined
	undeterminedHold                             // increases restart, a timer later
	undeterminedSettle                           // likewise, and the present rate becomes the target
)

// undeterminedName names the parameter that selects it.
const undeterminedName = "ue"

// undeterminedNames lists its values.
var undeterminedNames = []string{undeterminedNone: "none", undeterminedHold: "hold", undeterminedSettle: "settle"}

// undetermined returns the reaction that the settings select.
func (s *Settings) undetermined() undeterminedAnswer {
	if !s.ternary() {
		return undeterminedNone
	}
	return undeterminedAnswer(slices.Index(undeterminedNames, s.Choice(undeterminedName)))
}

// ceAlphaName names the parameter that makes DCQCN's cuts for CE deeper.
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
