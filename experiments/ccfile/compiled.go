//go:build !js

package ccfile

import "github.com/pausenet/pausenet/hostagent/guest/wasm"

// A browser's tab has no compiler for them, and would be a fifth larger with what runs them.
func init() { languages[".wasm"] = wasm.Read }
