// Package raster turns the drawings of the reports into PNG: what experiments/report writes as SVG, pixel by pixel, so that
// a chart is described once and both come of it.
//
// It knows the part of SVG that those drawings use and refuses anything else, rather than leave something out of a picture.
// Fonts are built in: equal drawings give equal bytes, whatever the machine has installed. A drawing's own style sheet is
// for dark screens, and is not read: pictures are on white.
package raster

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"strconv"
	"strings"

	"git.sr.ht/~sbinet/gg"
)

// mostPixels bounds a picture's memory, at 4 bytes a pixel.
const mostPixels = 1 << 27

// PNG draws an SVG document at scale pixels a unit. A document with anything that the package does not know is an error.
func PNG(svg []byte, scale float64) ([]byte, error) {
	d := &drawing{scale: scale, clips: map[string]box{}}
	if err := d.read(svg); err != nil {
		return nil, fmt.Errorf("draw as PNG: %w", err)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, d.image); err != nil {
		return nil, fmt.Errorf("draw as PNG: %w", err)
	}
	return b.Bytes(), nil
}

// drawing is a document that is being drawn.
type drawing struct {
	scale float64
	image *image.RGBA
	paper *gg.Context
	clips map[string]box // by the clip path's id
	// inClip is the id of the clip path whose shape comes, clip what the paper is clipped to.
	inClip string
	clip   *box
}

// box is a rectangle in the document's units.
type box struct{ x, y, width, height float64 }

// style is what elements inherit, and where their coordinates begin.
type style struct {
	x, y         float64
	fill, stroke color.Color // nil: none
	strokeWidth  float64
	dashes       []float64
	fontSize     float64
	bold         bool
	anchor       string
	clip         *box
}

// read draws the document's elements in their order.
func (d *drawing) read(svg []byte) error {
	in := xml.NewDecoder(bytes.NewReader(svg))
	styles := []style{{fill: color.Black, strokeWidth: 1, fontSize: 16, anchor: "start"}}
	var text strings.Builder
	var at attributes
	for {
		token, err := in.Token()
		switch {
		case errors.Is(err, io.EOF) && d.image == nil:
			return errors.New("no drawing")
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			s := styles[len(styles)-1]
			if at, err = s.inherit(t.Attr, d.clips); err == nil {
				err = d.begin(t.Name.Local, at, &s)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", t.Name.Local, err)
			}
			styles = append(styles, s)
			text.Reset()
			switch t.Name.Local {
			case "title", "desc", "style":
				if err := in.Skip(); err != nil {
					return err
				}
				styles = styles[:len(styles)-1]
			}
		case xml.CharData:
			text.Write(t)
		case xml.EndElement:
			s := &styles[len(styles)-1]
			styles = styles[:len(styles)-1]
			switch t.Name.Local {
			case "text":
				if err := d.text(text.String(), at, s); err != nil {
					return err
				}
			case "clipPath":
				d.inClip = ""
			}
			text.Reset()
		}
	}
}

// attributes are those of an element that say where it is.
type attributes map[string]string

