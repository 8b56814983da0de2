package experiments

import (
	"fmt"
	"strconv"
)

// seedBits are the bits of the largest seed: what reads one as a signed number, and adds to it, does not overflow.
const seedBits = 62

// ParseSeed reads a seed.
func ParseSeed(text string) (uint64, error) {
	seed, err := strconv.ParseUint(text, 10, seedBits)
	if err != nil {
		return 0, fmt.Errorf("seed %q is not a whole number from 0 to 2^%d-1", text, seedBits)
	}
	return seed, nil
}
