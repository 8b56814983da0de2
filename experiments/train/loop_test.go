package train

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/hostagent/lstm"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/vtime"
)

// TestInLoop checks that the evaluated samples start at 0.5 ms and end when all flows but one have ended, and that
// errors are relative to the measured RTT.
func TestInLoop(t *testing.T) {
	var p lstm.Parameters
	p[len(p)-1] = .1 // the network always says that the next RTT is 1.1 times the smoothed one
	at := func(us, rtt float64) timed { return timed{vtime.Time(us * float64(vtime.Microsecond)), rtt} }
	r := inLoop(lstm.New(&p), [][]timed{
		{at(100, 5), at(200, 5), at(300, 5), at(400, 5), at(500, 5.5), at(600, 4), at(701, 5), at(800, 5)},
		{at(100, 5), at(650, 5), at(700, 5)},
		nil,
	})
	// Smoothed to 5 before the first judged one, to 5.1 before the second.
	predicted := []float64{5.5, 5.61}
	first, second := (predicted[0]-5.5)/5.5, (predicted[1]-4)/4
	if r.Samples != 2 || r.Alone != 100*vtime.Microsecond || r.shown.From != 4 || len(r.shown.Measured) != 2 {
		t.Errorf("%+v", r)
	}
	near(t, "MAPE", r.MAPE, (first+second)/2, 1e-12)
	near(t, "bias", r.Bias, (first+second)/2, 1e-12)
	near(t, "mean", r.Mean, 4.75, 1e-12)
	near(t, "mean predicted", r.MeanPredicted, (5.5+5.61)/2, 1e-12)
	if r := inLoop(lstm.New(&p), [][]timed{nil, {at(600, 5)}}); r.Samples != 0 || r.MAPE != 0 {
		t.Errorf("of one flow: %+v", r)
	}
}

// TestLoop checks that RTTs are harder to predict if the controller acts on the predictions, and the more so the
// farther the target is from the training's.
func TestLoop(t *testing.T) {
	testenv.WholeScenario(t)
	r, err := Loop(context.Background(), small())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Runs) != 2*len(loopTargets) {
		t.Fatalf("%d runs", len(r.Runs))
	}
	for i := 0; i < len(r.Runs); i += 2 {
		pid, acting := &r.Runs[i], &r.Runs[i+1]
		if pid.Samples < 10_000 || acting.Samples < 10_000 || acting.MAPE < 1.2*pid.MAPE {
			t.Errorf("%+v and %+v", pid, acting)
		}
		if i > 0 && acting.MAPE < 1.2*r.Runs[i-1].MAPE {
			t.Errorf("target %v: MAPE %g, nearer the training's %g", acting.Target, acting.MAPE, r.Runs[i-1].MAPE)
		}
	}
	var text bytes.Buffer
	if err := r.Write(&text); err != nil || !strings.Contains(text.String(), "7us  lstm-pid ") {
		t.Errorf("%v\n%s", err, text.String())
	}
	if d, err := r.Drawings(); err != nil || len(d) != 1 || !bytes.Contains(d[0].SVG, []byte("lstm-pid, target 6us")) {
		t.Errorf("%v", err)
	}
}
