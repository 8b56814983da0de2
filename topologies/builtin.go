package topologies

import "embed"

// Builtin holds the files of the built-in topologies, builtin/NAME.yaml. Package spec reads them.
//
//go:embed builtin/*.yaml
var Builtin embed.FS
