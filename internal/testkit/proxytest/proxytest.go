// Package proxytest lets tests put a reverse proxy between two peers.
package proxytest

import "net/http"

// Duplex lets a proxy read the end of a request while it writes the answer. Without it,
// net/http's server closes the request's body with the first byte of the answer. Where the
// proxy has not seen the end of the body by then, its transport takes that for a failed
// request and closes the connection in the middle of the answer: on a busy machine, one
// request in a hundred.
func Duplex(proxy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 always has it
		proxy.ServeHTTP(w, r)
	})
}
