package wire

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/truncate"
)

// Failure is a provider's refusal: the answer to the request, or a frame
// inside an answer that had begun.
type Failure struct {
	Status  int    // HTTP status, or the one the frame names; 0 if unknown
	Type    string // the provider's word for it, e.g. "overloaded_error"
	Message string // the provider's sentence, or the body; not yet safe to show
	Page    bool   // a web page was sent in place of an error
	// RetryAfter is when the provider wants to be asked again; negative if it
	// did not say.
	RetryAfter time.Duration
}

// Error is the status with the message.
func (f *Failure) Error() string {
	if f.Status == 0 {
		return f.Message
	}
	return strconv.Itoa(f.Status) + ": " + f.Message
}

// maxMessage bounds what is kept of a body that is not an error object, in bytes.
const maxMessage = 4 << 10

// ParseFailure reads a refusal from an HTTP answer. now is for dates in its
// header.
func ParseFailure(status int, header http.Header, body []byte, now time.Time) *Failure {
	f := parseFailure(body)
	f.Status = status
	if f.Type == "" {
		// Bedrock names the error in a header, with a URI behind a colon.
		f.Type, _, _ = strings.Cut(header.Get("X-Amzn-Errortype"), ":")
	}
	if f.Message == "" {
		f.Message = http.StatusText(status)
	}
	if after := retryAfter(header, now); after >= 0 {
		f.RetryAfter = after
	}
	return f
}

// FrameFailure reads a refusal from a frame of a stream. The status is the one
// that the frame names, or that its type stands for.
func FrameFailure(data []byte) *Failure {
	f := parseFailure(data)
	if f.Status == 0 {
		f.Status = statusOf(f.Type)
	}
	return f
}

// errorObject is the error of OpenAI, Anthropic, Google, Bedrock and most
// others: at the top or below "error".
type errorObject struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"`   // a word, a status, a status as text
	Status  json.RawMessage `json:"status"` // a word at Google, a number elsewhere
	Detail  json.RawMessage `json:"detail"` // of FastAPI
	Error   json.RawMessage `json:"error"`  // an object, or the message

	Metadata Lenient[struct {
		Raw      string `json:"raw"` // what the provider behind OpenRouter said
		Provider string `json:"provider_name"`
	}] `json:"metadata"`
	Details Lenient[[]struct {
		RetryDelay string `json:"retryDelay"` // Google's RetryInfo, such as 34.5s
	}] `json:"details"`
}

func parseFailure(body []byte) *Failure {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0] // Google's, when it streams a list
	}
	var outer, inner errorObject
	if json.Unmarshal(body, &outer) != nil {
		return &Failure{Message: page(body), Page: IsPage(body), RetryAfter: -1}
	}
	o := outer
	var text string
	switch {
	case json.Unmarshal(outer.Error, &text) == nil && text != "":
		o.Message = text
	case json.Unmarshal(outer.Error, &inner) == nil:
		o = inner
	}
	f := &Failure{Message: o.Message, Type: o.Type, RetryAfter: o.delay()}
	for _, raw := range []json.RawMessage{o.Code, o.Status} {
		f.name(wordOf(raw))
	}
	if f.Message == "" {
		f.Message = wordOf(outer.Detail)
	}
	if f.Message == "" {
		f.Message = truncate.Bytes(string(body), maxMessage, " ...")
	}
	// The word is often what tells one refusal from another.
	if f.Type != "" && !strings.Contains(f.Message, f.Type) {
		f.Message += " (" + f.Type + ")"
	}
	f.unwrap(o.Metadata.V.Provider, o.Metadata.V.Raw)
	return f
}

// name takes a code or status of an error: an HTTP status, or a word that may
// say more than the type beside it.
func (f *Failure) name(word string) {
	if n, err := strconv.Atoi(word); err == nil {
		if n >= 400 && n < 600 {
			f.Status = n
		} else if n > 0 && f.Type == "" {
			f.Type = word // Z.ai's
		}
		return
	}
	if word != "" && (statusOf(f.Type) == 0 || f.Type == "invalid_request_error") {
		f.Type = word
	}
}

