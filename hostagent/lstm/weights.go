package lstm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Weights holds a weights file: parameters and their provenance. The file is JSON. Its parameters have the names and
// the order of PyTorch's state_dict, so that networks can be moved to PyTorch and back.
type Weights struct {
	Provenance Provenance
	Parameters Parameters
}

// Provenance describes how parameters were trained. It does not depend on the machine or the time of day.
type Provenance struct {
	Command      string   `json:"command"`
	Version      string   `json:"pausenet_version"`
	Seed         uint64   `json:"seed"`
	Scenarios    []string `json:"scenarios"` // scenarios in which the pairs were collected
	Pairs        int      `json:"pairs"`
	Rounds       int      `json:"rounds"`
	Train        int      `json:"train_pairs_per_round"`
	Test         int      `json:"test_pairs_per_round"`
	Passes       int      `json:"passes_per_round"` // passes over the train pairs
	Batch        int      `json:"batch_pairs"`
	LearningRate float64  `json:"learning_rate"`
	Loss         string   `json:"loss"`
	Optimiser    string   `json:"optimiser"`
	MAPE         []MAPE   `json:"mape_per_round"`
	UnseenMAPE   float64  `json:"mape_on_unseen_runs"`
	// Trial is the checksum of a short training with fixed options by the same program. It shows, sooner than a
	// repeated training, that the simulations, the drawing of pairs or the optimiser have changed since. See
	// train.Trial.
	Trial string `json:"trial"`
}

// MAPE holds a round's mean absolute percentage error of the predicted RTT (equation 13), as fractions of 1.
type MAPE struct {
	Train float64 `json:"train"`
	Test  float64 `json:"test"`
}

const (
	formatName    = "pausenet lstm weights"
	formatVersion = 1
)

// shape describes the network of a file's parameters.
type shape struct {
	Inputs  int `json:"inputs"`
	Steps   int `json:"steps"`
	Hidden  int `json:"hidden"`
	Outputs int `json:"outputs"`
}

var ownShape = shape{Inputs: 1, Steps: Steps, Hidden: Hidden, Outputs: 1}

// groups lists the parameters' names in a file, in their order.
var groups = [...]struct {
	name  string
	count int
}{
	{"weight_ih_l0", rows},
	{"weight_hh_l0", rows * Hidden},
	{"bias_ih_l0", rows},
	{"bias_hh_l0", rows},
	{"linear.weight", Hidden},
	{"linear.bias", 1},
}

// Checksum returns SHA-256 over the parameters in their order, each as a little-endian IEEE 754 double.
func (p *Parameters) Checksum() string {
	data := make([]byte, 0, 8*len(p))
	for _, v := range p {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Format writes w as a weights file. Equal weights give equal bytes.
func (w *Weights) Format() ([]byte, error) {
	head, err := json.MarshalIndent(struct {
		Format     string     `json:"format"`
		Version    int        `json:"version"`
		Shape      shape      `json:"shape"`
		Provenance Provenance `json:"provenance"`
		Checksum   string     `json:"checksum"`
	}{formatName, formatVersion, ownShape, w.Provenance, w.Parameters.Checksum()}, "", "  ")
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(bytes.TrimSuffix(head, []byte("\n}")))
	b.WriteString(",\n  \"parameters\": {")
	at := 0
	for i, g := range groups {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, "\n    %q: [", g.name)
		for k := range g.count {
			if k > 0 {
				b.WriteByte(',')
			}
			if k%Hidden == 0 {
				b.WriteString("\n      ")
			}
			b.WriteString(strconv.FormatFloat(w.Parameters[at], 'g', -1, 64))
			at++
		}
		b.WriteString("\n    ]")
	}
	b.WriteString("\n  }\n}\n")
	return b.Bytes(), nil
}

// MaxFileSize limits a weights file, in bytes; one is about 30 KB.
const MaxFileSize = 1 << 20

// Parse parses a weights file. An error names the file and the position, and includes a remedy.
func Parse(filename string, data []byte) (*Weights, error) {
	w, err := parse(data)
	if err == nil {
		return w, nil
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		err = fmt.Errorf("%s: incomplete JSON: %w (the file was truncated or edited)", position(data, syntax.Offset), err)
	case errors.As(err, &kind):
		field := kind.Field
		if field == "" {
			field = "the whole file"
		}
		err = fmt.Errorf("%s: unexpected JSON %[3]s for %[2]s", position(data, kind.Offset), field,
			kind.Value)
	}
	return nil, fmt.Errorf("weights file %s: %w: %s", filename, err,
		"restore the file, or train another with: pausenet train lstm --out "+filename)
}

func parse(data []byte) (*Weights, error) {
	if len(data) > MaxFileSize {
		return nil, fmt.Errorf("longer than %d bytes: not a weights file", MaxFileSize)
	}
	var file struct {
		Format     string                   `json:"format"`
		Version    int                      `json:"version"`
		Shape      shape                    `json:"shape"`
		Provenance Provenance               `json:"provenance"`
		Checksum   string                   `json:"checksum"`
		Parameters map[string][]json.Number `json:"parameters"`
	}
	// Report a file of another kind before errors in its numbers.
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	switch {
	case file.Format != formatName:
		return nil, fmt.Errorf("format: %q, expected %q", file.Format, formatName)
	case file.Version != formatVersion:
		return nil, fmt.Errorf("version: %d, but this pausenet reads version %d", file.Version, formatVersion)
	case file.Shape != ownShape:
		return nil, fmt.Errorf("shape: %+v, but the controller's network has %+v", file.Shape, ownShape)
	}
	w := &Weights{Provenance: file.Provenance}
	at := 0
	for _, g := range groups {
		numbers := file.Parameters[g.name]
		if len(numbers) != g.count {
			return nil, fmt.Errorf("parameters.%s: %d numbers, expected %d", g.name, len(numbers), g.count)
		}
		for i, text := range numbers {
			v, err := strconv.ParseFloat(text.String(), 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("parameters.%s[%d]: %q is not a finite number", g.name, i, text.String())
			}
			w.Parameters[at] = v
			at++
		}
	}
	if own := w.Parameters.Checksum(); file.Checksum != own {
		return nil, fmt.Errorf("checksum: the file has %q, but its parameters have %s: a number was changed", file.Checksum,
			own)
	}
	return w, nil
}

// position returns the line and column of an offset.
func position(data []byte, offset int64) string {
	before := data[:min(max(offset, 0), int64(len(data)))]
	line := bytes.Count(before, []byte("\n")) + 1
	return fmt.Sprintf("line %d, column %d", line, len(before)-bytes.LastIndexByte(before, '\n'))
}
