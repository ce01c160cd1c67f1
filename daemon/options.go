package daemon

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/uuid"
)

// options are what the headers of a request ask for.
type options struct {
	conversation string // a UUID; empty: a one-shot
	key          string // Idempotency-Key
	retry        bool   // an SDK's second or later attempt
	fresh        bool
	detach       bool
	confirm      string
	details      bool // the agent's actions under the key "ohgw"
	phases       bool // what the call of the model waits for, there too
	timeout      time.Duration
	attempt      string // a UI's own name for the answer that it wants
	readOnly     bool   // that conversation does not change the files there
	workspace    string // the path that a new conversation shall work in
	confirmation string // the mode of the conversation from now on: agentapi.Confirmation
}

const (
	headerKey        = "Idempotency-Key"
	headerRetryCount = "X-Stainless-Retry-Count"

	confirmAccept = "accept"
	confirmReject = "reject"

	maxKey = 255
	// A limit below minTimeout would be rounded to none.
	minTimeout = time.Millisecond
	maxTimeout = 365 * 24 * time.Hour
)

// readOptions reads the headers. Those of SDKs and proxies are never wrong;
// ours are refused if they are, because they were meant.
func readOptions(h http.Header) (o options, err error) {
	if o.conversation, err = conversationID(h); err != nil {
		return o, err
	}
	if o.key, err = idempotencyKey(h); err != nil {
		return o, err
	}
	if n, err := strconv.Atoi(h.Get(headerRetryCount)); err == nil {
		o.retry = n > 0
	}
	repeat, err := oneOf(h, headerRepeat, "run")
	if err != nil {
		return o, err
	}
	disconnect, err := oneOf(h, headerDisconnect, "detach", "interrupt")
	if err != nil {
		return o, err
	}
	o.fresh, o.detach = repeat == "run", disconnect == "detach"
	if o.confirm, err = oneOf(h, headerConfirm, confirmAccept, confirmReject); err != nil {
		return o, err
	}
	details, err := oneOf(h, headerDetails, "actions")
	if err != nil {
		return o, err
	}
	phases, err := oneOf(h, headerPhases, "show")
	if err != nil {
		return o, err
	}
	o.details, o.phases = details != "", phases != ""
	// A person who asks for another answer sends the same bytes as a program
	// that tries again; where the UI names each answer, they can be told apart.
	o.attempt = h.Get("X-OpenWebUI-Message-Id")
	if o.workspace, err = workspaceHeader(h); err != nil {
		return o, err
	}
	access, err := oneOf(h, headerAccess, accessRead, "write")
	if err != nil {
		return o, err
	}
	if o.readOnly = access == accessRead; o.readOnly && o.workspace == "" {
		return o, badHeader(headerAccess, "set together with "+headerWorkspace)
	}
	if o.confirmation, err = oneOf(h, headerConfirmation, string(agentapi.ConfirmNever), string(agentapi.ConfirmRisky), string(agentapi.ConfirmAlways)); err != nil {
		return o, err
	}
	o.timeout, err = timeLimit(h)
	return o, err
}

// conversationID is the conversation to continue. A client whose template had
// nothing to fill in says so in one of several ways.
func conversationID(h http.Header) (string, error) {
	values := h.Values(headerConversation)
	if len(values) == 0 {
		return "", nil
	}
	v := strings.TrimSpace(values[0])
	switch strings.ToLower(v) {
	case "", "null", "undefined", "new", "none":
		return "", nil
	}
	if strings.Contains(v, "{{") || strings.Contains(v, "${") {
		return "", nil
	}
	id, err := uuid.Parse(openai.TrimConversationID(v))
	if err != nil || len(values) > 1 {
		return "", newProblem(codeConversationID, headerConversation+" must be a single UUID.", nil).about(headerConversation)
	}
	return id, nil
}

func idempotencyKey(h http.Header) (string, error) {
	v := h.Get(headerKey)
	visible := !strings.ContainsFunc(v, func(r rune) bool { return r < '!' || r > '~' })
	if len(v) > maxKey || !visible || len(h.Values(headerKey)) > 1 {
		return "", badHeader(headerKey, "1 to 255 visible ASCII characters")
	}
	return v, nil
}

// oneOf is a header with a few known values.
func oneOf(h http.Header, name string, values ...string) (string, error) {
	v := strings.ToLower(strings.TrimSpace(h.Get(name)))
	for _, known := range values {
		if v == known {
			return v, nil
		}
	}
	if v == "" {
		return "", nil
	}
	return "", badHeader(name, strings.Join(values, " or "))
}

// timeLimit is a number of seconds, with a fraction or without.
func timeLimit(h http.Header) (time.Duration, error) {
	v := strings.TrimSpace(h.Get(headerTimeLimit))
	if v == "" {
		return 0, nil
	}
	seconds, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(seconds) || seconds < minTimeout.Seconds() || seconds > maxTimeout.Seconds() {
		return 0, badHeader(headerTimeLimit, "a number of seconds, at least 0.001")
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

func badHeader(name, want string) error {
	return newProblem(openai.CodeInvalidValue, "Invalid value for the header "+name+": send "+want+".", nil).about(name)
}