// unwrap adds what the provider behind a proxy said: its own words tell what
// is wrong.
func (f *Failure) unwrap(provider, raw string) {
	if raw == "" {
		return
	}
	behind := parseFailure([]byte(raw))
	if f.Type == "" {
		f.Type = behind.Type
	}
	if f.RetryAfter < 0 {
		f.RetryAfter = behind.RetryAfter
	}
	f.Message = strings.TrimRight(f.Message, ".: ")
	if provider != "" {
		f.Message += " (" + provider + ")"
	}
	f.Message += ": " + behind.Message
}

// delay is when Google wants to be asked again; negative if it does not say.
func (o *errorObject) delay() time.Duration {
	for _, d := range o.Details.V {
		if after, err := time.ParseDuration(d.RetryDelay); err == nil && after >= 0 {
			return after
		}
	}
	return -1
}

var (
	htmlTitle = pattern.Of(`(?is)<title[^>]*>(.*?)</title>`)
	htmlTag   = pattern.Of(`(?s)<[^>]*>`)
)

// IsPage reports whether a text is the beginning of a web page.
func IsPage(body []byte) bool {
	const enough = 512
	begin := strings.ToLower(string(bytes.TrimSpace(body[:min(len(body), enough)])))
	return strings.HasPrefix(begin, "<!doctype html") || strings.HasPrefix(begin, "<html") || strings.HasPrefix(begin, "<head")
}

// PageTitle returns the title of a web page in quotes, or else its first words; empty
// if it has neither.
func PageTitle(body []byte) string {
	words := htmlTag().ReplaceAll(body, []byte(" "))
	if found := htmlTitle().FindSubmatch(body); found != nil {
		words = found[1]
	}
	title := strings.Join(strings.Fields(strings.ToValidUTF8(string(words), "")), " ")
	const longest = 200
	if len(title) > longest {
		title = strings.ToValidUTF8(title[:longest], "")
	}
	if title == "" {
		return ""
	}
	return strconv.Quote(title)
}

// page is a body that is not JSON: of a web page its title.
func page(body []byte) string {
	if !IsPage(body) {
		return truncate.Bytes(string(body), maxMessage, " ...")
	}
	return strings.TrimSpace("a web page " + PageTitle(body))
}

func wordOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if string(raw) == "null" {
		return ""
	}
	return truncate.Bytes(string(raw), maxMessage, " ...")
}

// statusOf returns the HTTP status that a type of error stands for; 0 if it is not
// known.
func statusOf(kind string) int {
	switch strings.ToLower(kind) {
	case "rate_limit_error", "rate_limit_exceeded", "throttlingexception", "resource_exhausted":
		return http.StatusTooManyRequests
	case "overloaded_error", "unavailable", "serviceunavailableexception":
		return http.StatusServiceUnavailable
	case "api_error", "server_error", "internal_error", "internal", "internalserverexception", "modelstreamerrorexception":
		return http.StatusInternalServerError
	case "timeout_error", "deadline_exceeded", "modeltimeoutexception":
		return http.StatusGatewayTimeout
	case "authentication_error", "invalid_api_key", "unauthenticated":
		return http.StatusUnauthorized
	case "permission_error", "permission_denied", "accessdeniedexception":
		return http.StatusForbidden
	case "invalid_request_error", "invalid_argument", "validationexception", "context_length_exceeded", "content_filter":
		return http.StatusBadRequest
	}
	return 0
}

// retryAfter reads how long the provider asks to wait; negative if it does not.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := strings.TrimSpace(header.Get("Retry-After"))
	if s, err := strconv.ParseFloat(value, 64); err == nil && s >= 0 && s < 1e9 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return -1
}
