// Package proxytest lets tests put a reverse proxy between two peers.
package proxytest

import "net/http"

// Duplex lets a proxy read the end of a request while it writes the answer;
// daemon/openhandsapi/through.Duplex has the reason.
func Duplex(proxy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 always has it
		proxy.ServeHTTP(w, r)
	})
}
