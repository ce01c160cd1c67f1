package githost_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/githost"
)

const path = "/api/git/repositories/search"

// github is a GitHub with so many repositories; every third one is of tea.
func github(t *testing.T, repositories int) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); r.URL.Path != "/user/repos" || got != "Bearer ghp-1" || r.FormValue("per_page") != "100" || r.FormValue("sort") != "pushed" {
			t.Errorf("asked for %s with %q", r.URL, got)
		}
		var number int
		if _, err := fmt.Sscan(r.FormValue("page"), &number); err != nil {
			t.Error(err)
		}
		if number*100 < repositories {
			w.Header().Set("Link", fmt.Sprintf(`<https://api.github.com/user/repos?page=1>; rel="first", <https://api.github.com/user/repos?per_page=100&page=%d>; rel="next"`, number+1))
		}
		var list []string
		for i := (number - 1) * 100; i < min(number*100, repositories); i++ {
			list = append(list, fmt.Sprintf(`{"id":%d,"full_name":"me/%s-%d","private":%t,"stargazers_count":%d,"pushed_at":null,"default_branch":"main"}`,
				10_000_000_000_000_000+i, map[bool]string{true: "Tea", false: "mug"}[i%3 == 0], i, i%2 == 0, i))
		}
		_, _ = io.WriteString(w, "["+strings.Join(list, ",")+"]")
	}))
	t.Cleanup(s.Close)
	return s
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// ask asks for repositories, with one secret of the user.
func ask(t *testing.T, url, secret, query string) (int, string) {
	t.Helper()
	h := openhandsapi.New(openhandsapi.Config{Routes: githost.Routes(githost.Config{
		URL: url, HTTP: &http.Client{CheckRedirect: noRedirect},
		Secret: func(_ context.Context, name string) (string, error) {
			if name == secret {
				return "ghp-1", nil
			}
			return "", nil
		},
	})})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path+query, nil))
	return w.Code, w.Body.String()
}

// The answers are those of an agent-server of version 1.58.2.
func TestRepositoriesOfGitHub(t *testing.T) {
	t.Parallel()
	g := github(t, 250)
	code, got := ask(t, g.URL, "GH_TOKEN", "?provider=github&limit=2")
	if want := `{"items":[{"id":"10000000000000000","full_name":"me/Tea-0","git_provider":"github","is_public":false,"stargazers_count":0,"pushed_at":null,"main_branch":"main"},` +
		`{"id":"10000000000000001","full_name":"me/mug-1","git_provider":"github","is_public":true,"stargazers_count":1,"pushed_at":null,"main_branch":"main"}],` +
		`"next_page_id":"1:2","missing_token":false}`; code != http.StatusOK || strings.TrimSpace(got) != want {
		t.Errorf("status = %d, body = %s, want %s", code, got, want)
	}
	for query, want := range map[string]struct {
		items       int
		first, next string
	}{
		"":                              {100, "me/Tea-0", `"2"`},
		"&page_id=1:98":                 {2, "me/mug-98", `"2"`},
		"&page_id=3":                    {50, "me/mug-200", "null"},
		"&page_id=4":                    {0, "", "null"},
		"&page_id=1:500":                {0, "", `"2"`},
		"&query=tEA":                    {84, "me/Tea-0", "null"},
		"&query=tea&limit=50":           {50, "me/Tea-0", `"2:16"`},
		"&query=tea&limit=50&page_id=2": {50, "me/Tea-102", "null"},
		"&query=tea&limit=34":           {34, "me/Tea-0", `"2"`},
		"&query=coffee":                 {0, "", "null"},
	} {
		code, got := ask(t, g.URL, "github", "?provider=github"+query)
		first := ""
		if _, rest, ok := strings.Cut(got, `"full_name":"`); ok {
			first, _, _ = strings.Cut(rest, `"`)
		}
		if n := strings.Count(got, `"full_name"`); code != http.StatusOK || n != want.items || first != want.first || !strings.Contains(got, `"next_page_id":`+want.next) {
			t.Errorf("%s: status = %d, %d items from %s, %s, want %+v", query, code, n, first, got[max(0, len(got)-60):], want)
		}
	}
}

