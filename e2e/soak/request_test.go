//go:build e2e && soak

package soak_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// client makes every request; connections are kept, as programs keep them.
// An answer that does not end within its time is a fault (see judge).
var client = &http.Client{Timeout: 10 * time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 2 * time.Second}}

// message is one message of a request.
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

func user(text string) message { return message{"user", text} }

// ask is a request.
type ask struct {
	model    string // openhands_scripted if empty
	messages []message
	stream   bool
	header   map[string]string
	leave    time.Duration // hang up after so long; 0: never
	leaveAt  int           // hang up after so many frames; 0: never
}

// reply is what a client saw.
type reply struct {
	status       int // 0: no answer
	whole        bool
	text         string
	code         string // of an error
	conversation string
	run          string    // X-OpenHands-Run-Status
	left         bool      // the client hung up
	began        time.Time // the header of the answer came; or there was none
	err          error
	raw          string // the body, for a problem
}

// outcome names what happened, for the books.
func (r reply) outcome() string {
	switch {
	case r.left:
		return "left"
	case r.whole && r.run != "" && r.run != "finished":
		return "answered: " + r.run
	case r.whole:
		return "answered"
	case r.code != "":
		return r.code
	case r.status == 0:
		return "not connected"
	}
	return "cut off"
}

// newLeaver is a client for one request that hangs up. Its connection is closed
// when hangUp returns; a transport closes some time later.
func newLeaver() (c *http.Client, hangUp func()) {
	var mu sync.Mutex
	var conns []net.Conn
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
		}
		return conn, err
	}}
	return &http.Client{Timeout: client.Timeout, Transport: transport}, func() {
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range conns {
			_ = conn.Close() // the transport may have
		}
	}
}

// send makes a request and reads the answer, or as much as the client wants.
func send(ctx context.Context, d *daemon, a ask) (r reply) {
	ctx, cancel := context.WithCancel(ctx)
	client := client
	if a.leave > 0 || a.leaveAt > 0 {
		leaver, hangUp := newLeaver()
		defer hangUp()
		client = leaver
	}
	defer cancel()
	if a.leave > 0 {
		timer := time.AfterFunc(a.leave, cancel)
		defer timer.Stop()
	}
	if a.model == "" {
		a.model = "openhands_scripted"
	}
	body, err := json.Marshal(map[string]any{"model": a.model, "stream": a.stream, "messages": a.messages})
	if err != nil {
		return reply{err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	req.Header.Set("Authorization", "Bearer "+gatewayKey)
	req.Header.Set("Content-Type", "application/json")
	for name, value := range a.header {
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	r.began = time.Now()
	if err != nil {
		return reply{err: err, left: ctx.Err() != nil, began: r.began}
	}
	defer res.Body.Close()
	r.status, r.conversation = res.StatusCode, res.Header.Get("X-OpenHands-ServerConversation-ID")
	r.run = res.Header.Get("X-OpenHands-Run-Status")
	if a.stream && res.StatusCode == http.StatusOK {
		r.readStream(res.Body, a.leaveAt)
	} else {
		r.readWhole(res.Body)
	}
	if !r.whole && ctx.Err() != nil {
		r.left = true
	}
	return r
}

type apiError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (r *reply) readWhole(body io.Reader) {
	data, err := io.ReadAll(body)
	if r.raw, r.err = string(data), err; err != nil {
		return
	}
	var in struct {
		Error   *apiError `json:"error"`
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		r.err = err
		return
	}
	switch {
	case in.Error != nil:
		r.code = in.Error.Code
	case len(in.Choices) == 1:
		r.whole, r.text = true, in.Choices[0].Message.Content
	}
}

var errEnough = errors.New("the client has enough")

func (r *reply) readStream(body io.Reader, leaveAt int) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 4<<20)
	var text strings.Builder
	for frames := 0; lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			r.whole = r.code == ""
			break
		}
		var chunk struct {
			Error   *apiError `json:"error"`
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			r.err, r.raw = err, data
			return
		}
		if chunk.Error != nil {
			r.code, r.raw = chunk.Error.Code, data
		}
		for _, c := range chunk.Choices {
			text.WriteString(c.Delta.Content)
		}
		if frames++; leaveAt > 0 && frames >= leaveAt {
			r.left, r.err = true, errEnough
			return
		}
	}
	r.text = text.String()
	if err := lines.Err(); err != nil {
		r.err = err
	}
}

// picture is a PNG of noise, as a data URL; its size in bytes is about 3n².
func picture(n int, seed uint32) string {
	img := image.NewRGBA(image.Rect(0, 0, n, n))
	for y := range n {
		for x := range n {
			seed = seed*1664525 + 1013904223
			img.Set(x, y, color.RGBA{byte(seed >> 24), byte(seed >> 16), byte(seed >> 8), 255})
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img) // a buffer takes everything
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}
