package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// File holds a file to audit.
type File struct {
	Name string
	Data []byte
}

// Assumptions holds what configurations do not say.
type Assumptions struct {
	// payload of a full lossless packet, in bytes, for switches without LOSSLESS_TRAFFIC_PATTERN
	LosslessMTU int
	Cell        units.Bytes                 // of the ASICs' buffers; 0: bytes are counted
	Response    func(units.Rate) vtime.Time // of hardware to PAUSE, both ends together; nil: none
}

// Audit reads the files and applies all rules. Files that no reader knows are returned in Report.Ignored.
func Audit(list []File, assume Assumptions) (*Report, error) {
	if assume.LosslessMTU == 0 {
		assume.LosslessMTU = 1024
	}
	fabric, ignored, err := Read(list)
	if err != nil {
		return nil, err
	}
	r := &Report{
		Switches: len(fabric.Switches), Hosts: len(fabric.Hosts), Links: len(fabric.Links), Ignored: ignored,
		Findings: []*Finding{},
	}
	if len(fabric.Switches)+len(fabric.Hosts) == 0 && (len(fabric.Links) == 0 || len(fabric.Tree) == 0) {
		return nil, fmt.Errorf("no configuration among %d files: expected config_db.json, mlnx_qos output and the like "+
			"(see docs/audit.md)",
			len(list))
	}
	a := &auditor{fabric: fabric, assume: assume, report: r}
	for i := range Rules {
		a.rule = &Rules[i]
		a.rule.check(a)
	}
	r.Landings = a.landings()
	r.resolveLines(list)
	r.sort()
	return r, nil
}

// auditor holds the state of an audit.
type auditor struct {
	fabric *Fabric
	assume Assumptions
	report *Report
	rule   *Rule
}

// at starts a finding of the current rule. Findings in a file that differ only in their ports become one, at the place
// of the first.
func (a *auditor) at(p Place, port *Port, message string, args ...any) *Finding {
	f := &Finding{Rule: a.rule.ID, Severity: a.rule.Severity, Place: p}
	if port != nil {
		f.Ports, f.words = []string{port.Label()}, port.Switch.words
	}
	f.Message = fmt.Sprintf(f.say(message), args...)
	for _, of := range a.report.Findings {
		if of.Rule == f.Rule && of.File == f.File && of.Message == f.Message && (port != nil || of.Place == f.Place) {
			for _, name := range f.Ports {
				if !slices.Contains(of.Ports, name) {
					of.Ports = append(of.Ports, name)
				}
			}
			return &Finding{} // the caller's evidence is that of the first
		}
	}
	a.report.Findings = append(a.report.Findings, f)
	return f
}

// sort orders findings by severity, then by rule and place.
func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(x, y *Finding) int {
		return cmp.Or(cmp.Compare(y.Severity, x.Severity), strings.Compare(x.Rule, y.Rule), strings.Compare(x.File, y.File),
			cmp.Compare(x.Line, y.Line), strings.Compare(x.Key, y.Key))
	})
}
