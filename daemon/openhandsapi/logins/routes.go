package logins

import (
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/ohgw/ohgw/daemon/openhandsapi/catalogue"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

// start begins a login, and answers with the page that the person has to open. None is
// needed where a login that is sent along still counts.
func (l *Logins) start(w http.ResponseWriter, r *http.Request) error {
	trial, err := catalogue.ReadTrial(r)
	if err != nil {
		return err
	}
	if trial.Strategy != "oauth2" {
		return wire.Refuse(http.StatusBadRequest, "MCP OAuth start requires auth.strategy='oauth2'")
	}
	j, err := l.begin(trial)
	if err != nil {
		return err
	}
	limit := time.NewTimer(min(max(trial.Timeout, time.Second), maxStart))
	defer limit.Stop()
	out := map[string]any{"job_id": j.id, "ok": true}
	select {
	case <-j.shown:
	case <-j.done:
	case <-r.Context().Done():
	case <-limit.C:
		out["ok"], out["error"], out["error_kind"] = false, "Timed out waiting for OAuth authorization URL", "timeout"
	}
	if page := j.address(); page != "" {
		out = map[string]any{"job_id": j.id, "ok": true, "authorization_url": page}
	} else if now := j.report(); now["ok"] == false {
		out["ok"], out["error"], out["error_kind"] = false, now["error"], now["error_kind"]
	}
	wire.WriteJSON(w, http.StatusOK, out)
	return nil
}

func (l *Logins) status(w http.ResponseWriter, r *http.Request) error {
	j, err := l.job(r.PathValue("job_id"))
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, j.report())
	return nil
}

// bringTime is how long the answer waits for the end of the login, that of an
// agent-server.
const bringTime = 5 * time.Second

// bring takes the address to which a browser was sent that cannot reach ohgw.
func (l *Logins) bring(w http.ResponseWriter, r *http.Request) error {
	j, err := l.job(r.PathValue("job_id"))
	if err != nil {
		return err
	}
	body, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	address := body.Text("callback_url", 1, math.MaxInt)
	if body.Need("callback_url") && address == nil && body.Err() == nil {
		body.Wrong("callback_url", pydantic.NoText()) // it is null
	}
	if err := body.Err(); err != nil {
		return err
	}
	q, err := j.query(*address)
	if err != nil {
		return err
	}
	if !l.deliver(q, j) || q.Get("error") != "" {
		wire.WriteJSON(w, http.StatusOK, j.failure(http.StatusBadRequest))
		return nil
	}
	limit := time.NewTimer(bringTime)
	defer limit.Stop()
	select {
	case <-j.done:
	case <-limit.C:
	case <-r.Context().Done():
	}
	wire.WriteJSON(w, http.StatusOK, j.report())
	return nil
}

// query reads what an address brings, and refuses one to which this login does not
// send browsers.
func (j *job) query(text string) (url.Values, error) {
	want, err := url.Parse(j.redirect)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(text)
	if err != nil || at.Scheme != want.Scheme || !isLocal(at.Hostname()) && at.Hostname() != want.Hostname() {
		return nil, wire.Refuse(http.StatusBadRequest, "Invalid OAuth callback URL")
	}
	if j.address() == "" {
		return nil, wire.Refuse(http.StatusConflict, "OAuth callback is not ready")
	}
	if at.Port() != want.Port() || at.Path != want.Path {
		return nil, wire.Refuse(http.StatusBadRequest, "Unexpected OAuth callback URL")
	}
	return at.Query(), nil
}
