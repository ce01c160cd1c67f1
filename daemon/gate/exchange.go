package gate

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/id"
)

// The headers of ohgw.
const (
	HeaderConversation = "X-OpenHands-ServerConversation-ID"
	HeaderIgnored      = "X-OpenHands-Ignored"
	HeaderRunStatus    = "X-OpenHands-Run-Status"
	headerReplayed     = "X-OpenHands-Replayed"
	headerTimeLimit    = "X-OpenHands-Timeout"
	HeaderBudget       = "X-OpenHands-Budget"
	headerDisconnect   = "X-OpenHands-On-Disconnect"
	HeaderRepeat       = "X-OpenHands-Repeat"
	HeaderConfirm      = "X-OpenHands-Confirm"
	headerReconciled   = "X-OpenHands-Reconciled"
	headerDetails      = "X-OpenHands-Details"
	headerPhases       = "X-OpenHands-Phases"
	HeaderWorkspace    = "X-OpenHands-Workspace"
	headerAccess       = "X-OpenHands-Workspace-Access"
	HeaderConfirmation = "X-OpenHands-Confirmation"
	HeaderGoal         = "X-OpenHands-Goal"
	headerGoalRounds   = "X-OpenHands-Goal-Rounds"
	HeaderSandbox      = "X-OpenHands-Sandbox"
	HeaderBlocked      = "X-OpenHands-Sandbox-Blocked"
	headerRetryCount   = "X-Stainless-Retry-Count"
	HeaderKey          = "Idempotency-Key"
	HeaderRouted       = "X-OpenHands-Routed-To"
	HeaderTask         = "X-OpenHands-Task"
)

// Exchange is one request and its answer. It is the ResponseWriter that all
// handlers get: it bounds every write, so that a dead reader holds nothing,
// and knows what the log will say.
type Exchange struct {
	http.ResponseWriter
	Control *http.ResponseController
	Core    *Core
	id      string // X-Request-Id
	began   time.Time
	arrived time.Time // when the request was whole, on the network's clock
	Client  Client
	body    *incoming
	// versioned: the path began with /v1.
	versioned bool
	// tellsPaths: the client may know where conversations work.
	tellsPaths bool

	Status  int // 0 until the header is written
	Written int64
	Failure error // for the log only
	attrs   []slog.Attr
	Seen    sighting
}

func (core *Core) newExchange(w http.ResponseWriter, r *http.Request) *Exchange {
	x := &Exchange{
		ResponseWriter: w, Control: http.NewResponseController(w), Core: core,
		id: id.New("req_"), began: core.Now(), arrived: Deadline(0),
		body: newIncoming(r),
	}
	x.extendDeadline()
	h := w.Header()
	h.Set("X-Request-Id", x.id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	return x
}

// Unwrap lets http.ResponseController find the connection.
func (x *Exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader writes the status, once.
func (x *Exchange) WriteHeader(status int) {
	if x.Status != 0 {
		return
	}
	x.settle()
	x.Status = status
	x.Seen.Answered = x.Core.Now()
	x.ResponseWriter.WriteHeader(status)
}

// Write writes within the write timeout.
func (x *Exchange) Write(p []byte) (int, error) {
	x.WriteHeader(http.StatusOK)
	x.extendDeadline()
	n, err := x.ResponseWriter.Write(p)
	x.Written += int64(n)
	return n, err
}

// FlushNow sends the buffered output.
func (x *Exchange) FlushNow() error {
	x.extendDeadline()
	return x.Control.Flush()
}

func (x *Exchange) extendDeadline() {
	// Where there is no deadline there is no connection: a test.
	_ = x.Control.SetWriteDeadline(Deadline(x.Core.WriteTimeout))
}

// Started reports whether the status can no longer change.
func (x *Exchange) Started() bool { return x.Status != 0 }

// Note adds to the log line of the request.
func (x *Exchange) Note(attrs ...slog.Attr) { x.attrs = append(x.attrs, attrs...) }

// Attached reports to the client and to the log which job answers.
func (x *Exchange) Attached(att *run.Attachment, key bool) {
	h := x.Header()
	h.Set(HeaderConversation, att.ConversationID())
	x.Note(slog.String("conversation_id", att.ConversationID()))
	if dir := att.Workspace(); dir != "" && x.tellsPaths {
		h.Set(HeaderWorkspace, escapedPath(dir))
	}
	if how := att.Reconciled(); how != "" {
		h.Set(headerReconciled, how)
		x.Note(slog.String("reconciled", how))
	}
	if !att.Replayed() {
		return
	}
	x.Core.Metrics.Repeat()
	h.Set(headerReplayed, "true")
	if key {
		h.Set("Idempotency-Replayed", "true")
	}
	x.Note(slog.Bool("replayed", true))
}

// WriteText writes an answer for people or for Prometheus.
func (x *Exchange) WriteText(kind string, body []byte) error {
	x.Header().Set("Content-Type", kind)
	x.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, err := x.Write(body)
	return err
}

// WriteJSON writes an answer of one piece.
func (x *Exchange) WriteJSON(status int, body []byte) error {
	h := x.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("openai-processing-ms", strconv.FormatInt(x.Core.Now().Sub(x.began).Milliseconds(), 10))
	x.WriteHeader(status)
	_, err := x.Write(body)
	return err
}

// Deadline is a deadline of a connection. It is in the clock of the network, which no
// change of the day's time touches, and not in the daemon's.
func Deadline(d time.Duration) time.Time { return time.Now().Add(d) } //nolint:forbidigo // see above

// Encode answers with a value.
func (x *Exchange) Encode(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return x.WriteJSON(http.StatusOK, append(body, '\n'))
}

// StreamHeaders sets the headers of every stream.
func (x *Exchange) StreamHeaders() {
	h := x.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
}
