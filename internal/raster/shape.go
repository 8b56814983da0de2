package raster

import (
	"errors"
	"fmt"
	"image/color"
	"strconv"
	"strings"

	"git.sr.ht/~sbinet/gg"
)

// path draws a path. It knows the commands that drawings use: M, L, H and V, and l, h and v relative to the point before.
func (d *drawing) path(data string, s *style) error {
	var lines [][]gg.Point
	var x, y float64
	for data != "" {
		command := data[0]
		end := strings.IndexAny(data[1:], "MLHVlhv") + 1
		if end == 0 {
			end = len(data)
		}
		args, err := numbers(data[1:end])
		if err != nil {
			return err
		}
		data = data[end:]
		step := 2
		if strings.IndexByte("HVhv", command) >= 0 {
			step = 1
		}
		if len(args) == 0 || len(args)%step != 0 || len(lines) == 0 && command != 'M' {
			return fmt.Errorf("path command %q with %d numbers", command, len(args))
		}
		for ; len(args) > 0; args = args[step:] {
			switch command {
			case 'M':
				lines = append(lines, nil)
				command = 'L' // what follows a move's first point
				x, y = args[0], args[1]
			case 'L':
				x, y = args[0], args[1]
			case 'l':
				x, y = x+args[0], y+args[1]
			case 'H':
				x = args[0]
			case 'h':
				x += args[0]
			case 'V':
				y = args[0]
			case 'v':
				y += args[0]
			default:
				return fmt.Errorf("path command %q", command)
			}
			last := &lines[len(lines)-1]
			*last = append(*last, gg.Point{X: (x + s.x) * d.scale, Y: (y + s.y) * d.scale})
		}
	}
	if s.fill != nil {
		return errors.New("a filled path")
	}
	for _, l := range lines {
		d.line(l, s)
	}
	return nil
}

// piece is how many points of a line are stroked at once. The rasteriser looks for a pixel by going through all that the
// stroke has in its row: a line up and down a thousand times takes seconds in one piece.
const piece = 128

// line strokes a line piece by piece. A piece goes on for one point into the next, so that each corner is within a piece.
func (d *drawing) line(points []gg.Point, s *style) {
	length := 0.0 // to where the piece begins, for the dashes
	for start := 0; start == 0 || start < len(points)-1; start += piece {
		part := points[start:min(start+piece+2, len(points))]
		for _, p := range part {
			d.paper.LineTo(p.X, p.Y) // after ClearPath a move
		}
		d.paper.SetDashOffset(length)
		d.stroke(s)
		d.paper.ClearPath()
		for i := 1; i < len(part) && i <= piece; i++ {
			length += part[i].Distance(part[i-1])
		}
	}
	d.paper.SetDashOffset(0)
}

// box is where a rectangle is. The one that is the paper has its size in percent.
func (d *drawing) box(at attributes) (box, error) {
	if at["width"] == "100%" && at["height"] == "100%" {
		size := d.image.Bounds().Size()
		return box{0, 0, float64(size.X) / d.scale, float64(size.Y) / d.scale}, nil
	}
	v, err := at.floats("x", "y", "width", "height")
	if err != nil {
		return box{}, err
	}
	return box{v[0], v[1], v[2], v[3]}, nil
}

// floats are attributes that are numbers.
func (at attributes) floats(names ...string) ([]float64, error) {
	all := make([]float64, len(names))
	for i, name := range names {
		v, err := strconv.ParseFloat(at[name], 64)
		if err != nil {
			return nil, fmt.Errorf("%s %q is no number", name, at[name])
		}
		all[i] = v
	}
	return all, nil
}

// numbers are what stands between blanks, commas and minus signs: "3-.5 2" is three of them.
func numbers(text string) ([]float64, error) {
	var all []float64
	for _, word := range strings.FieldsFunc(strings.ReplaceAll(text, "-", " -"), func(r rune) bool { return r == ' ' || r == ',' }) {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no number", word)
		}
		all = append(all, v)
	}
	return all, nil
}

// colour is "#rrggbb", or nil for "none".
func colour(text string) (color.Color, error) {
	if text == "none" {
		return nil, nil
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 16, 32)
	if err != nil || len(text) != 7 {
		return nil, fmt.Errorf("colour %q", text)
	}
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}, nil
}
