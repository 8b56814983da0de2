package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Decoded holds a replay whose columns can be read.
type Decoded struct {
	Header
	columns map[string]placed
}

// placed describes a column in the file.
type placed struct {
	column
	data []byte
}

// errShort means that a column ends before its rows do.
var errShort = errors.New("damaged: a column is shorter than its rows")

// Decode reads a replay that Read has made.
func Decode(packed []byte) (*Decoded, error) {
	d := &Decoded{columns: map[string]placed{}}
	data, err := unpack(packed, &d.Header)
	if err != nil {
		return nil, err
	}
	for _, c := range d.Columns {
		if c.Bytes < 0 || c.Bytes > len(data) {
			return nil, errShort
		}
		d.columns[c.Name] = placed{c, data[:c.Bytes]}
		data = data[c.Bytes:]
	}
	return d, nil
}

// Column decodes a column: a slice of numbers for each row. It returns nil if the replay has no such column.
func (d *Decoded) Column(name string) ([][]int64, error) {
	c, data := d.columns[name], d.columns[name].data
	// Equal numbers may take no room, so the file's length does not bound their count. A row takes at least a byte.
	if c.Rows < 0 || c.Rows > len(data) || c.Count < 0 || c.Count > mostUnpacked/8 {
		return nil, fmt.Errorf("column %s: %w", name, errShort)
	}
	number := func() uint64 {
		v, n := binary.Uvarint(data)
		if n <= 0 {
			data = nil
			return math.MaxUint64 // no count is as large, so that the row ends here
		}
		data = data[n:]
		return v
	}
	all, room := make([]int64, 0, c.Count), uint64(c.Count)
	rows := make([][]int64, c.Rows)
	for i := range rows {
		count, last, begin := number(), int64(0), len(all)
		if count > room {
			return nil, fmt.Errorf("column %s: %w", name, errShort)
		}
		room -= count
		for left := count; left > 0; {
			repeats := uint64(1)
			if v := number(); v == 0 {
				repeats = number() + 1
			} else {
				last += int64(v>>1) ^ -int64(v&1)
			}
			if repeats == 0 || repeats > left || data == nil {
				return nil, fmt.Errorf("column %s: %w", name, errShort)
			}
			for range repeats {
				all = append(all, last)
			}
			left -= repeats
		}
		rows[i] = all[begin:len(all):len(all)]
	}
	return rows, nil
}
