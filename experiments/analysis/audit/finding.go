package audit

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Severity ranks findings.
type Severity int

// Severities, from least to most.
const (
	Note    Severity = iota // worth knowing
	Warning                 // lossless behaviour depends on traffic, or congestion control is weakened
	Error                   // lossless frames can be dropped, or the class is not lossless end to end
)

// String returns the severity as SARIF names levels.
func (s Severity) String() string { return [...]string{"note", "warning", "error"}[s] }

// MarshalJSON writes the severity's name.
func (s Severity) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// Place represents a position in a configuration.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"` // from 1; 0: unknown
	Key  string `json:"key,omitempty"`  // such as BUFFER_PROFILE|name|xoff
}

// String returns file, line and key.
func (p Place) String() string {
	text := p.File
	if p.Line > 0 {
		text += fmt.Sprintf(":%d", p.Line)
	}
	if p.Key != "" {
		text += ": " + p.Key
	}
	return text
}

// Finding represents a violation of a rule.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Place
	Ports    []string `json:"ports,omitempty"` // affected, as switch:port
	Message  string   `json:"message"`
	Evidence []string `json:"evidence,omitempty"` // arithmetic or path, line by line
	Remedy   string   `json:"remedy"`
	// Scenario holds the text of a scenario that shows the consequence; empty: no run can show it.
	Scenario string `json:"scenario,omitempty"`
	// Run holds the result of that scenario, if it was run.
	Run *Run `json:"run,omitempty"`
	// View holds the command that plays the scenario in a browser, if it was written into a file.
	View string `json:"view,omitempty"`

	words *strings.Replacer // of the switch's system; nil: SONiC's
}

// ScenarioName returns the name of the scenario's file.
func (f *Finding) ScenarioName() string { return f.Rule + "-" + f.ID() + ".yaml" }

// shown returns the lines about the scenario's run.
func (f *Finding) shown() (lines []string) {
	if f.Run != nil {
		lines = append(lines, "run: "+f.Run.String())
	}
	switch {
	case f.View != "":
		lines = append(lines, "view: "+f.View)
	case f.Run != nil:
		lines = append(lines, "view: add --scenarios DIR, then pausenet view DIR/"+f.ScenarioName())
	}
	return lines
}

// words returns a replacer of lines of the form SONIC'S WORDS => OTHERS.
func words(lines string) *strings.Replacer {
	var pairs []string
	for _, line := range strings.Split(lines, "\n") {
		from, to, _ := strings.Cut(line, " => ")
		pairs = append(pairs, from, to)
	}
	return strings.NewReplacer(pairs...)
}

// say returns a format with the settings' names of the switch's system.
func (f *Finding) say(format string) string {
	if f.words != nil {
		return f.words.Replace(format)
	}
	return format
}

// Run holds the results of a scenario of a finding.
type Run struct {
	Dropped     int64  `json:"dropped_lossless_frames"`
	All         int64  `json:"dropped_frames"`
	Pauses      int64  `json:"pauses"`
	Marks       int64  `json:"ecn_marks"`
	Fingerprint string `json:"fingerprint"`
}

// because adds a line of evidence.
func (f *Finding) because(format string, args ...any) *Finding {
	f.Evidence = append(f.Evidence, fmt.Sprintf(f.say(format), args...))
	return f
}

// remedy sets the remedy.
func (f *Finding) remedy(format string, args ...any) *Finding {
	f.Remedy = fmt.Sprintf(f.say(format), args...)
	return f
}

// shows sets the scenario.
func (f *Finding) shows(scenario string) *Finding {
	f.Scenario = scenario
	return f
}

// Report holds the results of an audit.
type Report struct {
	Switches   int        `json:"switches"`
	Hosts      int        `json:"hosts"`
	Links      int        `json:"links"`
	Ignored    []string   `json:"ignored_files,omitempty"`
	Findings   []*Finding `json:"findings"`
	Landings   []Landing  `json:"landings,omitempty"`
	Suppressed int        `json:"suppressed_by_baseline,omitempty"`
}

// Landing holds where packets of a DSCP land, and the devices at which they do.
type Landing struct {
	DSCP    int      `json:"dscp"`
	Path    string   `json:"path"`
	Devices []string `json:"devices"`
}

// Worst returns the highest severity; ok is false without findings.
func (r *Report) Worst() (s Severity, ok bool) {
	for _, f := range r.Findings {
		s = max(s, f.Severity)
	}
	return s, len(r.Findings) > 0
}
