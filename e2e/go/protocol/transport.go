package protocol

import "net/http"

// Counting is an HTTP client that counts what a Go library sends, adds headers
// for libraries that cannot, and keeps the conversation's id.
func (r *Result) Counting(headers map[string]string) *http.Client {
	return &http.Client{Transport: &counting{result: r, headers: headers}}
}

type counting struct {
	result  *Result
	headers map[string]string
}

// RoundTrip sends one request.
func (c *counting) RoundTrip(request *http.Request) (*http.Response, error) {
	c.result.Attempts++
	request = request.Clone(request.Context())
	for name, value := range c.headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if id := response.Header.Get("X-OpenHands-ServerConversation-ID"); id != "" {
		c.result.Conversation = id
	}
	return response, nil
}
