package gate

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Options are what the headers of a request ask for.
type Options struct {
	Conversation string // a UUID; empty: a one-shot
	Key          string // Idempotency-Key
	Retry        bool   // an SDK's second or later attempt
	Fresh        bool
	Detach       bool
	Confirm      string
	Details      bool // the agent's actions under the key "ohgw"
	Phases       bool // what the call of the model waits for, there too
	Timeout      time.Duration
	Budget       float64        // US dollars that the run may cost; 0: no limit
	Attempt      string         // a UI's own name for the answer that it wants
	ReadOnly     bool           // that conversation does not change the files there
	Workspace    string         // the path that a new conversation shall work in
	Confirmation string         // the mode of the conversation from now on: agentapi.Confirmation
	Goal         *agentapi.Goal // what the message is to reach; nil: one run answers it
}

// The decisions that a request can make about the actions that wait.
const (
	ConfirmAccept = "accept"
	ConfirmReject = "reject"
)

const (
	maxKey = 255
	// A limit below minTimeout would be rounded to none.
	minTimeout = time.Millisecond
	maxTimeout = 365 * 24 * time.Hour
)

// readOptions reads the headers. Those of SDKs and proxies are never wrong;
// ours are refused if they are, because they were meant.
func readOptions(h http.Header) (o Options, err error) {
	if o.Conversation, err = conversationID(h); err != nil {
		return o, err
	}
	if o.Key, err = IdempotencyKey(h); err != nil {
		return o, err
	}
	if n, err := strconv.Atoi(h.Get(headerRetryCount)); err == nil {
		o.Retry = n > 0
	}
	repeat, err := OneOf(h, HeaderRepeat, "run")
	if err != nil {
		return o, err
	}
	disconnect, err := OneOf(h, headerDisconnect, "detach", "interrupt")
	if err != nil {
		return o, err
	}
	o.Fresh, o.Detach = repeat == "run", disconnect == "detach"
	if o.Confirm, err = OneOf(h, HeaderConfirm, ConfirmAccept, ConfirmReject); err != nil {
		return o, err
	}
	details, err := OneOf(h, headerDetails, "actions")
	if err != nil {
		return o, err
	}
	phases, err := OneOf(h, headerPhases, "show")
	if err != nil {
		return o, err
	}
	o.Details, o.Phases = details != "", phases != ""
	// A person who asks for another answer sends the same bytes as a program
	// that tries again; where the UI names each answer, they can be told apart.
	o.Attempt = h.Get("X-OpenWebUI-Message-Id")
	if o.Workspace, err = workspaceHeader(h); err != nil {
		return o, err
	}
	access, err := OneOf(h, headerAccess, AccessRead, "write")
	if err != nil {
		return o, err
	}
	if o.ReadOnly = access == AccessRead; o.ReadOnly && o.Workspace == "" {
		return o, badHeader(headerAccess, "set together with "+HeaderWorkspace)
	}
	if o.Confirmation, err = OneOf(h, HeaderConfirmation, string(agentapi.ConfirmNever), string(agentapi.ConfirmRisky), string(agentapi.ConfirmAlways)); err != nil {
		return o, err
	}
	err = o.readCourse(h)
	return o, err
}

// readCourse reads how far the run may go.
func (o *Options) readCourse(h http.Header) (err error) {
	if o.Budget, err = budgetHeader(h); err != nil {
		return err
	}
	if o.Goal, err = goalHeaders(h); err != nil {
		return err
	}
	o.Timeout, err = timeLimit(h)
	return err
}

// What a goal can be.
const (
	maxGoal    = 4 << 10 // bytes
	goalRounds = 10      // where the request does not say it
	maxRounds  = 100
)

// goalHeaders reads the goal of the message. Clients whose headers are ASCII can write it in
// the form of RFC 8187: UTF-8” and the text, percent-encoded.
func goalHeaders(h http.Header) (*agentapi.Goal, error) {
	text, rounds := strings.TrimSpace(h.Get(HeaderGoal)), strings.TrimSpace(h.Get(headerGoalRounds))
	if text == "" && rounds == "" {
		return nil, nil
	}
	if encoded, ok := strings.CutPrefix(text, "UTF-8''"); ok {
		decoded, err := url.PathUnescape(encoded)
		if err != nil {
			return nil, badHeader(HeaderGoal, "a text, percent-encoded behind UTF-8''")
		}
		text = strings.TrimSpace(decoded)
	}
	if text == "" || len(text) > maxGoal || !utf8.ValidString(text) || len(h.Values(HeaderGoal)) > 1 {
		return nil, badHeader(HeaderGoal, "what is to be reached, a text of at most 4096 bytes")
	}
	g := &agentapi.Goal{Objective: text, Rounds: goalRounds}
	if rounds != "" {
		n, err := strconv.Atoi(rounds)
		if err != nil || n < 1 || n > maxRounds {
			return nil, badHeader(headerGoalRounds, "a whole number from 1 to 100")
		}
		g.Rounds = n
	}
	return g, nil
}

// conversationID reads which conversation to continue. A client whose template had
// nothing to fill in says so in one of several ways.
func conversationID(h http.Header) (string, error) {
	values := h.Values(HeaderConversation)
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
		return "", NewProblem(CodeConversationID, HeaderConversation+" must be a single UUID.", nil).About(HeaderConversation)
	}
	return id, nil
}

// IdempotencyKey reads the header of that name; "" if it is missing.
func IdempotencyKey(h http.Header) (string, error) {
	v := h.Get(HeaderKey)
	visible := !strings.ContainsFunc(v, func(r rune) bool { return r < '!' || r > '~' })
	if len(v) > maxKey || !visible || len(h.Values(HeaderKey)) > 1 {
		return "", badHeader(HeaderKey, "1 to 255 visible ASCII characters")
	}
	return v, nil
}

// OneOf is a header with a few known values.
func OneOf(h http.Header, name string, values ...string) (string, error) {
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
	return NewProblem(openai.CodeInvalidValue, "Invalid value for the header "+name+": send "+want+".", nil).About(name)
}

// ReadRequest reads what the requests of all routes have: headers and a body.
func (x *Exchange) ReadRequest(r *http.Request) (Options, []byte, error) {
	o, err := readOptions(r.Header)
	if err == nil {
		err = x.Client.checkConfirmation(o)
	}
	if err != nil {
		return o, nil, err
	}
	if o.Conversation != "" {
		x.Header().Set(HeaderConversation, o.Conversation)
	}
	body, err := x.ReadBody(r)
	return o, body, err
}
