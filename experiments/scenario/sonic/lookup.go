package sonic

import (
	"fmt"
	"strconv"
	"strings"
)

// Lookup represents a platform's pg_profile_lookup.ini: a port's lossless profile by its speed and cable. SONiC creates
// the lossless rows of BUFFER_PG from it when ports come up, so a configuration may lack them.
type Lookup map[lookupKey]map[string]string

type lookupKey struct {
	speed int64 // Mb/s
	cable string
}

// lookupFields lists the columns in order. The last is optional.
var lookupFields = []string{"size", "xon", "xoff", "dynamic_th", "xon_offset"}

// ParseLookup reads the file: speed, cable, size, xon, xoff, threshold and, on some platforms, xon_offset.
func ParseLookup(data []byte) (Lookup, error) {
	l := Lookup{}
	for i, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if n := len(words) - 2; n < 4 || n > len(lookupFields) {
			return nil, fmt.Errorf("line %d has %d columns: expected speed, cable, size, xon, xoff, threshold and optionally "+
				"xon_offset", i+1, len(words))
		}
		speed, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %q is not a speed in Mbps", i+1, words[0])
		}
		row := map[string]string{}
		for k, word := range words[2:] {
			row[lookupFields[k]] = word
		}
		l[lookupKey{speed, words[1]}] = row
	}
	if len(l) == 0 {
		return nil, fmt.Errorf("the file has no profiles: expected lines such as \"100000 40m 4608 4608 160000 0 4608\"")
	}
	return l, nil
}
