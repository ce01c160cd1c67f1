package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// modelsTimeout bounds the question for the models.
	modelsTimeout = 10 * time.Second
	// maxModels and maxError bound what is read of answers in one piece, in bytes.
	maxModels = 64 << 20
	maxError  = 1 << 20

	defaultSilence  = 20 * time.Second
	defaultPatience = time.Minute
	// maxAttempts bounds how often a question is sent without a byte in answer.
	maxAttempts = 12
)

// Config is what a Client needs. HTTP, Now and NewKey are required.
type Config struct {
	URL       string // of the gateway, without /v1: "http://127.0.0.1:6449"
	Key       string // empty to show none
	HTTP      *http.Client
	Now       func() time.Time
	NewKey    func() string // makes keys of questions
	UserAgent string

	// Silence is how long a gateway may send nothing before the connection
	// counts as lost: heartbeats come every 4 s. 0: 20 s.
	Silence time.Duration
	// Patience is how long a lost gateway is looked for. 0: 1 minute.
	Patience time.Duration
}

// Client is an [Endpoint] over HTTP. It is safe for concurrent use.
type Client struct {
	cfg  Config
	base string
}

// New makes a client. The address may end in a slash or in /v1, as in the
// settings of other clients.
func New(cfg Config) *Client {
	if cfg.Silence <= 0 {
		cfg.Silence = defaultSilence
	}
	if cfg.Patience <= 0 {
		cfg.Patience = defaultPatience
	}
	base := strings.TrimSuffix(strings.TrimRight(cfg.URL, "/"), "/v1")
	return &Client{cfg: cfg, base: base}
}

// URL is the address of the gateway, without /v1.
func (c *Client) URL() string { return c.base }

// Models implements [Endpoint].
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	limit, cancel := context.WithTimeout(ctx, modelsTimeout)
	defer cancel()
	req, err := c.request(limit, http.MethodGet, "/v1/models", nil)
	if err != nil {
		return nil, err
	}
	res, err := c.cfg.HTTP.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	defer func() { _ = res.Body.Close() }() // It was only read.
	if res.StatusCode != http.StatusOK {
		return nil, c.refused(res)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxModels))
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	var list struct {
		Data []struct {
			ID          string `json:"id"`
			Name        string `json:"name"`
			Description string `json:"description"`
			Created     int64  `json:"created"`
			Extension   struct {
				Kind string `json:"kind"` // "agent", or "llm" for a plain one
			} `json:"ohgw"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, c.stranger(describe(res), err)
	}
	models := make([]Model, 0, len(list.Data))
	for _, m := range list.Data {
		models = append(models, Model{
			ID: m.ID, Name: m.Name, Description: m.Description, Created: time.Unix(m.Created, 0), Plain: m.Extension.Kind == "llm",
		})
	}
	return models, nil
}

// request builds a request with the headers that every call shares.
func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, &Error{Kind: Unreachable, Message: fmt.Sprintf("%q is not the address of a gateway.", c.base), Err: err}
	}
	if c.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Key)
	}
	if c.cfg.UserAgent != "" {
		req.Header.Set("User-Agent", c.cfg.UserAgent)
	}
	return req, nil
}

// place is the address as people read it.
func (c *Client) place() string {
	if u, err := url.Parse(c.base); err == nil && u.Host != "" {
		return u.Redacted()
	}
	return c.base
}
