package graphics

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/color/palette"
	"image/draw"
)

// band is how many rows of pixels a row of Sixel has.
const band = 6

// scaled returns a picture in at most width and height pixels. Each of its pixels is the mean
// of those in its place.
func scaled(img image.Image, width, height int) *image.RGBA {
	from := img.Bounds()
	w, h := from.Dx(), from.Dy()
	if w > width {
		w, h = width, max(1, h*width/w)
	}
	if h > height {
		w, h = max(1, w*height/h), height
	}
	source, ok := img.(*image.RGBA)
	if !ok {
		source = image.NewRGBA(from)
		draw.Draw(source, from, img, from.Min, draw.Src)
	}
	to := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		y0, y1 := y*from.Dy()/h, max((y+1)*from.Dy()/h, y*from.Dy()/h+1)
		for x := range w {
			x0, x1 := x*from.Dx()/w, max((x+1)*from.Dx()/w, x*from.Dx()/w+1)
			to.SetRGBA(x, y, mean(source, image.Rect(x0, y0, x1, y1).Add(from.Min)))
		}
	}
	return to
}

// mean returns the mean colour of a part of a picture.
func mean(img *image.RGBA, part image.Rectangle) color.RGBA {
	var r, g, b, n int
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			c := img.RGBAAt(x, y)
			r, g, b, n = r+int(c.R), g+int(c.G), b+int(c.B), n+1
		}
	}
	return color.RGBA{uint8(r / n), uint8(g / n), uint8(b / n), 0xff}
}

// sixel encodes a picture in the 216 colours that browsers once shared.
func sixel(img *image.RGBA) []byte {
	size := img.Bounds()
	colors := image.NewPaletted(size, palette.WebSafe)
	draw.FloydSteinberg.Draw(colors, size, img, size.Min)
	var b bytes.Buffer
	fmt.Fprintf(&b, `"1;1;%d;%d`, size.Dx(), size.Dy())
	const percent = 100
	for i, c := range palette.WebSafe {
		r, g, bl, _ := c.RGBA()
		fmt.Fprintf(&b, "#%d;2;%d;%d;%d", i, r*percent/0xffff, g*percent/0xffff, bl*percent/0xffff)
	}
	for top := 0; top < size.Dy(); top += band {
		writeBand(&b, colors, top)
	}
	return b.Bytes()
}

// writeBand writes a row of Sixel: for each colour in it, which pixels have it.
func writeBand(b *bytes.Buffer, img *image.Paletted, top int) {
	width, height := img.Rect.Dx(), min(band, img.Rect.Dy()-top)
	var rows [256][]byte // by the colour
	for y := range height {
		for x := range width {
			c := img.ColorIndexAt(x, top+y)
			if rows[c] == nil {
				rows[c] = make([]byte, width)
			}
			rows[c][x] |= 1 << y
		}
	}
	for c, row := range rows {
		if row == nil {
			continue
		}
		fmt.Fprintf(b, "#%d", c)
		writeRuns(b, row)
		b.WriteByte('$')
	}
	b.WriteByte('-')
}

// writeRuns writes pixels. More than three of the same are written as their number.
func writeRuns(b *bytes.Buffer, row []byte) {
	for i := 0; i < len(row); {
		n := 1
		for i+n < len(row) && row[i+n] == row[i] {
			n++
		}
		char := '?' + row[i]
		if n > 3 {
			fmt.Fprintf(b, "!%d%c", n, char)
		} else {
			b.Write(bytes.Repeat([]byte{char}, n))
		}
		i += n
	}
}
