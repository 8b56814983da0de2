package audit

import (
	"net/url"
	"slices"
	"strings"
)

// The types below are the part of the SARIF 2.1.0 object model (OASIS, 2020) that an audit fills: section 3.13 and
// the sections named at each.
type (
	// SARIF represents a log.
	SARIF struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct { // 3.14
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct { // 3.18
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct { // 3.19
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct { // 3.49
		ID      string       `json:"id"`
		Short   sarifMessage `json:"shortDescription"`
		Full    sarifMessage `json:"fullDescription"`
		Default sarifLevel   `json:"defaultConfiguration"`
	}
	sarifLevel struct { // 3.50
		Level string `json:"level"`
	}
	sarifMessage struct { // 3.11
		Text string `json:"text"`
	}
	sarifResult struct { // 3.27
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifMessage      `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct { // 3.28
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct { // 3.29
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct { // 3.4
		URI string `json:"uri"`
	}
	sarifRegion struct { // 3.30
		StartLine int `json:"startLine"`
	}
	sarifLogical struct { // 3.33
		Name string `json:"fullyQualifiedName"`
	}
)

// SARIF returns the findings as a log of SARIF 2.1.0.
func (r *Report) SARIF(version string) *SARIF {
	driver := sarifDriver{Name: "pausenet", Version: version}
	index := map[string]int{}
	for i := range Rules {
		of := &Rules[i]
		index[of.ID] = i
		driver.Rules = append(driver.Rules, sarifRule{
			ID: of.ID, Short: sarifMessage{of.Title}, Full: sarifMessage{of.Title + ". Source: " + of.Source + "."},
			Default: sarifLevel{of.Severity.String()},
		})
	}
	run := sarifRun{Tool: sarifTool{driver}, Results: []sarifResult{}}
	for _, f := range r.Findings {
		text := f.Message
		if len(f.Ports) > 0 {
			text += " (" + few(f.Ports) + ")"
		}
		text += "\n" + strings.Join(slices.Concat(f.Evidence, []string{"remedy: " + f.Remedy}, f.shown()), "\n")
		at := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{(&url.URL{Path: f.File}).EscapedPath()}}}
		if f.Line > 0 {
			at.Physical.Region = &sarifRegion{f.Line}
		}
		if f.Key != "" {
			at.Logical = []sarifLogical{{f.Key}}
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Rule, RuleIndex: index[f.Rule], Level: f.Severity.String(), Message: sarifMessage{text},
			Locations: []sarifLocation{at}, Fingerprints: map[string]string{"pausenet/v1": f.ID()},
		})
	}
	return &SARIF{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}
