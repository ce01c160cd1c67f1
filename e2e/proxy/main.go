//go:build e2e

// Command proxy is a reverse proxy of a few lines. The benchmarks run it beside
// ohgw: what any Go program between a client and an LLM costs on this machine.
// It prints its address and ends with its standard input.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
}

func run(target string) error {
	to, err := url.Parse(target)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + ln.Addr().String())
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 64
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1}
	go func() {
		_ = http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).EnableFullDuplex() // daemon/openhandsapi/through.Duplex has the reason
			proxy.ServeHTTP(w, r)
		}))
	}() // ends with the process
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
