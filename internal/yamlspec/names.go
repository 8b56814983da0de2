package yamlspec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/spelling"
)

// maxRange limits the names of one sequence.
const maxRange = 1 << 16

// Name holds a name in a file and its position.
type Name struct {
	Text string
	At   *Value
}

// Names decodes a name, a list of names, or a sequence: "H2..H15" is H2, H3, ... H15.
func (v *Value) Names() []Name {
	var names []Name
	for _, item := range v.Items() {
		var s string
		if !item.String(&s) {
			continue
		}
		expanded, err := Expand(s)
		if err != nil {
			item.Errorf("%v", err)
			continue
		}
		for _, n := range expanded {
			names = append(names, Name{Text: n, At: item})
		}
		if len(names) > maxRange {
			item.Errorf("more than %d names in one list: shorten it", maxRange)
			return nil
		}
	}
	return names
}

// Expand returns the names of a sequence: "H2..H4" is H2, H3, H4. It keeps leading zeros: "n01..n12". Text without ".."
// is a single name. An equal suffix after a dot applies to each name: "h0.2..h7.2" is h0.2, h1.2, ... h7.2.
func Expand(s string) ([]string, error) {
	left, right, found := strings.Cut(s, "..")
	if !found {
		return []string{s}, nil
	}
	if dot := strings.LastIndex(right, "."); dot > 0 {
		begin, same := strings.CutSuffix(strings.TrimSpace(left), right[dot:])
		if names, err := Expand(begin + ".." + right[:dot]); same && err == nil {
			for i := range names {
				names[i] += right[dot:]
			}
			return names, nil
		}
	}
	leftWord, first := spelling.SplitNumber(strings.TrimSpace(left))
	rightWord, last := spelling.SplitNumber(strings.TrimSpace(right))
	if first == "" || last == "" || (rightWord != "" && rightWord != leftWord) {
		return nil, fmt.Errorf("%q is not a sequence (expected a form such as H2..H15)", s)
	}
	from, err := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	switch {
	case err != nil || err2 != nil || to-from >= maxRange:
		return nil, fmt.Errorf("sequence %q has more than %d names", s, maxRange)
	case to < from:
		return nil, fmt.Errorf("sequence %q runs backwards (write %s%s..%s%s)", s, leftWord, last, leftWord, first)
	}
	width := 0
	if strings.HasPrefix(first, "0") {
		width = len(first)
	}
	names := make([]string, 0, to-from+1)
	for i := from; i <= to; i++ {
		names = append(names, fmt.Sprintf("%s%0*d", leftWord, width, i))
	}
	return names, nil
}
