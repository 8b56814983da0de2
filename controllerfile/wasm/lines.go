package wasm

import (
	"debug/dwarf"
	"encoding/binary"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/controllerfile"
)

// move maps an offset in the new section of code to its old offset. The code up to the next move has moved by the same
// distance.
type move struct{ now, was int }

// moves holds moves in order. Inserted code maps to the offset of the code after it.
type moves []move

// was returns the old offset of the code at a new one.
func (p moves) was(now int) int {
	i := sort.Search(len(p), func(i int) bool { return p[i].now > now }) - 1
	if i < 0 {
		return now
	}
	was := p[i].was + now - p[i].now
	if i+1 < len(p) {
		was = min(was, p[i+1].was)
	}
	return was
}

// offsetSections returns sections with which wazero reports the offsets of failed calls in the code. It reports an
// offset only together with a source line. So these sections are the debugging information (DWARF 4) of a source with
// one line, for all code.
func offsetSections() []section {
	const anywhere = 1 << 30
	word := binary.LittleEndian.AppendUint32
	unit := func(b []byte) []byte { return append(word(nil, uint32(len(b))), b...) }
	// The header of the lines: the least length of an instruction, operations of it, is a statement, base and range of
	// lines, opcode base with the lengths of the standard ones, no folders, one file.
	lines := []byte{1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 'f', 0, 0, 0, 0, 0}
	line := append(word([]byte{4, 0}, uint32(len(lines))), lines...)
	line = append(word(append(line, 0, 5, 2), 1), 1)                        // set the address to 1, a row
	line = append(binary.AppendUvarint(append(line, 2), anywhere), 0, 1, 1) // go on, and end
	// A unit from 1 on, with these lines.
	abbrev := []byte{1, 0x11, 0, 0x11, 0x01, 0x12, 0x06, 0x10, 0x17, 0, 0, 0}
	info := word([]byte{4, 0}, 0)
	info = word(word(word(append(info, 4, 1), 1), anywhere), 0)
	return []section{
		{name: ".debug_abbrev", content: abbrev},
		{name: ".debug_info", content: unit(info)},
		{name: ".debug_line", content: unit(line)},
	}
}

// frame describes a function in the stack of a failed call.
type frame struct {
	function string
	at       int // offset in the file's section of code; -1: unknown
}

var atPattern = regexp.MustCompile(`^\t\t0x([0-9a-f]+): f`)

// frames returns the frames of wazero's message, innermost first, without the functions that start counting.
func (p moves) frames(message string) (all []frame) {
	for _, line := range strings.Split(message, "\n") {
		if at := atPattern.FindStringSubmatch(line); at != nil && len(all) > 0 {
			if n, err := strconv.ParseInt(at[1], 16, 64); err == nil {
				all[len(all)-1].at = p.was(int(n))
			}
		} else if f := strings.TrimPrefix(line, "\t"); f != line && strings.Contains(f, "(") {
			f, _, _ = strings.Cut(f, "(")
			all = append(all, frame{function: strings.TrimPrefix(f, "."), at: -1})
		}
	}
	return all
}

// locate adds a position to a mistake: the function that was called last, and its line in the source if the module has
// debugging information.
func (p *program) locate(e *controllerfile.Error) {
	frames := p.metered.moves.frames(e.Trace)
	if len(frames) == 0 {
		return
	}
	last := blamed(frames)
	if last.function != e.Function && !strings.HasPrefix(last.function, "$") { // which is a function without a name
		e.Function = last.function + ", called by " + e.Function
	}
	switch s, ok := lineAt(p.content, last.at); {
	case ok:
		e.File += ": " + s.file
		e.Line, e.Column = s.line, s.column
	case last.at >= 0:
		e.Message += fmt.Sprintf(" (at 0x%x of its code; compile with -g to see the line)", last.at)
	}
}

var rustPattern = regexp.MustCompile(`^(rust_|(core|std|alloc)::|_ZN4core|_ZN3std|_ZN5alloc)`)

// blamed returns the frame to report for a mistake: the innermost outside of Rust's library, through which a panic
// passes.
func blamed(frames []frame) frame {
	return frames[max(0, slices.IndexFunc(frames, func(f frame) bool { return !rustPattern.MatchString(f.function) }))]
}

// source holds a position in a module's source.
type source struct {
	file         string
	line, column int
}

// debugging returns a module's debugging information (DWARF); nil without any.
func debugging(module []byte) *dwarf.Data {
	all, err := sections(module)
	if err != nil {
		return nil
	}
	debug := map[string][]byte{}
	for _, s := range all {
		if s.id == sectionCustom {
			debug[s.name] = s.content
		}
	}
	d, err := dwarf.New(debug[".debug_abbrev"], nil, nil, debug[".debug_info"], debug[".debug_line"], nil,
		debug[".debug_ranges"], debug[".debug_str"])
	if err != nil {
		return nil
	}
	for _, name := range []string{".debug_addr", ".debug_line_str", ".debug_str_offsets", ".debug_rnglists"} { // DWARF 5
		if debug[name] != nil && d.AddSection(name, debug[name]) != nil {
			return nil
		}
	}
	return d
}

// lineAt returns the position in the source of an offset in the section of code, if the module's debugging information
// (DWARF) has it.
func lineAt(module []byte, at int) (s source, ok bool) {
	defer func() {
		if recover() != nil { // the debugging information may be invalid
			ok = false
		}
	}()
	d := debugging(module)
	if d == nil {
		return s, false
	}
	for r := d.Reader(); ; {
		unit, err := r.Next()
		if err != nil || unit == nil {
			return s, false
		}
		if unit.Tag != dwarf.TagCompileUnit {
			r.SkipChildren()
			continue
		}
		if found, ok := lineOf(d, unit, uint64(at)); ok {
			return found, true
		}
		r.SkipChildren()
	}
}

// lineOf returns the position in a unit.
func lineOf(d *dwarf.Data, unit *dwarf.Entry, at uint64) (s source, found bool) {
	lines, err := d.LineReader(unit)
	if err != nil || lines == nil {
		return s, false
	}
	var before dwarf.LineEntry
	for in := false; ; {
		var e dwarf.LineEntry
		if err := lines.Next(&e); err == io.EOF {
			return s, found
		} else if err != nil {
			return s, false
		}
		// Functions that the linker has left out begin at an address that is none.
		if in && before.Address > 0 && before.Address <= at && at < e.Address && before.File != nil && before.Line > 0 {
			s, found = source{path.Base(strings.ReplaceAll(before.File.Name, `\`, "/")), before.Line, before.Column}, true
		}
		before, in = e, !e.EndSequence
	}
}
