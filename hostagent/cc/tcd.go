package cc

import (
	"slices"
	"strings"
)

// tcdSuffix after the name of a congestion control makes it tell "undetermined" from congested.
const tcdSuffix = "+tcd"

// withTCD is another congestion control: base, whose switches mark by ternary congestion detection and which knows what
// an undetermined mark means. Constants say so to what they are compiled into (Settings.ternary); more are their own.
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

// ternary says whether the settings are of a congestion control that knows what an undetermined mark means.
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

// undetermined is what the settings say.
func (s *Settings) undetermined() undeterminedAnswer {
	if !s.ternary() {
		return undeterminedNone
	}
	return undeterminedAnswer(slices.Index(undeterminedNames, s.Choice(undeterminedName)))
}

// ceAlphaName is the parameter that makes DCQCN's cuts for CE deeper.
const ceAlphaName = "ce_alpha"

var dcqcnTCDSpec = withTCD(dcqcnSpec,
	"A CNP that says undetermined holds the rate and delays increases.",
	"its answer to ternary marks is that of TCD's authors' simulator; the patent's, paragraph 0102, is that the rate stays",
	Parameter{
		Name: undeterminedName, Kind: ChoiceKind, Choices: undeterminedNames, Default: "settle",
		Doc: "what a CNP that says undetermined does beside leaving the rate: settle: it becomes the target and increases begin " +
			"anew, as in the simulator; hold: they begin anew, towards the target that was; none: nothing",
	},
	Parameter{
		Name: ceAlphaName, Kind: NumberKind, Default: "0", Min: "0", Max: "1", When: "a",
		Doc: "least alpha of a cut, for the aggressive decrease that TCD's patent asks for on CE; 0: DCQCN's own",
	},
)

var timelyTCDSpec = withTCD(timelySpec,
	"The RTT of an undetermined packet does not change the rate; that of a CE packet does not raise it.",
	"what ternary marks change is our inference, as no source has it",
)
