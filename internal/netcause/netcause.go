// Package netcause puts the errors of net and net/http into the words of people. The
// message of whoever shows such an error has the address already; the error's own text
// has it again, with the names of system calls, and a URL whose query may hold a key.
package netcause

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// cause is an error that says the last word of another one.
type cause struct {
	text string
	err  error
}

func (c *cause) Error() string { return c.text }
func (c *cause) Unwrap() error { return c.err }

// Of returns an error whose text is the part that people need. It unwraps to what the
// error is, without the URL. An error that is not of the network stays as it is.
func Of(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if text := words(err); text != "" {
		return &cause{text, err}
	}
	return err
}

// NotTLS is the cause where a server was asked by https:// and speaks HTTP.
const NotTLS = "it does not speak TLS; its address may begin with http://"

// words returns what a person needs of an error; "" if that is its own text.
func words(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return lookup(dns)
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "its certificate is not valid: " + strings.TrimPrefix(bad.Err.Error(), "x509: ")
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return NotTLS
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed before the answer was complete"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		return op.Err.Error()
	}
	return ""
}

// lookup is why a name has no address.
func lookup(dns *net.DNSError) string {
	text := dns.Err
	if strings.HasPrefix(text, "dial ") || strings.HasPrefix(text, "read ") || strings.HasPrefix(text, "write ") {
		text = text[strings.LastIndex(text, ": ")+1:] // the name server's address and the system calls come first
		text = "its name cannot be looked up:" + text
	}
	if strings.Contains(text, "i/o timeout") {
		text = "the name server does not answer"
	}
	return text
}

// winRefused is the ECONNREFUSED of Windows. No other system has this number.
const winRefused = syscall.Errno(10061)

// IsRefused reports whether the machine at the other end has refused a connection.
func IsRefused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, winRefused)
}

// IsNoHost reports whether the resolver answered that a name does not exist. A resolver
// that does not answer says nothing about the name.
func IsNoHost(err error) bool {
	failed, ok := errors.AsType[*net.DNSError](err)
	return ok && failed.IsNotFound
}
