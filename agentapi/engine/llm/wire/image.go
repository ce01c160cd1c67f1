package wire

import "strings"

// DataURL takes a data URL of an image apart. ok is false for any other URL.
func DataURL(url string) (mediaType, base64 string, ok bool) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return "", "", false
	}
	head, data, ok := strings.Cut(rest, ",")
	if !ok {
		return "", "", false
	}
	mediaType, ok = strings.CutSuffix(head, ";base64")
	if !ok {
		return "", "", false
	}
	mediaType, _, _ = strings.Cut(mediaType, ";")
	return mediaType, data, mediaType != ""
}
