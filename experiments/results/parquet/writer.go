package parquet

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/bits"

	"github.com/klauspost/compress/zstd"

	"github.com/pausenet/pausenet/internal/table"
)

// A page's values are compressed together. A row group has so many rows that a reader can skip some, and a writer holds
// it in memory, compressed.
const (
	rowsInPage  = 1 << 14
	rowsInGroup = 1 << 17
)

// mostDictionary bounds a dictionary's texts, in bytes. Pages with more of them hold the texts themselves.
const mostDictionary = 1 << 20

// mostStatistic bounds the texts for which a file says the least and the largest, in bytes.
const mostStatistic = 64

// Numbers of the format (parquet.thrift).
const (
	typeInt64, typeDouble, typeByteArray      = 2, 5, 6
	convertedUTF8, convertedUint64            = 0, 14
	convertedInt64                            = 18
	encodingPlain, encodingRLE, encodingDelta = 0, 3, 5
	encodingDictionary                        = 8
	pageData, pageDictionary                  = 0, 2
	codecZstd                                 = 6
)

var magic = []byte("PAR1")

// Writer writes a file. It receives the values of a row, by column, and then a call of End.
type Writer struct {
	to      io.Writer
	offset  int64 // bytes written
	err     error // the first error of to
	zstd    *zstd.Encoder
	columns []*column
	next    int   // the column of the next value
	rows    int   // in the row group
	total   int64 // rows in all
	groups  int
	footer  *thrift // the row groups, each as it is in the footer's list
}

// column holds the values of a column.
type column struct {
	table.Column
	// The page. Present has an entry for each row, of a column with nulls.
	present []uint32
	numbers []uint64 // bits of numbers
	texts   []string
	// The row group.
	dictionary   map[string]uint32
	entries      []byte // the dictionary's texts, as they are written
	pages        []byte // data pages, compressed
	uncompressed int
	rows, nulls  int
	least, most  []byte
	unordered    bool // there are no least and largest values
}

func newWriter(to io.Writer, columns []table.Column) *Writer {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // there are no other options
	}
	w := &Writer{to: to, zstd: encoder, footer: newThrift()}
	for _, c := range columns {
		w.columns = append(w.columns, &column{Column: c, dictionary: map[string]uint32{}})
	}
	w.write(magic)
	return w
}

// Whole sets the value of a column of whole numbers.
func (w *Writer) Whole(v int64) { w.number(uint64(v)) }

// Unsigned sets the value of a column of whole numbers up to 2^64-1.
func (w *Writer) Unsigned(v uint64) { w.number(v) }

// Fraction sets the value of a column of other numbers.
func (w *Writer) Fraction(v float64) { w.number(math.Float64bits(v)) }

func (w *Writer) number(v uint64) {
	c := w.column(true)
	c.numbers = append(c.numbers, v)
}

// Text sets the value of a column of texts.
func (w *Writer) Text(s string) {
	c := w.column(true)
	c.texts = append(c.texts, s)
}

// Nothing leaves a column of numbers empty.
func (w *Writer) Nothing() { w.column(false) }

// column returns the column of the next value.
func (w *Writer) column(present bool) *column {
	c := w.columns[w.next]
	w.next++
	c.rows++
	switch {
	case c.Null && present:
		c.present = append(c.present, 1)
	case !present:
		c.present = append(c.present, 0)
		c.nulls++
	}
	return c
}

// End ends a row.
func (w *Writer) End() error {
	w.next = 0
	w.rows++
	w.total++
	if w.rows%rowsInPage == 0 {
		w.endPage()
	}
	if w.rows == rowsInGroup {
		w.endGroup()
	}
	return w.err
}

