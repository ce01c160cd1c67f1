// Package picture says what the bytes of a picture are. Every door by which
// pictures come in asks it, so that none is stored that a provider refuses for
// its form: a label that is not what the bytes are, a format that no provider
// takes, a file that was cut.
//
// It does not decode pixels and fetches nothing. It reads the frame of a file
// (chunks, segments, blocks) once, with a small buffer, whatever the file's size
// is. A file that passes can still be one that a decoder refuses.
package picture

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strings"
)

// Names are the formats that are taken, for messages. The providers' documents
// have these in common; HEIC is taken by Google alone, and GIF by all but Google.
const Names = "PNG, JPEG, GIF or WebP"

// An Error is why bytes are not taken. It reads on behind "the picture ".
type Error struct{ why string }

func (e *Error) Error() string { return e.why }

func refusef(why string) error { return &Error{why} }

// ErrBase64 is a data URL whose payload is not base64, or is empty.
var ErrBase64 = errors.New("is not valid base64")

// ErrURL is the error for a URL that is not a data URL of base64.
var ErrURL = errors.New("is not a data URL such as data:image/png;base64,…")

// Type is the media type of a picture, by its bytes.
func Type(data []byte) (string, error) { return read(bytes.NewReader(data)) }

// Encode makes a data URL of the bytes of a picture.
func Encode(data []byte) (string, error) {
	kind, err := Type(data)
	if err != nil {
		return "", err
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data), nil
}

// FromBase64 makes a data URL of the bytes of a picture in base64. Line breaks
// in it are left out, since not every provider skips them.
func FromBase64(payload string) (string, error) {
	payload = joined(payload)
	kind, err := typeOf(payload)
	if err != nil {
		return "", err
	}
	return "data:" + kind + ";base64," + payload, nil
}

// DataURL gives a data URL its usual form: the media type that its bytes have,
// no parameters, no line breaks. One in that form comes back as it is.
func DataURL(url string) (string, error) {
	_, payload, ok := Split(url)
	if !ok {
		return "", ErrURL
	}
	return FromBase64(payload)
}

// Split takes a data URL in base64 apart, in any spelling.
func Split(url string) (label, payload string, ok bool) {
	const scheme = "data:"
	if len(url) < len(scheme) || !strings.EqualFold(url[:len(scheme)], scheme) {
		return "", "", false
	}
	head, payload, ok := strings.Cut(url[len(scheme):], ",")
	if !ok {
		return "", "", false
	}
	head, ok = strings.CutSuffix(strings.ToLower(head), ";base64")
	label, _, _ = strings.Cut(head, ";")
	return strings.TrimSpace(label), payload, ok
}

// Relabel gives a data URL the media type that its bytes begin with. Any other
// URL, and a picture of no format that is taken, comes back as it is: this is for
// what is stored already.
func Relabel(url string) string {
	label, payload, ok := Split(url)
	if !ok {
		return url
	}
	head := make([]byte, headLen)
	n, err := io.ReadFull(base64.NewDecoder(base64.StdEncoding, strings.NewReader(payload)), head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return url
	}
	kind, taken := sniff(head[:n])
	if !taken || kind == label && strings.HasPrefix(url, "data:"+kind+";base64,") {
		return url
	}
	return "data:" + kind + ";base64," + joined(payload)
}

func typeOf(payload string) (string, error) {
	// The decoder takes as many line breaks as there are, and nothing else.
	source := &counting{r: base64.NewDecoder(base64.StdEncoding, strings.NewReader(payload))}
	kind, err := read(source)
	if _, drainErr := io.Copy(io.Discard, source); drainErr != nil || source.n == 0 {
		return "", ErrBase64
	}
	return kind, err
}

// counting counts the bytes that were read, and keeps the error that ended it.
type counting struct {
	r   io.Reader
	n   int64
	err error
}

func (c *counting) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.err = err
	return n, err
}

func joined(payload string) string {
	if !strings.ContainsAny(payload, "\r\n") {
		return payload
	}
	return strings.NewReplacer("\r", "", "\n", "").Replace(payload)
}
