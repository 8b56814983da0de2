package scenario

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/hostagent/cc"
)

func TestControllerNames(t *testing.T) {
	s := parse(t, lab.Variants)
	for given, want := range map[string]string{
		"dcqcn, DCQCN-Half":     "dcqcn dcqcn-half",
		"timely+win":            "timely+win",
		"all,dcqcn-half":        strings.Join(cc.Names(), " ") + " dcqcn-half",
		"dcqcn,all":             "error: congestion control dcqcn is listed twice",
		"dcqcn-half,dcqcn-Half": "error: congestion control dcqcn-half is listed twice",
		"dcqcn-halff":           `error: unknown congestion controller "dcqcn-halff": did you mean small's variant "dcqcn-half"?`,
	} {
		names, err := s.ControllerNames(strings.Split(given, ","))
		got := strings.Join(names, " ")
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", given, got, want)
		}
	}
	if _, err := s.ControllerNames([]string{"zzz"}); err == nil ||
		!strings.HasSuffix(err.Error(), "; small has the variants dcqcn-half, dcqcn-xoff, dcqcn-acks, dcqcn-class") {
		t.Errorf("zzz: %v", err)
	}
	if err := Check(s, []string{"dcqcn-half", "nobody"}); err == nil || strings.Count(err.Error(), "\n") != 0 {
		t.Errorf("Check: %v", err)
	}
}
