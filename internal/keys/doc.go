// Package keys declares the keys of mappings in users' files. A row of a Table declares a key: its kind, bounds,
// default and meaning, and the variable to which it is bound. Everything else is derived from the rows: reading files
// and --set, views for programs and for people, range checks, completion, tables in documents, the JSON Schema and the
// fuzzers. So a new key is one row.
//
// A table is bound to one value, like the flags of package flag:
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
// The reader's Go code checks rules between two keys, such as from before to.
//
// A Table holds pointers into its value. Two goroutines must not decode into one Table.
//
// Files:
//
//   - The row: key.go. The kinds of values: value.go, priority.go, text.go.
//   - Uses of the rows: decode.go (reading), view.go (showing), jsonschema.go, document.go.
package keys
