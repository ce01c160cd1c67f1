package picture

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// headLen is how many bytes say what a file is.
const headLen = 16

// The reasons for which a picture is not taken.
const (
	whyCut   = "is cut off: the end of the file is missing"
	whyEmpty = "has no pixels: its width or height is 0"
	whyBad   = "is damaged"
)

// sniff returns the media type by the first bytes of a file, or the name of a format
// that no provider takes; "" where the bytes are of neither.
func sniff(head []byte) (kind string, taken bool) {
	for _, f := range [...]struct {
		at    int
		magic string
		kind  string
		taken bool
	}{
		{0, "\x89PNG\r\n\x1a\n", "image/png", true},
		{0, "\xff\xd8\xff", "image/jpeg", true},
		{0, "GIF87a", "image/gif", true},
		{0, "GIF89a", "image/gif", true},
		{8, "WEBP", "image/webp", true}, // behind RIFF and a size
		{0, "BM", "BMP", false},
		{0, "II*\x00", "TIFF", false},
		{0, "MM\x00*", "TIFF", false},
		{0, "II+\x00", "TIFF", false},
		{0, "MM\x00+", "TIFF", false},
		{4, "ftypavi", "AVIF", false},
		{4, "ftyphe", "HEIC", false},
		{4, "ftypmif1", "HEIC", false},
		{4, "ftypmsf1", "HEIC", false},
		{0, "\x00\x00\x01\x00", "ICO", false},
		{0, "\x00\x00\x02\x00", "ICO", false},
		{0, "%PDF", "PDF", false},
		{0, "\xff\x0a", "JPEG XL", false},
		{4, "JXL ", "JPEG XL", false},
	} {
		if len(head) >= f.at && bytes.HasPrefix(head[f.at:], []byte(f.magic)) && (f.kind != "image/webp" || bytes.HasPrefix(head, []byte("RIFF"))) {
			return f.kind, f.taken
		}
	}
	text := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"))
	for _, begin := range []string{"<svg", "<?xml", "<!doctype svg"} {
		if n := min(len(begin), len(text)); n > 3 && string(text[:n]) == begin[:n] {
			return "SVG", false
		}
	}
	return "", false
}

// read reads the frame of a picture as far as it has to.
func read(source io.Reader) (string, error) {
	r := bufio.NewReader(source)
	head, err := r.Peek(headLen)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	kind, taken := sniff(head)
	switch {
	case len(head) == 0:
		return "", refusef("is empty")
	case kind == "":
		return "", refusef("is not a " + Names + " picture")
	case !taken:
		return "", refusef("is " + kind + ", not " + Names)
	}
	frames := map[string]func(*bufio.Reader) error{"image/png": readPNG, "image/jpeg": readJPEG, "image/gif": readGIF, "image/webp": readWebP}
	err = frames[kind](r)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = refusef(whyCut)
	}
	if err != nil {
		return "", err
	}
	return kind, nil
}

// take reads the next n bytes.
func take(r io.Reader, n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

// skip leaves n bytes out.
func skip(r *bufio.Reader, n int64) error {
	_, err := io.CopyN(io.Discard, r, n)
	return err
}
