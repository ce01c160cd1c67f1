package daemon

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/id"
)

// The headers of ohgw.
const (
	headerConversation = "X-OpenHands-ServerConversation-ID"
	headerIgnored      = "X-OpenHands-Ignored"
	headerRunStatus    = "X-OpenHands-Run-Status"
	headerReplayed     = "X-OpenHands-Replayed"
	headerTimeLimit    = "X-OpenHands-Timeout"
	headerDisconnect   = "X-OpenHands-On-Disconnect"
	headerRepeat       = "X-OpenHands-Repeat"
	headerConfirm      = "X-OpenHands-Confirm"
	headerReconciled   = "X-OpenHands-Reconciled"
	headerDetails      = "X-OpenHands-Details"
	headerPhases       = "X-OpenHands-Phases"
	headerWorkspace    = "X-OpenHands-Workspace"
	headerAccess       = "X-OpenHands-Workspace-Access"
	headerConfirmation = "X-OpenHands-Confirmation"
	headerSandbox      = "X-OpenHands-Sandbox"
	headerBlocked      = "X-OpenHands-Sandbox-Blocked"
)

// exchange is one request and its answer. It is the ResponseWriter that all
// handlers get: it bounds every write, so that a dead reader holds nothing,
// and knows what the log will say.
type exchange struct {
	http.ResponseWriter
	control *http.ResponseController
	d       *Daemon
	id      string // X-Request-Id
	began   time.Time
	arrived time.Time // when the request was whole, on the network's clock
	client  Client
	body    *incoming
	// versioned: the path began with /v1.
	versioned bool
	// tellsPaths: the client may know where conversations work.
	tellsPaths bool

	status  int // 0 until the header is written
	written int64
	failure error // for the log only
	attrs   []slog.Attr
	seen    sighting
}

func (d *Daemon) newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{
		ResponseWriter: w, control: http.NewResponseController(w), d: d,
		id: id.New("req_"), began: d.cfg.Now(), arrived: in(0),
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
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader writes the status, once.
func (x *exchange) WriteHeader(status int) {
	if x.status != 0 {
		return
	}
	x.settle()
	x.status = status
	x.seen.answered = x.d.cfg.Now()
	x.ResponseWriter.WriteHeader(status)
}

// Write writes within the write timeout.
func (x *exchange) Write(p []byte) (int, error) {
	x.WriteHeader(http.StatusOK)
	x.extendDeadline()
	n, err := x.ResponseWriter.Write(p)
	x.written += int64(n)
	return n, err
}

// flush sends the buffered output.
func (x *exchange) flush() error {
	x.extendDeadline()
	return x.control.Flush()
}

func (x *exchange) extendDeadline() {
	// Where there is no deadline there is no connection: a test.
	_ = x.control.SetWriteDeadline(in(x.d.cfg.WriteTimeout))
}

// started reports whether the status can no longer change.
func (x *exchange) started() bool { return x.status != 0 }

// note adds to the log line of the request.
func (x *exchange) note(attrs ...slog.Attr) { x.attrs = append(x.attrs, attrs...) }

// attached reports to the client and to the log which job answers.
func (x *exchange) attached(att *run.Attachment, key bool) {
	h := x.Header()
	h.Set(headerConversation, att.ConversationID())
	x.note(slog.String("conversation_id", att.ConversationID()))
	if dir := att.Workspace(); dir != "" && x.tellsPaths {
		h.Set(headerWorkspace, escapedPath(dir))
	}
	if how := att.Reconciled(); how != "" {
		h.Set(headerReconciled, how)
		x.note(slog.String("reconciled", how))
	}
	if !att.Replayed() {
		return
	}
	x.d.metrics.Repeat()
	h.Set(headerReplayed, "true")
	if key {
		h.Set("Idempotency-Replayed", "true")
	}
	x.note(slog.Bool("replayed", true))
}

// writeText writes an answer for people or for Prometheus.
func (x *exchange) writeText(kind string, body []byte) error {
	x.Header().Set("Content-Type", kind)
	x.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, err := x.Write(body)
	return err
}

// writeJSON writes an answer of one piece.
func (x *exchange) writeJSON(status int, body []byte) error {
	h := x.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("openai-processing-ms", strconv.FormatInt(x.d.cfg.Now().Sub(x.began).Milliseconds(), 10))
	x.WriteHeader(status)
	_, err := x.Write(body)
	return err
}

// in is a deadline of a connection. It is in the clock of the network, which no
// change of the day's time touches, and not in the daemon's.
func in(d time.Duration) time.Time { return time.Now().Add(d) } //nolint:forbidigo // see above
