package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/pausenet/pausenet/experiments/scenario"
)

// seedFlag is a flag's seed.
type seedFlag uint64

// String is the flag's text.
func (s *seedFlag) String() string { return strconv.FormatUint(uint64(*s), 10) }

// Type is what help calls the flag's value.
func (*seedFlag) Type() string { return "seed" }

// Set reads the flag.
func (s *seedFlag) Set(text string) error {
	seed, err := scenario.ParseSeed(text)
	if err == nil {
		*s = seedFlag(seed)
	}
	return err
}

// atLeastOne refuses a flag's number below 1.
func atLeastOne(flags *pflag.FlagSet, name string) error {
	if n, err := flags.GetInt(name); err != nil || n < 1 {
		return badInput(fmt.Errorf("--%s %s: at least 1", name, flags.Lookup(name).Value))
	}
	return nil
}

// count is a number of things: "1 hop", "3 hops".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