// Close writes what is left, and the footer.
func (w *Writer) Close() error {
	if w.rows%rowsInPage > 0 {
		w.endPage()
	}
	if w.rows > 0 {
		w.endGroup()
	}
	footer := w.schema()
	footer.i64(3, w.total)
	footer.list(4, thriftStruct, w.groups)
	footer.b = append(footer.b, w.footer.b...)
	footer.text(6, "pausenet")
	footer.list(7, thriftStruct, len(w.columns))
	for range w.columns { // values are ordered as their types are
		footer.open()
		footer.begin(1)
		footer.end()
		footer.end()
	}
	footer.b = append(footer.b, 0)
	w.write(footer.b)
	w.write(binary.LittleEndian.AppendUint32(nil, uint32(len(footer.b))))
	w.write(magic)
	return errors.Join(w.err, w.zstd.Close())
}

func (w *Writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(b)
	}
	w.offset += int64(len(b))
}

// schema starts the footer.
func (w *Writer) schema() *thrift {
	t := newThrift()
	t.i32(1, 2)
	t.list(2, thriftStruct, 1+len(w.columns))
	t.open()
	t.text(4, "table")
	t.i32(5, len(w.columns))
	t.end()
	for _, c := range w.columns {
		t.open()
		t.i32(1, c.physical())
		repetition := 0
		if c.Null {
			repetition = 1
		}
		t.i32(3, repetition)
		t.text(4, c.Name)
		switch c.Kind {
		case table.Text:
			t.i32(6, convertedUTF8)
			t.begin(10)
			t.begin(1)
			t.end()
			t.end()
		case table.Whole:
			t.integer(convertedInt64, thriftTrue)
		case table.Unsigned:
			t.integer(convertedUint64, thriftTrue+1)
		}
		t.end()
	}
	return t
}

// integer adds the type of whole numbers of 64 bits to a column's schema.
func (t *thrift) integer(converted int, signed byte) {
	t.i32(6, converted)
	t.begin(10)
	t.begin(10)
	t.field(1, thriftByte)
	t.b = append(t.b, 64)
	t.field(2, signed)
	t.end()
	t.end()
}

func (c *column) physical() int {
	switch c.Kind {
	case table.Text:
		return typeByteArray
	case table.Fraction:
		return typeDouble
	}
	return typeInt64
}

// endPage compresses the values of a page.
func (w *Writer) endPage() {
	for _, c := range w.columns {
		var page []byte
		rows := len(c.texts) + len(c.numbers)
		if c.Null {
			rows = len(c.present)
			levels := appendHybrid(nil, c.present, 1)
			page = append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
		}
		encoding := encodingDelta
		switch c.Kind {
		case table.Text:
			page, encoding = c.appendTexts(page)
		case table.Fraction:
			encoding = encodingPlain
			for _, v := range c.numbers {
				page = binary.LittleEndian.AppendUint64(page, v)
			}
		default:
			page = appendDeltas(page, c.numbers)
		}
		for _, v := range c.numbers {
			c.note(binary.LittleEndian.AppendUint64(nil, v))
		}
		w.appendPage(c, page, func(t *thrift) {
			t.begin(5)
			t.i32(1, rows)
			t.i32(2, encoding)
			t.i32(3, encodingRLE)
			t.i32(4, encodingRLE)
			t.end()
		}, pageData)
		c.present, c.numbers, c.texts = c.present[:0], c.numbers[:0], c.texts[:0]
	}
}

// appendTexts appends a page's texts: their positions in the dictionary or, if that is full, the texts.
func (c *column) appendTexts(page []byte) ([]byte, int) {
	positions := make([]uint32, 0, len(c.texts))
	for _, s := range c.texts {
		at, known := c.dictionary[s]
		if !known {
			if len(c.entries)+len(s) > mostDictionary {
				break
			}
			at = uint32(len(c.dictionary))
			c.dictionary[s] = at
			c.entries = appendText(c.entries, s)
			c.note([]byte(s))
		}
		positions = append(positions, at)
	}
	if len(positions) == len(c.texts) {
		width := max(1, bits.Len(uint(len(c.dictionary)-1)))
		return appendHybrid(append(page, byte(width)), positions, width), encodingDictionary
	}
	for _, s := range c.texts {
		page = appendText(page, s)
		c.note([]byte(s))
	}
	return page, encodingPlain
}

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
}

