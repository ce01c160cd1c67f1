package imagefit_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/llm/imagefit"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
)

// picture is white on its left half and black on its right.
func picture(w, h int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.Set(x, y, color.Gray{Y: uint8(255 * (1 - 2*x/w))})
		}
	}
	return img
}

func url(mediaType string, data []byte) string {
	return "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(data)
}

func encoded(t *testing.T, format string, w, h int) string {
	t.Helper()
	var out bytes.Buffer
	var err error
	switch format {
	case "jpeg":
		err = jpeg.Encode(&out, picture(w, h), nil)
	case "gif":
		err = gif.Encode(&out, picture(w, h), nil)
	default:
		err = png.Encode(&out, picture(w, h))
	}
	if err != nil {
		t.Fatal(err)
	}
	return url("image/"+format, out.Bytes())
}

func TestALargeImageIsMadeToFit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		format     string
		w, h       int
		wantFormat string
		wantW      int
		wantH      int
	}{
		{"png", 300, 100, "png", 90, 30}, {"jpeg", 100, 300, "jpeg", 30, 90}, {"gif", 200, 200, "png", 90, 90}, {"png", 1000, 1, "png", 90, 1}, {"png", 91, 90, "png", 90, 89},
	}
	for _, tt := range tests {
		got := imagefit.Fit(encoded(t, tt.format, tt.w, tt.h), 90)
		mediaType, data, _ := wire.DataURL(got)
		raw, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			t.Fatal(err)
		}
		img, format, err := image.Decode(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if size := img.Bounds(); format != tt.wantFormat || mediaType != "image/"+format || size.Dx() != tt.wantW || size.Dy() != tt.wantH {
			t.Errorf("the picture of %v: a %s (%s) of %v", tt, format, mediaType, size)
		}
		left, _, _, _ := img.At(2, 0).RGBA()
		right, _, _, _ := img.At(tt.wantW-3, 0).RGBA()
		if left < 0xe000 || right > 0x2000 {
			t.Errorf("the colours of %v: left %x, right %x; want white and black", tt, left, right)
		}
	}
}

func TestOtherImagesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	var liar bytes.Buffer // says that it has 50,000 by 50,000 pixels
	if err := png.Encode(&liar, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	const typeAt, widthAt, sumAt = 12, 16, 29
	huge := liar.Bytes()
	copy(huge[widthAt:], "\x00\x00\xc3\x50\x00\x00\xc3\x50")
	binary.BigEndian.PutUint32(huge[sumAt:], crc32.ChecksumIEEE(huge[typeAt:sumAt]))
	if c, err := png.DecodeConfig(bytes.NewReader(huge)); err != nil || c.Width != 50_000 {
		t.Fatalf("the picture that lies has %v, %v; want 50000 pixels of width", c, err)
	}
	for name, u := range map[string]string{
		"small":      encoded(t, "png", 90, 90),
		"on the web": "https://example.org/a.png",
		"not base64": "data:image/png;base64,!!",
		"no image":   url("image/webp", []byte("RIFF????WEBP")),
		"half of it": strings.TrimRight(encoded(t, "png", 300, 300)[:400], "="),
		"a bomb":     url("image/png", huge),
	} {
		if got := imagefit.Fit(u, 90); got != u {
			t.Errorf("%s: changed to %.60s", name, got)
		}
	}
}
