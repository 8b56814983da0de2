//go:build !wazero

package kernel

import (
	"errors"

	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/topologies"
)

// CheckWazero returns the error that this program lacks the wazero plane, which only comparisons need.
func CheckWazero() error {
	return errors.New("this program was built without the wazero plane, which is for comparisons " +
		"(build it with go build -tags wazero ./cmd/pausenet, or use --plane wasm, with equal results)")
}

func openWazero(*topologies.Plan, plane.Features) (plane.Plane, error) { return nil, CheckWazero() }
