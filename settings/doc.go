// Package settings declares the settings of switches, hosts and faults that users may change, as tables of package
// keys. A row also tells whether a key can change while a fabric works; the live command set reads that.
//
//	s := settings.DefaultSwitch()
//	settings.Switch(&s, &b).Decode(value)
//
// The Validate methods of the types check rules between two settings, such as XON below XOFF. They return a
// schema.FieldError with the path of the wrong key.
//
//   - Decode reports mistakes to the report of the value that it reads, and does not change the fields of such values.
//     Callers check the report (yamlspec.Report.Err) before they use the settings.
//   - CheckSwitch and CheckHost check settings that were made in Go: their bounds, and the rules between settings.
//   - Zero is a valid value: begin with DefaultSwitch and DefaultHost, not with an empty struct.
package settings
