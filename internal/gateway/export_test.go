package gateway

import (
	"bytes"
	"errors"
	"io"
)

// ReadStream reads a body as the answer to a question.
func ReadStream(body []byte) (all []Piece, err error) {
	r := newReader(bytes.NewReader(body))
	for {
		pieces, err := r.next()
		all = append(all, pieces...)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}
