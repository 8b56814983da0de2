// Package letters provides the typeface of figures and animations: Liberation Sans, regular and bold. It is built in,
// so that equal drawings have equal bytes on any machine.
//
// It takes the place of gonum.org/v1/plot, which registers twelve faces when a program starts. They have 4.3 MB.
package letters

import (
	"fmt"
	"image/color"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// cache returns both faces. They are parsed for the first drawing, because most commands draw nothing.
var cache = sync.OnceValue(func() *font.Cache {
	var faces font.Collection
	for _, f := range []struct {
		weight xfont.Weight
		ttf    []byte
	}{{xfont.WeightNormal, liberationsansregular.TTF}, {xfont.WeightBold, liberationsansbold.TTF}} {
		face, err := opentype.Parse(f.ttf)
		if err != nil {
			panic(fmt.Sprintf("built-in typeface: %v", err))
		}
		faces = append(faces, font.Face{Font: describe(f.weight, 0), Face: face})
	}
	return font.NewCache(faces)
})

func describe(weight xfont.Weight, size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight, Size: size}
}

// Style returns the style of text, which is aligned left and at its bottom.
func Style(size vg.Length, bold bool, c color.Color) text.Style {
	weight := xfont.WeightNormal
	if bold {
		weight = xfont.WeightBold
	}
	return text.Style{
		Font: describe(weight, size), Color: c, XAlign: text.XLeft, YAlign: text.YBottom, Handler: text.Plain{Fonts: cache()},
	}
}

// Regular returns the face that is not bold, in the size of another one.
func Regular(f font.Face) font.Face {
	return cache().Lookup(describe(xfont.WeightNormal, f.Font.Size), f.Font.Size)
}
