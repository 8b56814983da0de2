package lab

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/pausenet/pausenet/internal/escape"
	"github.com/pausenet/pausenet/internal/files"
)

// These constants configure winnowing (Schleimer, Wilkerson and Aiken, SIGMOD 2003), the comparison that MOSS uses. It
// hashes each run of gramTokens tokens, and keeps the least hash of each window of windowGrams runs as a fingerprint.
// Two programs that share a run of gramTokens+windowGrams-1 tokens share a fingerprint.
const (
	gramTokens  = 12
	windowGrams = 6
	leastPrints = 8   // shorter programs are alike by chance
	leastShare  = 0.5 // of the shorter program's fingerprints
	// commonShare is the share of the class from which a fingerprint counts as the exercise's: a part of its text or of
	// the lecture.
	commonShare = 0.25
	leastCommon = 4
)

// Pair describes two similar submissions.
type Pair struct {
	A, B  string
	File  string
	Share float64 // of the shorter one's fingerprints that the other has too; 1 for equal files
	Equal bool
}

// Similar returns the pairs of submissions with similar controllers, the most similar first. What start/ has does not
// count.
func Similar(e *Exercise, found []Found) (pairs []Pair) {
	for _, names := range e.Controllers {
		var base map[uint64]bool
		if data, err := fs.ReadFile(e.Files, StartFolder+"/"+names[0]); err == nil {
			base = fingerprints(data)
		}
		pairs = append(pairs, similar(e, found, names, base)...)
	}
	slices.SortStableFunc(pairs, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
	})
	return pairs
}

func similar(e *Exercise, found []Found, names []string, base map[uint64]bool) (pairs []Pair) {
	prints := make([]map[uint64]bool, len(found))
	sums := make([][sha256.Size]byte, len(found))
	modules := make([]bool, len(found)) // whose programs have no tokens
	count := map[uint64]int{}
	for i, f := range found {
		paths, _ := e.locate(f.Folders)
		for _, name := range names {
			data, err := files.Read(paths[name], submittedFile)
			if err != nil {
				continue
			}
			sums[i], prints[i] = sha256.Sum256(data), map[uint64]bool{}
			if filepath.Ext(name) == ".star" {
				prints[i] = fingerprints(data)
			}
			modules[i] = filepath.Ext(name) != ".star"
			for p := range prints[i] {
				if base[p] {
					delete(prints[i], p)
				}
				count[p]++
			}
		}
	}
	common := max(leastCommon, int(commonShare*float64(len(found))))
	for i := range prints {
		for j := range prints[:i] {
			if prints[i] == nil || prints[j] == nil {
				continue
			}
			shared := 0
			for p := range prints[i] {
				if prints[j][p] && count[p] <= common {
					shared++
				}
			}
			own := min(rare(prints[i], count, common), rare(prints[j], count, common))
			p := Pair{A: found[j].Name, B: found[i].Name, File: names[0], Equal: sums[i] == sums[j]}
			switch {
			case p.Equal && (own >= leastPrints || modules[i]):
				p.Share = 1
			case own >= leastPrints:
				p.Share = float64(shared) / float64(own)
			}
			if p.Share >= leastShare {
				pairs = append(pairs, p)
			}
		}
	}
	return pairs
}

// rare counts the fingerprints that few submissions have.
func rare(prints map[uint64]bool, count map[uint64]int, common int) (n int) {
	for p := range prints {
		if count[p] <= common {
			n++
		}
	}
	return n
}

// fingerprints returns the fingerprints of a program.
func fingerprints(source []byte) map[uint64]bool {
	tokens := tokensOf(string(source))
	var hashes []uint64
	for i := range max(0, len(tokens)-gramTokens+1) {
		h := fnv.New64a()
		for _, t := range tokens[i : i+gramTokens] {
			_, _ = h.Write([]byte(t + "\x00"))
		}
		hashes = append(hashes, h.Sum64())
	}
	prints := map[uint64]bool{}
	for i := range max(0, len(hashes)-windowGrams+1) {
		prints[slices.Min(hashes[i:i+windowGrams])] = true
	}
	return prints
}

// keptNames lists the names that students cannot choose: of the language and of the interface.
var keptNames = strings.Fields("def if elif else for while in return pass break continue and or not lambda None " +
	"True False " +
	"init preset on_ack on_cnp on_cnm on_nak on_timeout on_timer on_sent flow ack cnp cnm path params needs rate " +
	"window timer " +
	"moves rtt now ce ue hops elapsed tx_delta queue_gradient queue_bytes tx_bytes departed line_rate base_rtt mtu " +
	"line_mtu " +
	"acked_bytes ack_sequence next_send in_flight min max abs sqrt floor ceil round int clamp len range list sorted sum")

// tokensOf returns the tokens of a program, without what can be changed without changing the program: comments, spaces,
// the names that students choose, numbers and texts.
func tokensOf(source string) (tokens []string) {
	for r := []rune(source); len(r) > 0; {
		n := 1
		take := func(ok func(rune) bool) {
			for n < len(r) && ok(r[n]) {
				n++
			}
		}
		switch c := r[0]; {
		case c == '#':
			take(func(c rune) bool { return c != '\n' })
		case unicode.IsSpace(c):
		case c == '"' || c == '\'':
			take(func(d rune) bool { return d != c && d != '\n' })
			n = min(n+1, len(r))
			tokens = append(tokens, `""`)
		case unicode.IsDigit(c):
			take(func(c rune) bool { return unicode.IsDigit(c) || unicode.IsLetter(c) || c == '.' })
			tokens = append(tokens, "0")
		case unicode.IsLetter(c) || c == '_':
			take(func(c rune) bool { return unicode.IsDigit(c) || unicode.IsLetter(c) || c == '_' })
			if name := string(r[:n]); slices.Contains(keptNames, name) {
				tokens = append(tokens, name)
			} else {
				tokens = append(tokens, "x")
			}
		default:
			tokens = append(tokens, string(c))
		}
		r = r[n:]
	}
	return tokens
}

// similarFile lists similar submissions.
const similarFile = "similar.csv"

// WriteSimilar writes the list of similar submissions into a class's folder, also if it is empty.
func WriteSimilar(folder string, pairs []Pair) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"student", "other", "file", "alike"}) // a Buffer does not fail
	for _, p := range pairs {
		alike := fmt.Sprintf("%.0f %%", 100*p.Share)
		if p.Equal {
			alike = "equal"
		}
		_ = w.Write([]string{escape.Cell(p.A), escape.Cell(p.B), p.File, alike})
	}
	w.Flush()
	return writeFile(folder, similarFile, b.Bytes())
}

// writeFile writes a file into a class's folder.
func writeFile(folder, name string, data []byte) error {
	out, err := files.OpenFolder(folder, folder)
	if err != nil {
		return err
	}
	defer out.Close()
	return out.Write(name, data)
}
