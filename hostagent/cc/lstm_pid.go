package cc

import (
	"github.com/pausenet/pausenet/hostagent/lstm"
	"github.com/pausenet/pausenet/internal/schema"
)

var (
	lstmPIDSpec      = newLSTMPIDSpec("lstm-pid", "false")
	lstmPIDRTTchSpec = newLSTMPIDSpec("lstm-pid+rttch", "true")
)

// newLSTMPIDSpec returns the thesis' complete algorithm: a network predicts the next RTT, and PID control acts on the
// prediction. While a flow has fewer than three samples, the network uses K = 0 for the missing ones, as if the RTT had
// been constant before; the thesis does not specify this.
func newLSTMPIDSpec(name, rttch string) *Spec {
	s := Spec{
		Name: name,
		Summary: "Predicts the next RTT and steers it to a target. A small neural network predicts; the rate " +
			"changes in proportion to the distance of the prediction from the target.",
		Source: "the LSTM-PID thesis, chapter 3; its weights were not published: the built-in ones are pausenet's own (see " +
			"docs/lstm-pid.md)",
		Needs: SwitchNeeds{ACK: true}, Departure: DepartureMoves,
		Parameters: append(pidParameters(rttch), Parameter{
			Name: "weights", Kind: FileKind, Default: builtIn,
			Doc: "the network's weights, a file written by pausenet train lstm; relative to the working directory",
		}),
	}
	if rttch == "true" {
		s.Summary = rttchSummary("LSTM-PID", s.Summary)
	}
	return define(s, func(env Env, set *Settings) (*pidConstants, error) {
		path, content := set.File("weights")
		var w *lstm.Weights
		var err error
		if content == nil {
			w, err = lstm.BuiltIn()
		} else {
			w, err = lstm.Parse(path, content)
		}
		if err != nil {
			return nil, schema.Errorf("weights", "cannot be used: %w", err)
		}
		return newPIDConstants(env, set, lstm.New(&w.Parameters))
	}, newPID)
}
