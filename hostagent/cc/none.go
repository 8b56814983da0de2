package cc

var noneSpec = define(Spec{
	Name:      "none",
	Summary:   "No congestion control: every flow at line rate. Only PFC prevents loss.",
	Source:    "the baseline of the DCON paper's section 3.1",
	Departure: DepartureStays,
}, func(env Env, _ *Settings) (*constant, error) {
	return &constant{rate: float64(env.LineRate)}, nil
}, func(_ Env, c *constant) Controller {
	return c // It has no state, so all flows may share it.
})

// constant sends at one rate, whatever happens.
type constant struct {
	Base
	rate float64
}

// Constant returns a controller that always sends at the same rate, in bits per second of line time.
func Constant(rate float64) Controller { return &constant{rate: rate} }

// Rate returns the one rate.
func (c *constant) Rate() float64 { return c.rate }

// Retimes returns false, as the rate does not change.
func (c *constant) Retimes() bool { return false }
