package oauth

import (
	"errors"
	"net/http"
)

// Transport sends requests with the token of a handler, for transports of the SDK that
// know no login. Only the host of the server gets it.
type Transport struct {
	Handler *Handler
	Host    string
	Base    http.RoundTripper
}

// RoundTrip sends a request, and once more after a login.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != t.Host {
		return t.Base.RoundTrip(req)
	}
	sent, resp, err := t.send(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		return resp, err
	}
	if req.Body != nil && req.GetBody == nil {
		return resp, nil // it cannot be sent again
	}
	if err := t.Handler.Authorize(req.Context(), sent, resp); err != nil {
		return nil, err
	}
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, errors.New("the request cannot be sent again")
		}
	}
	_, resp, err = t.send(again)
	return resp, err
}

func (t *Transport) send(req *http.Request) (*http.Request, *http.Response, error) {
	req = req.Clone(req.Context())
	source, err := t.Handler.TokenSource(req.Context())
	if err != nil {
		return nil, nil, err
	}
	token, err := source.Token()
	if err != nil {
		return nil, nil, err
	}
	if token != nil {
		req.Header.Set("Authorization", "Bearer "+token.AccessToken)
	}
	resp, err := t.Base.RoundTrip(req)
	return req, resp, err
}
