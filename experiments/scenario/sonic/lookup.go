package sonic

import (
	"errors"
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

// LookupRow represents a line of a pg_profile_lookup.ini. Fields holds the columns after the cable, by name.
type LookupRow struct {
	Line   int
	Speed  int64  // Mb/s
	Cable  string // such as 40m
	Fields map[string]string
}

// lookupFields lists the columns in order. The last is optional.
var lookupFields = []string{"size", "xon", "xoff", "dynamic_th", "xon_offset"}

// ErrNoProfiles reports a file of comments only.
var ErrNoProfiles = errors.New("the file has no profiles: expected lines such as \"100000 40m 4608 " +
	"4608 160000 0 4608\"")

// LookupRows reads the file: speed, cable, size, xon, xoff, threshold and, on some platforms, xon_offset.
func LookupRows(data []byte) (rows []LookupRow, err error) {
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
		row := LookupRow{Line: i + 1, Speed: speed, Cable: words[1], Fields: map[string]string{}}
		for k, word := range words[2:] {
			row.Fields[lookupFields[k]] = word
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, ErrNoProfiles
	}
	return rows, nil
}

// ParseLookup reads the file. A later line replaces an earlier one with the same speed and cable.
func ParseLookup(data []byte) (Lookup, error) {
	rows, err := LookupRows(data)
	if err != nil {
		return nil, err
	}
	l := Lookup{}
	for _, row := range rows {
		l[lookupKey{row.Speed, row.Cable}] = row.Fields
	}
	return l, nil
}

// Metres parses the row's cable, in metres.
func (r *LookupRow) Metres() (int64, error) {
	return metres(fmt.Sprintf("line %d", r.Line), r.Cable)
}

// Bytes parses a field of the row with a number of bytes.
func (r *LookupRow) Bytes(field string) (int64, error) {
	return bytesOf(fmt.Sprintf("line %d: %s", r.Line, field), r.Fields[field])
}
