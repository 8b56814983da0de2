// Package replay converts a run's folder to a replay for a page: one compressed file of columns.
//
// A container, the format of that file and of a run's record.bin, is gzip of
//
//	"pausenet columns 1\n"   the format and its version
//	length of the header     4 bytes, little-endian
//	header                   JSON; its field "columns" lists the columns, in the order in which they follow
//	columns                  one after the other
//
// A column is rows of whole numbers, such as a row for each port with a number for each sample. A row is its count of
// numbers as a varint (unsigned LEB128, as in encoding/binary) and the differences between neighbours, the first
// from 0: each as a varint of its zigzag form, or, where n neighbours in a row are equal, 0 and the varint n-1.
package replay

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/pausenet/pausenet/internal/files"
)

const magic = "pausenet columns 1\n"

// mostUnpacked limits the unpacked size of a file, which may be forged.
const mostUnpacked = 1 << 30

// file limits a file with a container.
var file = files.Kind{Name: "a record", Most: 256 << 20, Plain: true}

// row holds a row of a column during writing.
type row struct {
	data  []byte
	count int
	last  int64
	still int // equal numbers since the last difference
	most  int64
}

// add appends a number to the row.
func (r *row) add(v int64) {
	r.count++
	if v > r.most {
		r.most = v
	}
	if v == r.last {
		r.still++
		return
	}
	r.settle()
	r.data = binary.AppendVarint(r.data, v-r.last)
	r.last = v
}

// settle writes the equal numbers.
func (r *row) settle() {
	if r.still > 0 {
		r.data = binary.AppendUvarint(append(r.data, 0), uint64(r.still-1))
		r.still = 0
	}
}

// column describes a column in the header.
type column struct {
	Name  string `json:"name"`
	Rows  int    `json:"rows"`
	Count int    `json:"count"` // number of values, in all rows
	Most  int64  `json:"most"`  // largest value, at least 0; it determines the width of integers
	Bytes int    `json:"bytes"`
}

// writer writes columns one after another.
type writer struct {
	columns []column
	data    []byte
}

// put appends a column of rows.
func (w *writer) put(name string, rows ...row) {
	c := column{Name: name, Rows: len(rows)}
	begin := len(w.data)
	for i := range rows {
		r := &rows[i]
		r.settle()
		w.data = append(binary.AppendUvarint(w.data, uint64(r.count)), r.data...)
		c.Count += r.count
		c.Most = max(c.Most, r.most)
	}
	c.Bytes = len(w.data) - begin
	w.columns = append(w.columns, c)
}

// pack returns the container with a header. It passes the descriptions of the columns to set, which stores them in the
// header.
func (w *writer) pack(header any, set func([]column)) ([]byte, error) {
	set(w.columns)
	head, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.DefaultCompression)
	if err != nil {
		return nil, err
	}
	for _, part := range [][]byte{[]byte(magic), binary.LittleEndian.AppendUint32(nil, uint32(len(head))), head, w.data} {
		if _, err := z.Write(part); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// unpack reads a container's header into a value, and returns what follows.
func unpack(packed []byte, header any) (columns []byte, err error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("not a record of pausenet's, or damaged: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(z, mostUnpacked+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("damaged: %w", err)
	case len(data) > mostUnpacked:
		return nil, fmt.Errorf("unpacks to more than %d bytes", mostUnpacked)
	}
	rest, ours := bytes.CutPrefix(data, []byte(magic))
	if !ours || len(rest) < 4 {
		return nil, errors.New("a record of another pausenet")
	}
	n := int64(binary.LittleEndian.Uint32(rest))
	if rest = rest[4:]; n > int64(len(rest)) {
		return nil, errors.New("damaged: its header is longer than it is")
	}
	if err := json.Unmarshal(rest[:n], header); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	return rest[n:], nil
}
