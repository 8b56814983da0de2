// Package audit reads the configurations of switches, NICs and cables, and finds settings that drop lossless frames,
// spread PAUSE without need, or disable congestion control.
//
// Files:
//
//   - Audits: audit.go (the entry), finding.go (results), model.go (a fabric: switches, NICs, links).
//   - Readers: read.go (chooses the reader, and joins cables), database.go (tables of SONiC), readsonic.go (a switch),
//     readport.go (a port), readnic.go and readcabling.go. Other systems: tree.go (statements that nest), readeos.go,
//     readnvue.go and readjunos.go.
//   - Rules: rules.go (the catalogue), ruleheadroom.go, rulebuffer.go, ruleecn.go, rulepfc.go, ruleclass.go,
//     rulewatchdog.go and rulelink.go. scenario.go has the scenarios that show consequences.
//   - Output: markdown.go, sarif.go and baseline.go.
package audit
