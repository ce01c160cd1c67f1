package netproxy_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/netproxy"
)

func TestRule(t *testing.T) {
	t.Parallel()
	both := map[string]string{"HTTP_PROXY": "http://plain:1", "HTTPS_PROXY": "secure:2"}
	with := func(exceptions string) map[string]string {
		return map[string]string{"HTTPS_PROXY": "http://secure:2", "no_proxy": exceptions}
	}
	for _, tt := range []struct {
		env  map[string]string
		url  string
		want string // "" for none
	}{
		{nil, "https://api.example", ""},
		{both, "http://api.example", "http://plain:1"},
		{both, "https://api.example", "http://secure:2"},
		{map[string]string{"https_proxy": "socks5://s:1"}, "https://api.example", "socks5://s:1"},
		{map[string]string{"ALL_PROXY": "a:1"}, "https://api.example", "http://a:1"},
		{map[string]string{"ALL_PROXY": "a:1", "http_proxy": "b:1"}, "http://api.example", "http://b:1"},
		{both, "http://localhost:11434", ""},
		{both, "http://127.0.0.9:1", ""},
		{both, "http://[::1]:1", ""},
		{with("*"), "https://api.example", ""},
		{with("corp.example"), "https://llm.corp.example", ""},
		{with("corp.example"), "https://corp.example", ""},
		{with("corp.example"), "https://notcorp.example", "http://secure:2"},
		{with(".corp.example"), "https://corp.example", "http://secure:2"},
		{with("*.corp.example , other"), "https://LLM.corp.example.", ""},
		{with("corp.example:443"), "https://corp.example", ""},
		{with("corp.example:8443"), "https://corp.example", "http://secure:2"},
		{with("10.0.0.0/8"), "https://10.1.2.3", ""},
		{with("10.0.0.0/8"), "https://11.1.2.3", "http://secure:2"},
		{with("10.1.2.3"), "https://10.1.2.3:8443", ""},
		{with("[fd00::1]:443"), "https://[fd00::1]", ""},
	} {
		rule := netproxy.Rule(func(name string) string { return tt.env[name] })
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.url, nil)
		got, err := rule(req)
		if err != nil {
			t.Fatal(err)
		}
		if text := ""; got != nil || tt.want != "" {
			if got != nil {
				text = got.String()
			}
			if text != tt.want {
				t.Errorf("environment %v, %s: %q, want %q", tt.env, tt.url, text, tt.want)
			}
		}
	}
}

func TestAProxyThatIsNoURLIsAnErrorWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"ftp://user:hunter2@proxy", "http://user:hunter2@:%zz", "http://"} {
		rule := netproxy.Rule(func(name string) string { return map[string]string{"HTTPS_PROXY": value}[name] })
		_, err := rule(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example", nil))
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "HTTPS_PROXY") {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestARefusalNamesProxyAndTarget(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	defer proxy.Close()
	u, err := url.Parse(strings.Replace(proxy.URL, "http://", "http://user:hunter2@", 1))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(u), OnProxyConnectResponse: netproxy.Connected}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example/v1", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	refused, ok := errors.AsType[*netproxy.RefusedError](err)
	if !ok || refused.Status != 407 || refused.Target != "api.example:443" || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
}
