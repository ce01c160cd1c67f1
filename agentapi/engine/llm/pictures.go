package llm

import (
	"net/http"
	"strings"
)

// MayBePictures reports whether a picture in the request may be why it was
// refused, and whether the provider speaks of pictures. Most say no more than that
// the request is invalid. Servers of local models fail at pictures with 500, and
// some say 404 where no provider takes them.
func (e *Error) MayBePictures() (may, named bool) {
	text := strings.ToLower(e.Detail)
	named = contains(text, "image", "picture", "photo", "multimodal", "multi-modal", "media type", "media_type")
	switch e.Code {
	case CodeBadRequest, CodeMalformedHistory, CodeContentPolicy:
		return e.Status/100 == 4, named
	case CodeContextWindow:
		return e.Status == http.StatusRequestEntityTooLarge, named
	case CodeNotFound, CodeUnavailable:
		return named && e.Status/100 >= 4, named
	}
	return false, named
}
