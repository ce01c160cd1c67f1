package account_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/cloud/transport"
)

func TestTheProbeFindsTheHeaderThatWorks(t *testing.T) {
	t.Parallel()
	tried := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/api/v1/web-client/config":
			if len(r.Header.Values("Authorization"))+len(r.Header.Values("X-Session-API-Key")) > 0 {
				t.Error("the key was sent where it is not needed")
			}
			_, _ = io.WriteString(w, `{"app_mode":"oss"}`)
		case r.Header.Get("X-Session-API-Key") != cloudKey:
			tried++
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"detail":"Unauthorized"}`)
		case r.URL.Path == "/api/v1/app-conversations/count":
			_, _ = io.WriteString(w, "3")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	got, err := newClient(t, server.URL).Probe(t.Context())
	if err != nil || got.Header != transport.HeaderSession || !got.V1 || got.V0 || got.AppMode != "oss" || tried != 1 {
		t.Errorf("Probe() = %+v, %v after %d refusals", got, err, tried)
	}
	// A header that worked before is not changed by a 401.
	c := newClient(t, server.URL, func(o *account.Options) { o.Header = transport.HeaderBearer })
	if _, err := c.Probe(t.Context()); !errors.Is(err, account.ErrUnauthorized) {
		t.Errorf("Probe() with a stored header: %v", err)
	}
}

func TestTheProbeSaysWhatAServerIs(t *testing.T) {
	t.Parallel()
	page := recording{file: "spa_fallback.html", kind: "text/html"}
	config := recording{file: "live_v1_web_client_config.json"}
	for name, tt := range map[string]struct {
		routes map[string][]recording
		want   string // kind, versions, owner
		err    error
	}{
		"hosted": {map[string][]recording{
			"GET /api/v1/web-client/config": {config}, "GET /api/v1/app-conversations/count": {{body: "12"}}, "GET /api/options/models": {page},
			"GET /api/keys/current": {{file: "v1_keys_current.json"}}, "GET /api/v1/users/me": {{body: `{"id":"u","email":"me@example.org"}`}},
		}, "cloud V1 me@example.org 00000000-0000-4000-8000-0000000000aa", nil},
		"self-hosted": {map[string][]recording{
			"GET /api/v1/web-client/config": {config}, "GET /api/v1/app-conversations/count": {{file: "live_v1_count_zero.json"}},
			"GET /api/v1/users/me": {{file: "live_v1_users_me.json"}}, "GET /server_info": {{file: "live_v1_server_info.json"}},
		}, "cloud V1", nil},
		"agent-server": {map[string][]recording{"GET /server_info": {{body: `{"version":"1.43.1"}`}}}, "agent-server", nil},
		"wrong key": {map[string][]recording{
			"GET /api/v1/web-client/config": {config}, "GET /api/v1/app-conversations/count": {{status: 401, file: "live_v1_unauthorized.json"}},
		}, "cloud", account.ErrUnauthorized},
		"a website":  {map[string][]recording{"GET /api/v1/web-client/config": {page}, "GET /server_info": {page}, "GET /api/v1/app-conversations/count": {page}, "GET /api/options/models": {page}}, "", account.ErrWrongEndpoint},
		"a file":     {map[string][]recording{"GET /api/v1/app-conversations/count": {{body: `{"n":1}`}}}, "", account.ErrWrongEndpoint},
		"down":       {map[string][]recording{"GET /api/v1/web-client/config": {{status: 503, body: "{}"}}}, "", account.ErrUpstream},
		"key for V1": {map[string][]recording{"GET /api/v1/app-conversations/count": {{body: "1"}}, "GET /api/options/models": {{status: 401, body: "{}"}}}, "cloud V1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := newClient(t, newReplay(t, tt.routes).URL).Probe(t.Context())
			said := string(got.Kind)
			for version, speaks := range map[string]bool{" V0": got.V0, " V1": got.V1} {
				if speaks {
					said += version
				}
			}
			if said = strings.TrimSpace(said + " " + strings.TrimSpace(got.Owner+" "+got.Organization)); !errors.Is(err, tt.err) || said != tt.want {
				t.Errorf("Probe() = %q, %v, want %q, %v", said, err, tt.want, tt.err)
			}
		})
	}
}

func TestAServerThatChangesIsProbedAgain(t *testing.T) {
	t.Parallel()
	server := newReplay(t, map[string][]recording{
		"GET /api/v1/app-conversations/count":  {{body: "1"}},
		"GET /api/v1/app-conversations/search": {{file: "spa_fallback.html", kind: "text/html"}, {body: `{}`}},
	})
	c := newClient(t, server.URL, knownV1)
	if _, err := c.List(t.Context(), account.ListQuery{}); !errors.Is(err, account.ErrWrongEndpoint) || server.count("GET /api/v1/app-conversations/count") != 0 {
		t.Errorf("List() = %v", err)
	}
	if page, err := c.List(t.Context(), account.ListQuery{}); err != nil || len(page.Conversations) != 0 || server.count("GET /api/v1/app-conversations/count") != 1 {
		t.Errorf("List() = %+v, %v", page, err)
	}
	if _, err := c.List(t.Context(), account.ListQuery{Page: "7"}); !errors.Is(err, account.ErrRefused) {
		t.Errorf("a foreign page: %v", err)
	}
}
