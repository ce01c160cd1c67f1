// Package imagefit makes images small enough for models that refuse large
// ones. It reads PNG, JPEG and GIF; other formats stay as they are.
package imagefit

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/draw"
	_ "image/gif" // read
	"image/jpeg"
	"image/png"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
)

// maxPixels bounds what is decoded: an image says how large it claims to be.
const maxPixels = 100 << 20

// quality of the JPEG images that are written.
const quality = 85

// Fit returns the data URL of an image of which no side is longer than side
// pixels: the URL itself if the image is that small, or cannot be read.
func Fit(url string, side int) string {
	_, encoded, ok := wire.DataURL(url)
	if !ok {
		return url
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return url
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || max(config.Width, config.Height) <= side || config.Width*config.Height > maxPixels {
		return url
	}
	src, format, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return url
	}
	small := shrink(src, side)
	var out bytes.Buffer
	mediaType := "image/png"
	if format == "jpeg" {
		mediaType = "image/jpeg"
		err = jpeg.Encode(&out, small, &jpeg.Options{Quality: quality})
	} else {
		err = png.Encode(&out, small)
	}
	if err != nil {
		return url
	}
	return "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(out.Bytes())
}

// shrink scales an image so that its longer side has side pixels: each pixel
// is the average of those it stands for.
func shrink(src image.Image, side int) image.Image {
	b := src.Bounds()
	w, h := b.Dx(), b.Dy()
	width, height := side, max(1, h*side/w)
	if h > w {
		width, height = max(1, w*side/h), side
	}
	full := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(full, full.Bounds(), src, b.Min, draw.Src)
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			from := image.Rect(x*w/width, y*h/height, (x+1)*w/width, (y+1)*h/height)
			copy(out.Pix[out.PixOffset(x, y):], average(full, from))
		}
	}
	return out
}

// average computes the mean colour of a part of an image.
func average(img *image.RGBA, r image.Rectangle) []byte {
	const channels = 4
	var sum [channels]int
	for y := r.Min.Y; y < r.Max.Y; y++ {
		row := img.Pix[img.PixOffset(r.Min.X, y):img.PixOffset(r.Max.X, y)]
		for i, v := range row {
			sum[i%channels] += int(v)
		}
	}
	n := r.Dx() * r.Dy()
	mean := make([]byte, channels)
	for i := range mean {
		mean[i] = byte(sum[i] / n)
	}
	return mean
}
