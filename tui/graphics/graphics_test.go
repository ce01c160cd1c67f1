package graphics_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/ohgw/ohgw/tui/graphics"
)

// halves is a picture that is red at the left and blue at the right.
func halves(width, height int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := color.RGBA{R: 0xff, A: 0xff}
			if x >= width/2 {
				c = color.RGBA{B: 0xff, A: 0xff}
			}
			img.SetRGBA(x, y, c)
		}
	}
	return img
}

func pngOf(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(t *testing.T, data []byte) *graphics.Picture {
	t.Helper()
	p, err := graphics.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheVariablesSayHowPicturesAreShown(t *testing.T) {
	t.Parallel()
	for vars, want := range map[string]graphics.Protocol{
		"":                                     graphics.None,
		"TERM=xterm-256color":                  graphics.None,
		"TERM=xterm-kitty":                     graphics.Kitty,
		"TERM=xterm KITTY_WINDOW_ID=1":         graphics.Kitty,
		"TERM_PROGRAM=ghostty":                 graphics.Kitty,
		"TERM_PROGRAM=iTerm.app":               graphics.ITerm,
		"TERM_PROGRAM=WezTerm":                 graphics.ITerm,
		"TERM=tmux-256color KITTY_WINDOW_ID=1": graphics.None,
		"TERM=xterm-kitty TMUX=/tmp/x":         graphics.None,
	} {
		if got := graphics.Of(strings.Fields(vars)); got != want {
			t.Errorf("protocol with %q: %v, want %v", vars, got, want)
		}
	}
	if graphics.HasSixel([]int{62, 22}) || !graphics.HasSixel([]int{62, 4, 22}) {
		t.Error("the attribute of Sixel is not found, or another one is taken for it")
	}
}

func TestAPictureFitsIntoItsPlace(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ width, height, cols, rows, c, r int }{
		{1280, 800, 80, 100, 80, 25},
		{1280, 800, 80, 10, 33, 10},
		{1280, 800, 300, 100, 160, 50},
		{8, 8000, 80, 20, 1, 20},
		{8000, 8, 80, 20, 80, 1},
		{1, 1, 80, 20, 1, 1},
	} {
		if c, r := read(t, pngOf(t, image.NewGray(image.Rect(0, 0, tc.width, tc.height)))).Fit(tc.cols, tc.rows); c != tc.c || r != tc.r {
			t.Errorf("cells of %d×%d in %d×%d: %d×%d, want %d×%d", tc.width, tc.height, tc.cols, tc.rows, c, r, tc.c, tc.r)
		}
	}
}

func TestKittyGetsAPNGInPieces(t *testing.T) {
	t.Parallel()
	noise := image.NewRGBA(image.Rect(0, 0, 100, 100))
	for i := range noise.Pix {
		noise.Pix[i] = byte(i * i * 31 / 7)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, noise, nil); err != nil {
		t.Fatal(err)
	}
	drawn, err := read(t, b.Bytes()).Draw(graphics.Kitty, 10, 10)
	if err != nil {
		t.Fatal(err)
	}
	var data string
	pieces := strings.Split(strings.TrimSuffix(drawn, "\x1b\\"), "\x1b\\")
	for i, piece := range pieces {
		options, payload, _ := strings.Cut(strings.TrimPrefix(piece, "\x1b_G"), ";")
		if more := strings.Contains(options, "m=1"); more != (i < len(pieces)-1) || len(payload) > 4096 {
			t.Errorf("piece %d of %d: options %q, %d bytes", i, len(pieces), options, len(payload))
		}
		data += payload
	}
	decoded, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	if img, err := png.Decode(bytes.NewReader(decoded)); err != nil || img.Bounds().Dx() != 100 || len(pieces) < 2 {
		t.Errorf("picture in %d pieces: %v", len(pieces), err)
	}
}

func TestPlaceholdersAreAsWideAsThePicture(t *testing.T) {
	t.Parallel()
	sequence, lines, err := read(t, pngOf(t, halves(160, 160))).Upload(20, 20)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 10 || !strings.Contains(sequence, "U=1") || !strings.Contains(sequence, "c=20,r=10") {
		t.Errorf("lines: %d, sequence %.80q", len(lines), sequence)
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w != 20 {
			t.Errorf("line %d is %d cells wide", i, w)
		}
	}
}

func TestSixelHasTheColoursOfThePicture(t *testing.T) {
	t.Parallel()
	drawn, err := read(t, pngOf(t, halves(16, 12))).Draw(graphics.Sixel, 80, 20)
	if err != nil {
		t.Fatal(err)
	}
	// Two rows of six pixels, each first in blue (5 of the palette) and then in red (180).
	const row = "#5!8?!8~$#180!8~!8?$-"
	if !strings.HasPrefix(drawn, "\x1bP0;1q\"1;1;16;12#0;2;0;0;0#") || !strings.HasSuffix(drawn, ";2;100;100;100"+row+row+"\x1b\\") ||
		!strings.Contains(drawn, "#5;2;0;0;100#") || !strings.Contains(drawn, "#180;2;100;0;0#") {
		t.Errorf("Sixel: %q", drawn)
	}
}

func TestITermGetsTheFile(t *testing.T) {
	t.Parallel()
	data := pngOf(t, halves(160, 160))
	drawn, err := read(t, data).Draw(graphics.ITerm, 20, 20)
	if want := "width=20;height=10;preserveAspectRatio=1:" + base64.StdEncoding.EncodeToString(data) + "\a"; err != nil || !strings.HasSuffix(drawn, want) {
		t.Errorf("drawn: %.80q, %v", drawn, err)
	}
}

func TestWhatIsNotAPictureIsRefused(t *testing.T) {
	t.Parallel()
	huge := pngOf(t, image.NewGray(image.Rect(0, 0, 9000, 1)))
	for name, data := range map[string][]byte{"text": []byte("hello"), "nothing": nil, "huge": huge} {
		if _, err := graphics.Read(data); err == nil {
			t.Errorf("%s was taken for a picture", name)
		}
	}
	if drawn, err := read(t, pngOf(t, halves(2, 2))).Draw(graphics.None, 1, 1); err == nil {
		t.Errorf("drawn without a protocol: %q", drawn)
	}
}
