// Package settings declares what users may set of switches, hosts and faults, as tables of package keys. A row also
// says whether a key can change while a fabric works; the live set goes by that.
//
//	s := settings.DefaultSwitch()
//	settings.Switch(&s, &b).Decode(value)
//
// Rules between two settings, such as XON below XOFF, are in the Validate methods of the types that are set. They
// return a schema.FieldError with the path of the key that is wrong.
//
//   - Decode reports mistakes to the report of the value that it reads, and leaves their fields as they were. Whoever
//     reads asks the report
//     (yamlspec.Report.Err) before the settings are used.
//   - CheckSwitch and CheckHost are for settings that were made in Go. They check bounds and the rules between
//     settings.
//   - Zero is a value like others: begin with DefaultSwitch and DefaultHost, not with an empty struct.
package settings
