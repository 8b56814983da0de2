package collective

import (
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// rows returns the rows of a table in testdata, written by testdata/collectives.py, without the column names.
func rows(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil || len(all) < 2 {
		t.Fatalf("%s: %d rows, %v", name, len(all), err)
	}
	return all[1:]
}

func whole(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTrees checks that the parents in the two trees agree with NCCL's and with Sanders, Speck and Träff's
// descriptions, which a script implements independently.
func TestTrees(t *testing.T) {
	for _, row := range rows(t, "trees.csv") {
		n := whole(t, row[1])
		trees := doubleTree(n)
		if strings.HasPrefix(row[0], "broadcast") {
			trees = broadcastTrees(n, whole(t, row[2]))
		}
		own := trees[whole(t, row[0][len(row[0])-1:])]
		if got := strings.Trim(fmt.Sprint(own.parent), "[]"); got != row[3] {
			t.Errorf("%s of %d ranks: parents %s, want %s", row[0], n, got, row[3])
		}
		seen := map[int]bool{-1: true}
		for _, position := range own.order {
			if seen[position] || !seen[own.parent[position]] {
				t.Errorf("%s of %d ranks: order %v of parents %v", row[0], n, own.order, own.parent)
			}
			seen[position] = true
		}
	}
}

// TestTreesShareTheLoad checks that nearly all ranks forward half of the data twice in one tree, and nothing in the
// other, so that none sends more than it receives.
func TestTreesShareTheLoad(t *testing.T) {
	for n := 3; n < 70; n++ {
		for name, trees := range map[string][2]tree{"all-reduce": doubleTree(n), "broadcast": broadcastTrees(n, n/3)} {
			children := make([]int, n)
			for _, own := range trees {
				for _, up := range own.parent {
					if up >= 0 {
						children[up]++
					}
				}
			}
			for position, k := range children {
				if k > 3 || k > 2 && name == "broadcast" {
					t.Errorf("%s of %d ranks: rank %d has %d children in both trees", name, n, position, k)
				}
			}
		}
	}
}

// TestParts: by default trees have NCCL's chunks, and other algorithms one.
func TestParts(t *testing.T) {
	for _, row := range rows(t, "chunks.csv") {
		s := Spec{Kind: AllReduce, Algorithm: Tree, Size: int64(whole(t, row[1]))}
		if got, want := s.Parts(whole(t, row[0])), whole(t, row[2]); got != want {
			t.Errorf("%d bytes among %s ranks: %d chunks, want %d", s.Size, row[0], got, want)
		}
		if s.Algorithm = Ring; s.Parts(16) != 1 {
			t.Errorf("a ring has %d chunks", s.Parts(16))
		}
	}
}

// TestPartsAtTheEdge checks the limit at which NCCL halves a chunk: if the trees have fewer than depth x 8 chunks. It
// does not at 2 x 512 KiB x 3 x 8 bytes among 8 ranks, and does with a byte less.
func TestPartsAtTheEdge(t *testing.T) {
	const edge = 2 * 512 << 10 * 3 * 8
	for size, want := range map[int64]int{edge: 24, edge - 1: 48} {
		s := Spec{Kind: AllReduce, Algorithm: Tree, Size: size}
		if got := s.Parts(8); got != want {
			t.Errorf("%d bytes: %d chunks, want %d", size, got, want)
		}
	}
}