// inherit takes what an element says of its style, and returns the rest.
func (s *style) inherit(all []xml.Attr, clips map[string]box) (attributes, error) {
	rest := attributes{}
	for _, a := range all {
		name, value := a.Name.Local, a.Value
		var err error
		switch name {
		case "fill":
			s.fill, err = colour(value)
		case "stroke":
			s.stroke, err = colour(value)
		case "stroke-width":
			s.strokeWidth, err = strconv.ParseFloat(value, 64)
		case "stroke-dasharray":
			s.dashes, err = numbers(value)
		case "font-size":
			s.fontSize, err = strconv.ParseFloat(value, 64)
		case "font-weight":
			s.bold = value == "600"
		case "text-anchor":
			s.anchor = value
		case "transform":
			var by []float64
			if by, err = numbers(strings.TrimSuffix(strings.TrimPrefix(value, "translate("), ")")); err == nil && len(by) == 2 {
				s.x, s.y = s.x+by[0], s.y+by[1]
			} else {
				err = fmt.Errorf("transform %q", value)
			}
		case "clip-path":
			clip, ok := clips[strings.TrimSuffix(strings.TrimPrefix(value, "url(#"), ")")]
			if !ok || s.clip != nil {
				err = fmt.Errorf("clip-path %q", value)
			}
			clip.x, clip.y = clip.x+s.x, clip.y+s.y
			s.clip = &clip
		case "id", "viewBox", "x", "y", "width", "height", "cx", "cy", "r", "d":
			rest[name] = value
		case "class", "role", "xmlns", "font-family", "stroke-linejoin", "paint-order": // joins are round, halos under their text
		default:
			if !strings.HasPrefix(name, "data-") && !strings.HasPrefix(name, "aria-") {
				err = fmt.Errorf("attribute %s is unknown", name)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return rest, nil
}

// begin draws an element, or prepares for what is in it.
func (d *drawing) begin(name string, at attributes, s *style) error {
	if d.image == nil && name != "svg" {
		return errors.New("comes before svg")
	}
	switch name {
	case "svg":
		return d.open(at)
	case "title", "desc", "style", "g", "text":
		return nil
	case "clipPath":
		d.inClip = at["id"]
		return nil
	}
	d.clipTo(s.clip)
	switch name {
	case "rect":
		b, err := d.box(at)
		if err != nil {
			return err
		}
		if d.inClip != "" {
			d.clips[d.inClip] = b
			return nil
		}
		d.paper.DrawRectangle((b.x+s.x)*d.scale, (b.y+s.y)*d.scale, b.width*d.scale, b.height*d.scale)
	case "circle":
		c, err := at.floats("cx", "cy", "r")
		if err != nil {
			return err
		}
		d.paper.DrawCircle((c[0]+s.x)*d.scale, (c[1]+s.y)*d.scale, c[2]*d.scale)
	case "path":
		return d.path(at["d"], s)
	default:
		return errors.New("is unknown")
	}
	d.paint(s)
	return nil
}

// open makes the paper.
func (d *drawing) open(at attributes) error {
	v, err := numbers(at["viewBox"])
	if err != nil || len(v) != 4 || v[0] != 0 || v[1] != 0 || d.image != nil {
		return fmt.Errorf("viewBox %q", at["viewBox"])
	}
	width, height := math.Ceil(v[2]*d.scale), math.Ceil(v[3]*d.scale)
	if !(width >= 1 && height >= 1 && width*height <= mostPixels) {
		return fmt.Errorf("%g by %g pixels", width, height)
	}
	d.image = image.NewRGBA(image.Rect(0, 0, int(width), int(height)))
	d.paper = gg.NewContextForRGBA(d.image)
	d.paper.SetColor(color.White)
	d.paper.Clear()
	d.paper.SetLineCapButt()
	d.paper.SetLineJoinRound()
	return nil
}

// clipTo has what follows drawn within a box only; nil: everywhere.
func (d *drawing) clipTo(b *box) {
	if b == d.clip {
		return
	}
	d.clip = b
	d.paper.ResetClip()
	if b != nil {
		d.paper.DrawRectangle(b.x*d.scale, b.y*d.scale, b.width*d.scale, b.height*d.scale)
		d.paper.Clip()
	}
}

// paint fills the paper's shape and strokes it.
func (d *drawing) paint(s *style) {
	d.fill(s)
	d.stroke(s)
	d.paper.ClearPath()
}

// paintText strokes first: text has its halo behind it.
func (d *drawing) paintText(s *style) {
	d.stroke(s)
	d.fill(s)
	d.paper.ClearPath()
}

func (d *drawing) fill(s *style) {
	if s.fill != nil {
		d.paper.SetColor(s.fill)
		d.paper.FillPreserve()
	}
}

func (d *drawing) stroke(s *style) {
	if s.stroke == nil {
		return
	}
	d.paper.SetColor(s.stroke)
	d.paper.SetLineWidth(s.strokeWidth * d.scale)
	dashes := make([]float64, len(s.dashes))
	for i, l := range s.dashes {
		dashes[i] = l * d.scale
	}
	d.paper.SetDash(dashes...)
	d.paper.StrokePreserve()
}
