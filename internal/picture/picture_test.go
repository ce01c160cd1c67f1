package picture_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"runtime"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/picture"
)

// webP is one red pixel, lossless.
const webP = "UklGRhwAAABXRUJQVlA4TA8AAAAvAAAAAAcQ/Y/+ByKi/wEA"

// files are small pictures of each format that is taken, by media type.
func files(t testing.TB) map[string][]byte {
	t.Helper()
	img := image.NewPaletted(image.Rect(0, 0, 40, 30), palette.Plan9)
	for i := range img.Pix {
		img.Pix[i] = byte(i * 7)
	}
	var p, j, g bytes.Buffer
	if err := errors.Join(png.Encode(&p, img), jpeg.Encode(&j, img, nil), gif.Encode(&g, img, nil)); err != nil {
		t.Fatal(err)
	}
	w, err := base64.StdEncoding.DecodeString(webP)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"image/png": p.Bytes(), "image/jpeg": j.Bytes(), "image/gif": g.Bytes(), "image/webp": w}
}

func TestTheBytesDecideTheType(t *testing.T) {
	t.Parallel()
	for kind, data := range files(t) {
		want := "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
		for _, label := range []string{"image/png", "image/jpg", "IMAGE/JPEG", "image/svg+xml", "application/octet-stream", "", "image/pjpeg;charset=x", "text/plain"} {
			payload := base64.StdEncoding.EncodeToString(data)
			for _, url := range []string{"data:" + label + ";base64," + payload, "DATA:" + label + ";BASE64," + payload[:8] + "\r\n" + payload[8:]} {
				if got, err := picture.DataURL(url); err != nil || got != want {
					t.Errorf("%s as %.60q: %.60s, %v", kind, url, got, err)
				}
				if got := picture.Relabel(url); got != want {
					t.Errorf("relabelled %s as %.60q: %.60s", kind, url, got)
				}
			}
		}
		// What follows the end of a picture does no harm.
		if got, err := picture.Type(append(bytes.Clone(data), "trailer"...)); err != nil || got != kind {
			t.Errorf("%s with a trailer: %q, %v", kind, got, err)
		}
	}
}

func TestWhatNoProviderTakesIsRefused(t *testing.T) {
	t.Parallel()
	of := files(t)
	zero := func(data []byte, at, n int) []byte {
		data = bytes.Clone(data)
		clear(data[at : at+n])
		return data
	}
	sof := bytes.Index(of["image/jpeg"], []byte{0xff, 0xc0})
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":               {nil, "is empty"},
		"a BMP":                 {append([]byte("BM"), make([]byte, 60)...), "is BMP, not PNG, JPEG, GIF or WebP"},
		"a TIFF":                {[]byte("II*\x00\x08\x00\x00\x00\x00\x00"), "is TIFF, not PNG, JPEG, GIF or WebP"},
		"a big TIFF":            {[]byte("MM\x00+\x00\x08\x00\x00\x00\x00"), "is TIFF, not PNG, JPEG, GIF or WebP"},
		"an SVG":                {[]byte(" <svg xmlns='x'/>"), "is SVG, not PNG, JPEG, GIF or WebP"},
		"an SVG with a prolog":  {[]byte("\xef\xbb\xbf<?xml version='1.0'?><svg/>"), "is SVG, not PNG, JPEG, GIF or WebP"},
		"a HEIC":                {[]byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1"), "is HEIC, not PNG, JPEG, GIF or WebP"},
		"an AVIF":               {[]byte("\x00\x00\x00\x18ftypavif\x00\x00\x00\x00mif1"), "is AVIF, not PNG, JPEG, GIF or WebP"},
		"an icon":               {[]byte("\x00\x00\x01\x00\x01\x00\x10\x10\x00\x00\x01\x00 \x00"), "is ICO, not PNG, JPEG, GIF or WebP"},
		"a PDF":                 {[]byte("%PDF-1.7\n"), "is PDF, not PNG, JPEG, GIF or WebP"},
		"a page":                {[]byte("<html><body>404"), "is not a PNG, JPEG, GIF or WebP picture"},
		"a text":                {[]byte("x"), "is not a PNG, JPEG, GIF or WebP picture"},
		"a PNG of 0 x 30":       {zero(of["image/png"], 16, 4), "has no pixels: its width or height is 0"},
		"a PNG of 40 x 0":       {zero(of["image/png"], 20, 4), "has no pixels: its width or height is 0"},
		"a GIF of 40 x 0":       {zero(of["image/gif"], 8, 2), "has no pixels: its width or height is 0"},
		"a JPEG of 0 x 30":      {zero(of["image/jpeg"], sof+7, 2), "has no pixels: its width or height is 0"},
		"a PNG without IHDR":    {zero(of["image/png"], 12, 4), "is damaged"},
		"a PNG without data":    {append(bytes.Clone(of["image/png"][:33]), "\x00\x00\x00\x00IEND\xaeB`\x82"...), "is damaged"},
		"a JPEG without scan":   {[]byte("\xff\xd8\xff\xd9"), "is damaged"},
		"a WebP of other bytes": {[]byte("RIFF\x20\x00\x00\x00WEBPABCD\x10\x00\x00\x00aaaaaaaaaaaaaaaa"), "is damaged"},
	} {
		if kind, err := picture.Type(tt.data); err == nil || err.Error() != tt.want {
			t.Errorf("%s: kind = %q, error %v, want: %s", name, kind, err, tt.want)
		}
		if tt.data == nil {
			continue
		}
		if _, err := picture.FromBase64(base64.StdEncoding.EncodeToString(tt.data)); err == nil || err.Error() != tt.want {
			t.Errorf("%s in base64: %v, want: %s", name, err, tt.want)
		}
	}
}

