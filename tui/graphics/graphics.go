// Package graphics writes pictures for terminals that show them: by the protocol of kitty, by
// that of iTerm2, or as Sixel. It writes texts for a terminal and never to one.
//
// Invariant: a picture is refused before it is decoded if it has more than maxSide pixels in
// a row or a column.
package graphics

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // screenshots that would be large as PNG
	"image/png"
	"strconv"

	"github.com/charmbracelet/x/ansi"
)

// maxSide is the largest width and height of a picture, in pixels.
const maxSide = 8192

// A cell of a terminal is about twice as high as it is wide. Terminals with larger cells than
// these show a Sixel picture smaller than it could be.
const (
	cellWidth  = 8
	cellHeight = 16
)

// Picture is a picture that can be shown.
type Picture struct {
	data          []byte
	format        string // "png", "jpeg"
	width, height int
}

// Read takes the bytes of a PNG or a JPEG.
func Read(data []byte) (*Picture, error) {
	cfg, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read the picture: %w", err)
	}
	if cfg.Width < 1 || cfg.Height < 1 || cfg.Width > maxSide || cfg.Height > maxSide {
		return nil, fmt.Errorf("a picture of %d × %d pixels is not shown", cfg.Width, cfg.Height)
	}
	return &Picture{data: data, format: format, width: cfg.Width, height: cfg.Height}, nil
}

// Fit returns how many cells the picture takes, in at most cols and rows.
func (p *Picture) Fit(cols, rows int) (c, r int) {
	high := func(c int) int { return max(1, (c*cellWidth*p.height+p.width*cellHeight/2)/(p.width*cellHeight)) }
	c = max(1, min(cols, (p.width+cellWidth-1)/cellWidth))
	for c > 1 && high(c) > rows {
		c--
	}
	return c, min(high(c), max(rows, 1))
}

// Draw returns what shows the picture at the cursor, in at most cols and rows.
func (p *Picture) Draw(by Protocol, cols, rows int) (string, error) {
	c, r := p.Fit(cols, rows)
	switch by {
	case Kitty:
		data, err := p.png()
		return kitty(data, "a=T", "q=2", "i="+strconv.Itoa(drawnID), "c="+strconv.Itoa(c), "C=1"), err
	case ITerm:
		return fmt.Sprintf("\x1b]1337;File=inline=1;size=%d;width=%d;height=%d;preserveAspectRatio=1:%s\a",
			len(p.data), c, r, base64.StdEncoding.EncodeToString(p.data)), nil
	case Sixel:
		img, err := p.decode()
		if err != nil {
			return "", err
		}
		return ansi.SixelGraphics(0, 1, 0, sixel(scaled(img, c*cellWidth, r*cellHeight))), nil
	case None:
	}
	return "", errors.New("this terminal shows no pictures")
}

// Clear returns what takes a picture away that was drawn, where clearing the screen does not.
func Clear(by Protocol) string {
	if by != Kitty {
		return ""
	}
	return ansi.KittyGraphics(nil, "a=d", "d=I", "q=2", "i="+strconv.Itoa(drawnID))
}

func (p *Picture) decode() (image.Image, error) {
	img, _, err := image.Decode(bytes.NewReader(p.data))
	if err != nil {
		return nil, fmt.Errorf("read the picture: %w", err)
	}
	return img, nil
}

// png is the picture in the only format that kitty takes as a file.
func (p *Picture) png() ([]byte, error) {
	if p.format == "png" {
		return p.data, nil
	}
	img, err := p.decode()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, fmt.Errorf("convert the picture: %w", err)
	}
	return b.Bytes(), nil
}
