package secretenv

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/plainjson"
)

// MaskJSON masks every string value of a JSON document like Mask, the members "kind"
// and "type" aside, which only say what an object is, and pictures, which a mark in
// the middle would break. The names of members stay, as does every byte of what holds
// no value. What is not JSON comes back as it is, without what looks like a value in
// it.
func (r *Registry) MaskJSON(doc json.RawMessage) json.RawMessage {
	if len(doc) == 0 || !r.Any() || isPlain(doc) && !occurs(r.patterns.Load(), []byte(doc)) {
		return doc
	}
	var out []byte // nil: nothing has changed so far
	done, key, images := 0, "", false
	for i := 0; i < len(doc); {
		if doc[i] != '"' {
			images = images && doc[i] != ']'
			i++
			continue
		}
		end := stringEnd(doc, i)
		literal := doc[i:end]
		if isKey(doc, end) {
			key = string(literal)
			images = key == `"image_urls"`
			i = end
			continue
		}
		if masked, ok := r.maskLiteral(literal); ok && key != `"kind"` && key != `"type"` && (!images || !isData(literal)) {
			out = append(append(out, doc[done:i]...), masked...)
			done = end
		}
		key, i = "", end
	}
	if out == nil {
		return doc
	}
	return append(out, doc[done:]...)
}

// isData recognizes a file within a URL.
func isData(literal []byte) bool {
	return bytes.HasPrefix(literal, []byte(`"data:`)) && bytes.Contains(literal, []byte(";base64,"))
}

// maskLiteral masks a string of JSON, quotes included. ok is false where
// nothing changes.
func (r *Registry) maskLiteral(literal []byte) (masked []byte, ok bool) {
	if isPlain(literal) && !occurs(r.patterns.Load(), literal) {
		return nil, false
	}
	var text string
	if json.Unmarshal(literal, &text) != nil {
		text = string(bytes.Trim(literal, `"`))
	}
	hidden := r.Mask(text)
	if hidden == text {
		return nil, false
	}
	masked, err := plainjson.Marshal(hidden)
	return masked, err == nil // a string can always be encoded
}

// isPlain reports whether the strings of a document are the texts that they stand for,
// byte by byte: what is not in the document is in none of them then.
func isPlain(doc []byte) bool {
	return bytes.IndexByte(doc, '\\') < 0 && utf8.Valid(doc)
}

// stringEnd is the index behind the string that begins at i.
func stringEnd(doc []byte, i int) int {
	for j := i + 1; j < len(doc); j++ {
		switch doc[j] {
		case '\\':
			j++
		case '"':
			return j + 1
		}
	}
	return len(doc)
}

// isKey reports whether the string that ends before i is the name of a member.
func isKey(doc []byte, i int) bool {
	for ; i < len(doc); i++ {
		switch doc[i] {
		case ' ', '\t', '\n', '\r':
		default:
			return doc[i] == ':'
		}
	}
	return false
}
