package agentserver_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/agentserver"
)

func TestProbeShowsVersionAndClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name, body, date string
		status           int
		want             agentserver.Info
		fails            bool
	}{
		{name: "a server", body: `{"version":"1.43.1"}`, date: at.Format(http.TimeFormat), status: 200, want: agentserver.Info{Version: "1.43.1", Clock: at}},
		{name: "no date", body: `{"version":"1.43.1"}`, date: "soon", status: 200, want: agentserver.Info{Version: "1.43.1"}},
		{name: "no version", body: `{}`, date: "soon", status: 200, fails: true},
		{name: "another server", body: `<html>`, date: "soon", status: 200, fails: true},
		{name: "not found", body: `{"version":"1.43.1"}`, date: "soon", status: 404, fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/server_info" {
					t.Errorf("asked for %s", r.URL.Path)
				}
				if key := r.Header.Get("X-Session-API-Key"); key != "" {
					t.Errorf("the probe shows the key %q", key)
				}
				w.Header().Set("Date", tt.date)
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}))
			defer server.Close()
			got, err := agentserver.Probe(t.Context(), server.Client(), server.URL+"/")
			if (err != nil) != tt.fails {
				t.Fatalf("Probe: %v, want an error: %t", err, tt.fails)
			}
			if err == nil && got != tt.want {
				t.Errorf("Probe = %+v, want %+v", got, tt.want)
			}
		})
	}
}
