//go:build !wazero

package kernel

import (
	"errors"

	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/topologies"
)

// HasWazero says why this program has no wazero plane: only comparing needs it.
func HasWazero() error {
	return errors.New("this program was built without the wazero plane, which is for comparing: build it with go build -tags wazero ./cmd/pausenet, or use --plane wasm, whose results are equal")
}

func openWazero(*topologies.Plan, plane.Features) (plane.Plane, error) { return nil, HasWazero() }
