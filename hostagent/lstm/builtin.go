package lstm

import _ "embed"

//go:embed weights.json
var builtIn []byte

// BuiltIn returns the weights that come with the program, as pausenet train lstm wrote them.
func BuiltIn() (*Weights, error) { return Parse("weights.json (built-in)", builtIn) }
