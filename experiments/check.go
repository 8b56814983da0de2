package experiments

import (
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/hostagent/cc"
)

// Check finds the mistakes that show only once a scenario meets its controllers: constants that they do not have or that
// cannot work.
func Check(s *Scenario, controllers []string) error {
	var errs []error
	for _, name := range controllers {
		own, name, spec, err := s.under(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r := &runner{scenario: own, name: name, spec: spec, environments: map[cc.Env]cc.Settings{}}
		if err := r.resolveControllers(); err != nil {
			errs = append(errs, fmt.Errorf("scenario %s: %w", s.Name, err))
		}
	}
	return errors.Join(errs...)
}