func TestWhatIsWrongWithASearch(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]struct {
		status int
		text   string
	}{
		"":                                    {422, `[{"type":"missing","loc":["query","provider"],"msg":"Field required","input":null}]`},
		"?provider=GitHub&limit=101":          {422, `{"type":"less_than_equal","loc":["query","limit"],"msg":"Input should be less than or equal to 100","input":"101","ctx":{"le":100}}]`},
		"?provider=":                          {422, `"msg":"Input should be 'github', 'gitlab', 'bitbucket' or 'azure_devops'","input":""`},
		"?provider=github&limit=":             {422, `"int_parsing"`},
		"?provider=github&limit=0":            {422, `"greater_than_equal"`},
		"?provider=azure_devops":              {400, `{"detail":"Repository discovery is not supported for provider 'azure_devops'"}`},
		"?provider=github&page_id=":           {400, `{"detail":"Invalid repository page_id"}`},
		"?provider=github&page_id=0":          {400, "page_id"},
		"?provider=github&page_id=1:-1":       {400, "page_id"},
		"?provider=github&page_id=1:2:3":      {400, "page_id"},
		"?provider=github&page_id=../x&limit": {422, `"int_parsing"`},
	} {
		if code, got := ask(t, "http://127.0.0.1:1", "github_token", query); code != want.status || !strings.Contains(got, want.text) {
			t.Errorf("%s: status = %d, body = %s, want %d %s", query, code, got, want.status, want.text)
		}
	}
	if code, got := ask(t, "http://127.0.0.1:1", "gitlab_token", "?provider=github&page_id=x"); code != http.StatusOK || strings.TrimSpace(got) != `{"items":[],"next_page_id":null,"missing_token":true}` {
		t.Errorf("without a token: %d %s", code, got)
	}
}

// TestWhatGitHubMayAnswer sends the token to no other host, and shows it to no client.
func TestWhatGitHubMayAnswer(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was asked: %s %v", r.URL, r.Header)
	}))
	t.Cleanup(other.Close)
	for name, tc := range map[string]struct {
		answer func(w http.ResponseWriter)
		status int
	}{
		"wrong token": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnauthorized) }, 401},
		"forbidden":   {func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) }, 403},
		"not found":   {func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, 400},
		"broken":      {func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, 502},
		"elsewhere": {func(w http.ResponseWriter) {
			w.Header().Set("Location", other.URL+"/user/repos")
			w.WriteHeader(http.StatusFound)
		}, 400},
		"a page":     {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>ghp-1</html>") }, 502},
		"an object":  {func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"message":"ghp-1"}`) }, 502},
		"no objects": {func(w http.ResponseWriter) { _, _ = io.WriteString(w, `["a"]`) }, 502},
		"odd types": {func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `[null,{"id":null,"full_name":7,"stargazers_count":1.5,"pushed_at":[]}]`)
		}, 200},
		"hung up": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, 502},
		"an odd link": {func(w http.ResponseWriter) {
			w.Header().Set("Link", `<::>; rel="next"`)
			_, _ = io.WriteString(w, `[]`)
		}, 200},
		"without ends": {func(w http.ResponseWriter) {
			w.Header().Set("Link", `<x?page=1>; rel="next"`)
			_, _ = io.WriteString(w, `[]`)
		}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { tc.answer(w) }))
			t.Cleanup(g.Close)
			code, got := ask(t, g.URL, "github_token", "?provider=github&query=a")
			if code != tc.status || strings.Contains(got, "ghp-1") {
				t.Errorf("status = %d, body = %s, want %d", code, got, tc.status)
			}
		})
	}
}

func TestASecretThatCannotBeRead(t *testing.T) {
	t.Parallel()
	h := openhandsapi.New(openhandsapi.Config{Routes: githost.Routes(githost.Config{
		Secret: func(context.Context, string) (string, error) { return "", errors.New("the disk is gone") },
	})})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path+"?provider=github", nil))
	if w.Code != http.StatusInternalServerError {
		t.Errorf("status = %d, want 500, body = %s", w.Code, w.Body)
	}
}
