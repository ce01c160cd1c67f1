package gate

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
)

// maxOwnWords is longer than any answer that net/http gives by itself, in bytes.
const maxOwnWords = 1 << 10

// OwnWords returns the answer to send in place of p, if p is an error that net/http
// made by itself; else nil. An answer of ours never looks like one: it has more
// headers, and its body never has the two bytes that end a line of a header.
func OwnWords(p []byte) []byte {
	rest, ok := bytes.CutPrefix(p, []byte("HTTP/1.1 "))
	if !ok || len(p) > maxOwnWords || len(rest) < 4 || rest[0] != '4' && rest[0] != '5' {
		return nil
	}
	status, err := strconv.Atoi(string(rest[:3]))
	if err != nil {
		return nil
	}
	_, headers, _ := bytes.Cut(rest, []byte("\r\n"))
	const plain = "Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	refused := status == http.StatusExpectationFailed && bytes.Contains(headers, []byte("Connection: close\r\n"))
	if !refused && !bytes.HasPrefix(headers, []byte(plain)) {
		return nil
	}
	return wordless(status, unreadable(status))
}

// unreadable is the problem of a request that net/http could not read.
func unreadable(status int) *Problem {
	switch status {
	case http.StatusRequestHeaderFieldsTooLarge:
		return NewProblem(codeHeadersTooLarge, fmt.Sprintf("The headers of the request are larger than %d KiB; send fewer or shorter ones.", MaxHeaderBytes>>10), nil)
	case http.StatusNotImplemented:
		return NewProblem(codeMalformed, "The request's Transfer-Encoding is not supported; send Content-Length, or Transfer-Encoding: chunked.", nil)
	case http.StatusExpectationFailed:
		return NewProblem(codeMalformed, "Only Expect: 100-continue is supported; remove the Expect header.", nil)
	case http.StatusHTTPVersionNotSupported:
		return NewProblem(codeMalformed, "This HTTP version is not supported; use HTTP/1.1.", nil)
	}
	return NewProblem(codeMalformed, "The request is not valid HTTP/1.1; check its request line, its Host header and its other headers.", nil)
}

// wordless is a whole answer for a connection on which there is no exchange.
func wordless(status int, p *Problem) []byte {
	body := append(p.Wire.AppendEnvelope(nil), '\n')
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n",
		status, http.StatusText(status), len(body))
	if p.Row.RetryAfter > 0 {
		head += "Retry-After: " + strconv.Itoa(p.Row.RetryAfter) + "\r\n"
	}
	return append([]byte(head+"\r\n"), body...)
}

// TooManyConns is the answer on a connection beyond the limit.
func TooManyConns() []byte {
	p := NewProblem(codeTooManyConns, "Too many connections are open; try again in a few seconds.", nil)
	return wordless(p.Row.Status, p)
}

// MaxHeaderBytes bounds the headers of a request.
const MaxHeaderBytes = 64 << 10