// TestACutPictureIsRefused cuts a file of each format at every byte. The end of a
// GIF behind its first frame is not needed.
func TestACutPictureIsRefused(t *testing.T) {
	t.Parallel()
	for kind, data := range files(t) {
		for n := range len(data) - 1 {
			if got, err := picture.Type(data[:n]); err == nil {
				t.Errorf("%s cut at %d of %d is taken for %s", kind, n, len(data), got)
			}
		}
	}
}

func TestURLsThatAreNoPicture(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]error{
		"": picture.ErrURL, "data:": picture.ErrURL, "data:image/png,abc": picture.ErrURL, "data:image/png;base64": picture.ErrURL,
		"https://example.com/x.png": picture.ErrURL, "file:///x.png": picture.ErrURL,
		"data:image/png;base64,": picture.ErrBase64, "data:image/png;base64,%%%": picture.ErrBase64, "data:image/png;base64,iVBORw0KGgo": picture.ErrBase64,
		"data:image/png;base64,\n\n": picture.ErrBase64, "data:image/png;base64,iVBORw0KGgo=AAAA": picture.ErrBase64,
		"data:image/png;base64,-_-_": picture.ErrBase64,
	} {
		if got, err := picture.DataURL(url); !errors.Is(err, want) {
			t.Errorf("%q: DataURL = %q, error %v, want %v", url, got, err, want)
		}
		if got := picture.Relabel(url); got != url {
			t.Errorf("%q is relabelled: %q", url, got)
		}
	}
}

// TestLargePicturesCostNoMemory is not parallel: it counts what the process
// allocates.
func TestLargePicturesCostNoMemory(t *testing.T) {
	data := files(t)["image/png"]
	end := len(data) - 12
	large := append(bytes.Clone(data[:end]), "\x02\x00\x00\x00teXt"...)
	large = append(append(large, make([]byte, 32<<20+4)...), data[end:]...)
	payload := base64.StdEncoding.EncodeToString(large)
	url := "data:image/png;base64," + payload
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if picture.Relabel(url) != url {
		t.Error("relabelled")
	}
	if _, err := picture.Type(large); err != nil {
		t.Error(err)
	}
	if _, err := picture.FromBase64(payload[:len(payload)-4]); err == nil {
		t.Error("a cut picture is taken")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes were allocated for a picture of %d", n, len(large))
	}
}

func FuzzPictures(f *testing.F) {
	for _, data := range files(f) {
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Add([]byte("<svg/>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		kind, err := picture.Type(data)
		if (kind == "") == (err == nil) {
			t.Fatalf("kind = %q, error %v", kind, err)
		}
		url, encodeErr := picture.Encode(data)
		if (encodeErr == nil) != (err == nil) {
			t.Fatalf("the type: %v, and encoded %v", err, encodeErr)
		}
		if err != nil {
			return
		}
		again, err := picture.DataURL(strings.Replace(url, kind, "image/x", 1))
		if err != nil || again != url || picture.Relabel(url) != url {
			t.Fatalf("%.80s becomes %.80s, %v", url, again, err)
		}
	})
}
