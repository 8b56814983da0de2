package sonic

import (
	"fmt"
	"strconv"
	"strings"
)

// Lookup is a platform's pg_profile_lookup.ini: the lossless profile of a port by its speed and cable. SONiC makes
// BUFFER_PG's lossless rows of it as ports come up, so that a configuration need not have them.
type Lookup map[lookupKey]map[string]string

type lookupKey struct {
	speed int64 // Mb/s
	cable string
}

// lookupFields are the columns, in their order. The last may be missing.
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
			return nil, fmt.Errorf("line %d: %d columns; speed, cable, size, xon, xoff, threshold and perhaps xon_offset are expected", i+1, len(words))
		}
		speed, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %q is no speed in Mbps", i+1, words[0])
		}
		row := map[string]string{}
		for k, word := range words[2:] {
			row[lookupFields[k]] = word
		}
		l[lookupKey{speed, words[1]}] = row
	}
	if len(l) == 0 {
		return nil, fmt.Errorf("no profile is in it: lines such as \"100000 40m 4608 4608 160000 0 4608\" are expected")
	}
	return l, nil
}
