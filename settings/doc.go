// Package settings is the one table of what users may set of switches, hosts and faults. A row declares a key of scenario files: its kind,
// bounds and meaning, whether it can change while a fabric works, and the field that it is bound to. Reading files and --set, the
// views for programs and for people, range checks, completion, the live set, the tables of docs/scenarios.md, the JSON Schema and the
// fuzzers go by the rows, so that a new setting is one row.
//
// A table is bound to one value, as flags are by package flag:
//
//	s := settings.DefaultSwitch()
//	settings.Switch(&s).Decode(value)
//
// What is between two settings, such as XON below XOFF, is no row's. It is Go, in the Validate methods of what is set, which return
// a schema.FieldError with the path of the key that is wrong.
//
//   - Decode reports mistakes to the report of the value that it reads, and leaves their fields as they were. Whoever reads asks the report
//     (yamlspec.Report.Err) before the settings are used.
//   - CheckSwitch and CheckHost are for settings that were made in Go. They check bounds and what is between settings.
//   - Zero is a value like others: begin with DefaultSwitch and DefaultHost, not with an empty struct.
//   - A Table holds pointers into the value that it is bound to. It must not outlive it, and two goroutines must not decode into one.
//
// Where what is:
//
//   - What can be set: switch.go, host.go, fault.go, and occurrence.go (when faults happen).
//   - What a row is: setting.go, and value.go (the kinds of values).
//   - What goes by the rows: decode.go (reading), view.go (showing), jsonschema.go.
package settings
