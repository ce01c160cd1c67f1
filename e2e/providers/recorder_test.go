//go:build e2e && linux

package providers_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// recorder is every provider at once: it keeps the requests and answers each in
// the dialect of its path.
type recorder struct {
	mu       sync.Mutex
	recorded []request
}

// request is a request as it arrived.
type request struct {
	method, host, path, query string
	header                    http.Header
	body                      []byte
}

const httpsPort = 443

// newRecorder listens as every provider and as the local servers.
func newRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{}
	authority, err := certificates()
	if err != nil {
		t.Fatal(err)
	}
	// A server of its own for each port: one that serves without TLS first does
	// not speak HTTP/2 afterwards.
	for _, port := range []int{httpsPort, 1234, 4000, 8000, 11434} {
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{
			Handler: r, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
			TLSConfig: &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
				return authority.issue(hello.ServerName)
			}},
		}
		var serving sync.WaitGroup
		serving.Go(func() {
			if port == httpsPort {
				_ = server.ServeTLS(listener, "", "")
			} else {
				_ = server.Serve(listener)
			}
		})
		t.Cleanup(func() {
			_ = server.Close()
			serving.Wait()
		})
	}
	return r
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	got := request{
		method: req.Method, host: req.Host, path: req.URL.EscapedPath(), query: req.URL.RawQuery,
		header: req.Header.Clone(), body: body,
	}
	if req.Method != http.MethodPost || got.path == "/api/show" {
		// Questions about a model, for whose answer no caller waits.
		http.Error(w, `{"error":"there is no such thing"}`, http.StatusNotFound)
		return
	}
	r.mu.Lock()
	r.recorded = append(r.recorded, got)
	step := len(r.recorded)
	r.mu.Unlock()
	answer(w, got, step)
}

// take returns what was recorded and forgets it.
func (r *recorder) take() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	recorded := r.recorded
	r.recorded = nil
	return recorded
}

// authority issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey

	mu     sync.Mutex
	issued map[string]*tls.Certificate
}

// certificates is the one authority of this process: Go reads the file of those
// that it trusts once.
var certificates = sync.OnceValues(func() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ohgw test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		SubjectKeyId: []byte("ohgw test authority"),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{certificate: certificate, key: key, issued: map[string]*tls.Certificate{}}, nil
})

// trust writes the authority to path. This process, and those that it starts, trust that
// authority and no other.
func trust(path string) error {
	a, err := certificates()
	if err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
	if err := os.WriteFile(path, block, 0o644); err != nil {
		return err
	}
	for _, name := range []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE"} { // of Go and OpenSSL, and of two Python libraries
		if err := os.Setenv(name, path); err != nil {
			return err
		}
	}
	return nil
}

// issue makes the certificate of a host.
func (a *authority) issue(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.issued[host]; known != nil {
		return known, nil
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(2 + len(a.issued))), DNSNames: []string{host},
		NotBefore: a.certificate.NotBefore, NotAfter: a.certificate.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	a.issued[host] = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
	return a.issued[host], nil
}

// bodyHas tells whether a body has a text.
func (r request) bodyHas(text string) bool { return bytes.Contains(r.body, []byte(text)) }
