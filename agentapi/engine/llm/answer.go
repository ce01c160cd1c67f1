package llm

import (
	"bufio"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
)

// errEncoding is an answer that cannot be unpacked.
var errEncoding = errors.New("the server sent a compressed answer although ohgw asked for an uncompressed one")

// decompress unpacks the body of an answer. No request asks for any, but some proxies
// compress all the same.
func decompress(body io.Reader, h http.Header) (io.Reader, error) {
	switch kind := strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding"))); kind {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			return nil, wire.Broken(fmt.Errorf("unpack answer: %w", err))
		}
		return unpacked, nil
	case "deflate":
		unpacked, err := zlib.NewReader(body)
		if err != nil {
			return nil, wire.Broken(fmt.Errorf("unpack answer: %w", err))
		}
		return unpacked, nil
	default:
		return nil, fmt.Errorf("%w (%q)", errEncoding, kind)
	}
}

// read reads an answer with status 200 into b.
func (m *model) read(body io.Reader, h http.Header, b *wire.Builder) error {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	switch kind {
	case "text/event-stream", "application/vnd.amazon.eventstream":
		return m.dialect.Read(body, false, b)
	case "application/json":
		return m.dialect.Read(body, true, b)
	}
	// A stream under another name, or a page of a proxy or a login.
	const enough = 4 << 10
	buffered := bufio.NewReaderSize(body, enough)
	if begin, _ := buffered.Peek(1); len(begin) == 1 && begin[0] == '<' {
		page, _ := io.ReadAll(io.LimitReader(buffered, enough))
		if kind == "text/html" || wire.IsPage(page) {
			return fmt.Errorf("%w %s", errPage, wire.PageTitle(page))
		}
		return wire.ErrCut
	}
	return m.dialect.Read(buffered, false, b)
}
