package fill

import (
	"testing"

	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/units"
)

func TestCheckFlowControl(t *testing.T) {
	plan, err := spec.Builtin("star")
	if err != nil {
		t.Fatal(err)
	}
	s := switchagent.Default()
	for _, c := range []struct {
		buffer units.Bytes
		cbfc   bool
		fits   bool
	}{ // the longest frame takes 18 blocks
		{1000, false, true}, {1000, true, false}, {1151, true, false}, {1152, true, true},
	} {
		s.FlowControl, s.CBFC.Buffer = switchagent.FlowPFC, c.buffer
		if c.cbfc {
			s.FlowControl = switchagent.FlowCBFC
		}
		if err := CheckFlowControl(plan, &s); (err == nil) != c.fits {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := CheckFlowControl(nil, &s); err != nil {
		t.Error(err)
	}
}