// appendPage appends a page with its header to the column's pages.
func (w *Writer) appendPage(c *column, page []byte, kind func(*thrift), number int) {
	compressed := w.zstd.EncodeAll(page, nil)
	t := newThrift()
	t.i32(1, number)
	t.i32(2, len(page))
	t.i32(3, len(compressed))
	kind(t)
	t.b = append(t.b, 0)
	c.pages = append(append(c.pages, t.b...), compressed...)
	c.uncompressed += len(t.b) + len(page)
}

// note keeps the least and the largest value.
func (c *column) note(v []byte) {
	if c.Kind == table.Text && len(v) > mostStatistic ||
		c.Kind == table.Fraction && math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(v))) {
		c.unordered = true
	}
	if c.unordered {
		return
	}
	if c.least == nil || c.less(v, c.least) {
		c.least = v
	}
	if c.most == nil || c.less(c.most, v) {
		c.most = v
	}
}

func (c *column) less(a, b []byte) bool {
	if c.Kind == table.Text {
		return string(a) < string(b)
	}
	x, y := binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b)
	switch c.Kind {
	case table.Fraction:
		return math.Float64frombits(x) < math.Float64frombits(y)
	case table.Unsigned:
		return x < y
	}
	return int64(x) < int64(y)
}

// endGroup writes a row group: for each column its dictionary and its pages.
func (w *Writer) endGroup() {
	t := w.footer
	t.open()
	t.list(1, thriftStruct, len(w.columns))
	start, uncompressed := w.offset, 0
	for _, c := range w.columns {
		uncompressed += w.endColumn(c)
	}
	t.i64(2, int64(uncompressed))
	t.i64(3, int64(w.rows))
	t.i64(6, w.offset-start)
	t.end()
	w.groups++
	w.rows = 0
}

// endColumn writes a column of a row group, and returns its uncompressed size.
func (w *Writer) endColumn(c *column) int {
	start := w.offset
	pages := c.pages
	encodings := []int{encodingRLE, encodingDelta}
	switch c.Kind {
	case table.Fraction:
		encodings[1] = encodingPlain
	case table.Text:
		encodings = []int{encodingPlain, encodingRLE, encodingDictionary}
	}
	if len(c.dictionary) > 0 {
		c.pages = nil
		w.appendPage(c, c.entries, func(t *thrift) {
			t.begin(7)
			t.i32(1, len(c.dictionary))
			t.i32(2, encodingPlain)
			t.end()
		}, pageDictionary)
		w.write(c.pages)
	}
	data := w.offset
	w.write(pages)
	t := w.footer
	t.open()
	t.i64(2, start)
	t.begin(3)
	t.i32(1, c.physical())
	t.list(2, thriftI32, len(encodings))
	for _, e := range encodings {
		t.b = binary.AppendVarint(t.b, int64(e))
	}
	t.list(3, thriftBinary, 1)
	t.element(c.Name)
	t.i32(4, codecZstd)
	t.i64(5, int64(c.rows))
	t.i64(6, int64(c.uncompressed))
	t.i64(7, w.offset-start)
	t.i64(9, data)
	if data > start {
		t.i64(11, start)
	}
	t.begin(12)
	t.i64(3, int64(c.nulls))
	if !c.unordered && c.least != nil {
		t.text(5, string(c.most))
		t.text(6, string(c.least))
	}
	t.end()
	t.end()
	t.end()
	size := c.uncompressed
	*c = column{
		Column: c.Column, dictionary: map[string]uint32{}, present: c.present, numbers: c.numbers, texts: c.texts,
		pages: pages[:0],
	}
	return size
}
