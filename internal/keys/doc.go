// Package keys declares the keys of mappings in users' files. A row of a Table declares a key: its kind, bounds,
// default and meaning, and the variable that it is bound to. Reading files and --set, the views for programs and for
// people, range checks, completion, the tables of the documents, the JSON Schema and the fuzzers go by the rows, so
// that a new key is one row.
//
// A table is bound to one value, as flags are by package flag:
//
//	type span struct{ from, to vtime.Time }
//
//	func (s *span) keys() keys.Table {
//		return keys.Table{
//			keys.Time("from", &s.from).Need().Means("start of the interval"),
//			keys.Time("to", &s.to).Need().Means("end of the interval"),
//		}
//	}
//
// Rules between two keys, such as from before to, are Go code of the reader.
//
// A Table holds pointers into the value that it is bound to. It must not outlive it, and two goroutines must not
// decode into one.
//
// Files:
//
//   - The row: key.go. The kinds of values: value.go, priority.go, text.go.
//   - What goes by the rows: decode.go (reading), view.go (showing), jsonschema.go, document.go.
package keys
