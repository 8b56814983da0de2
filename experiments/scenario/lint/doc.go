// Package lint finds likely mistakes in a valid scenario: settings that may drop lossless frames, settings without
// effect, and routes that can deadlock. A run does not need it: programs that run scenarios for people show what it
// finds.
//
// Files:
//
//   - lint.go (Warnings, LiveWarnings) and warner.go (what the other files share);
//   - loss.go (lossless frames may be dropped), pause.go (PAUSE and priorities), signals.go (marks and telemetry);
//   - cycle.go (routes that can deadlock), balancing.go (load balancing);
//   - flows.go (flows and their controllers), idle.go (settings without effect).
package lint
