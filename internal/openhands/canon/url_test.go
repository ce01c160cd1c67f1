package canon_test

import (
	"testing"

	"github.com/ohgw/ohgw/internal/openhands/canon"
)

func TestIsAppProxy(t *testing.T) {
	t.Parallel()
	const proxy = "https://llm-proxy.app.all-hands.dev"
	for url, want := range map[string]bool{
		proxy:                                   true,
		proxy + "/":                             true,
		proxy + "//":                            true,
		proxy + "/v1":                           true,
		proxy + "/v1/":                          true,
		proxy + "/v1//":                         true,
		proxy + "/?x=1":                         true,
		proxy + "?x=1":                          true,
		proxy + "/v1?x=1#f":                     true,
		proxy + "/#f":                           true,
		"  " + proxy + "/\t\n":                  true,
		"\u00a0\u3000" + proxy + "\u2003":       true,
		"\x1c\x1d" + proxy + "\x1e\x1f":         true,
		"https://llm-proxy.app.\nall-hands.dev": true,
		"https://llm-proxy\t.app.all-hands.dev/v\r1": true,
		"HTTPS://llm-proxy.app.all-hands.dev":        true,
		"\x00" + proxy:                               true,
		"\x1f\x01" + proxy:                           true,

		"http://llm-proxy.app.all-hands.dev/":                 false,
		proxy + ":443/":                                       false,
		proxy + ":8443/":                                      false,
		"https://LLM-Proxy.app.all-hands.dev/":                false,
		"https://user:pw@llm-proxy.app.all-hands.dev":         false,
		proxy + "./":                                          false,
		proxy + "//v1":                                        false,
		proxy + "/V1":                                         false,
		proxy + "/v2":                                         false,
		proxy + "/v1/chat/completions":                        false,
		proxy + "/vllm":                                       false,
		proxy + "/v1/.":                                       false,
		proxy + "/%761":                                       false,
		proxy + "/;x":                                         false,
		proxy + ";x":                                          false,
		proxy + "\\":                                          false,
		"llm-proxy.app.all-hands.dev":                         false,
		"//llm-proxy.app.all-hands.dev":                       false,
		"https:llm-proxy.app.all-hands.dev":                   false,
		"https:///llm-proxy.app.all-hands.dev":                false,
		"https:////llm-proxy.app.all-hands.dev":               false,
		"https://llm-proxy.eval.all-hands.dev":                false,
		"https://llm-proxy.staging.all-hands.dev":             false,
		"https://app.all-hands.dev":                           false,
		"https://llm-proxy.app.all-hands.dev.evil.example":    false,
		"https://evil.example/" + proxy:                       false,
		"https://evil.example/?u=" + proxy:                    false,
		"":                                                    false,
		" \t ":                                                false,
		"\u200b" + proxy:                                      false,
		"https://llm\uff0eproxy.app.all-hands.dev":            false,
		"https://llm-proxy\uff0eapp.all-hands.dev":            false,
		proxy + "\x00":                                        false,
		"http://[::1]:4000/v1":                                false,
		"https://[fe80::1%25eth0]/":                           false,
		"https://[v1.x]/":                                     false,
		"htt\u212as://llm-proxy.app.all-hands.dev":            false,
		"1https://llm-proxy.app.all-hands.dev":                false,
		"https://llm-proxy.app.all-hands.dev@evil.example/v1": false,
	} {
		if got, err := canon.IsAppProxy(url); got != want || err != nil {
			t.Errorf("IsAppProxy(%q) = %v, %v; want %v", url, got, err, want)
		}
	}
}

func TestWhatCannotBeSplitIsAnError(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"https://[::1", "https://::1]", "//[x", "https://[not an address]/", "https://[127.0.0.1]/",
		"https://x\u2100.example", "https://evil\uff0f.example/", "https://a[::1]/", "https://[::1]a/",
		"https://[v1]/", "https://[vx.1]/", "https://[::1]@host/", "https://[fe80::1%a%b]/",
	} {
		if got, err := canon.IsAppProxy(url); got || err == nil {
			t.Errorf("IsAppProxy(%q) = %v, %v; want an error", url, got, err)
		}
	}
}

func TestMaskURLHidesCredentials(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://proxy.example.com/v1":           "https://proxy.example.com/v1",
		"https://user:pw@proxy.example.com/v1":   "https://REDACTED@proxy.example.com/v1",
		"https://user:p/w@proxy.example.com":     "https://REDACTED@proxy.example.com",
		"user:pw@proxy.example.com":              "REDACTED@proxy.example.com",
		"https://h/v1?api-version=1&key=k#token": "https://h/v1?api-version=REDACTED&key=REDACTED#REDACTED",
		"https://h?token;b=2":                    "https://h?REDACTED&b=REDACTED",
		"https://h#":                             "https://h",
		"":                                       "",
		"@?#":                                    "REDACTED@?",
	} {
		if got := canon.MaskURL(url); got != want {
			t.Errorf("MaskURL(%q) = %q, want %q", url, got, want)
		}
	}
}
