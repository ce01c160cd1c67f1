package githost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/pattern"
)

// The bounds of a search: how long GitHub may take for a page, how large the page may
// be, and how many pages are read for a name before the client has to ask for more.
const (
	patience = 15 * time.Second
	maxPage  = 16 << 20
	maxPages = 50
)

// asking is a search of one client.
type asking struct {
	*server

	token string
	name  string // a part of the names; "" is each one
	limit int
}

// place is where in GitHub's list a page begins: one of its pages, and how many of the
// repositories there that fit have been told already.
type place struct{ page, past int }

func readPlace(text string) (place, error) {
	first, rest, _ := strings.Cut(text, ":")
	at, err := strconv.Atoi(first)
	past := 0
	if err == nil && rest != "" {
		past, err = strconv.Atoi(rest)
	}
	if err != nil || at < 1 || past < 0 {
		return place{}, wire.Refuse(http.StatusBadRequest, "Invalid repository page_id")
	}
	return place{at, past}, nil
}

// repositories reads a page of those that fit.
func (a *asking) repositories(ctx context.Context, from string, begun bool) (page, error) {
	at := place{page: 1}
	if begun {
		var err error
		if at, err = readPlace(from); err != nil {
			return page{}, err
		}
	}
	found := page{Items: []repository{}}
	for read := 0; len(found.Items) < a.limit && read < maxPages; read++ {
		list, next, err := a.page(ctx, at.page)
		if err != nil {
			return page{}, err
		}
		list = a.fitting(list)
		list = list[min(at.past, len(list)):]
		found.Next = nil
		if next != "" {
			found.Next = &next
		}
		if room := a.limit - len(found.Items); len(list) > room {
			found.Items = append(found.Items, list[:room]...)
			rest := fmt.Sprintf("%d:%d", at.page, at.past+room)
			found.Next = &rest
			break
		}
		found.Items = append(found.Items, list...)
		if a.name == "" || next == "" {
			break
		}
		if at, err = readPlace(next); err != nil {
			return page{}, err
		}
	}
	return found, nil
}

// fitting are the repositories with the name.
func (a *asking) fitting(list []repository) []repository {
	if a.name == "" {
		return list
	}
	fit := make([]repository, 0, len(list))
	for _, r := range list {
		if strings.Contains(strings.ToLower(r.Name), strings.ToLower(a.name)) {
			fit = append(fit, r)
		}
	}
	return fit
}

// page reads a page of GitHub's list, and the number of the next one; "" at the end.
func (a *asking) page(ctx context.Context, number int) (list []repository, next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	query := url.Values{
		"per_page": {"100"}, "page": {strconv.Itoa(number)}, "sort": {"pushed"}, "affiliation": {"owner,collaborator,organization_member"},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL+"/user/repos?"+query.Encode(), nil)
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	res, err := a.HTTP.Do(req)
	if err != nil {
		return nil, "", unreachable(err)
	}
	defer func() { _ = res.Body.Close() }() // It was only read.
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, "", refused(res.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxPage+1))
	if err != nil {
		return nil, "", unreachable(err)
	}
	if len(data) > maxPage {
		return nil, "", failed(http.StatusBadGateway, errors.New("the page is too large"))
	}
	if list, err = decode(data); err != nil {
		return nil, "", failed(http.StatusBadGateway, err)
	}
	return list, following(res.Header.Get("Link")), nil
}

// failed returns the failure of a search, in an agent-server's words.
func failed(status int, cause error) error {
	return &wire.Error{Status: status, Detail: "GitHub repository search failed", Err: cause}
}

// unreachable says that GitHub did not answer. The cause has no token: it is in a header.
func unreachable(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &wire.Error{Status: http.StatusGatewayTimeout, Detail: "GitHub repository search timed out", Err: err}
	}
	return failed(http.StatusBadGateway, err)
}

// refused returns the failure for a status of GitHub other than success. A fault of
// GitHub's own becomes a 502.
func refused(status int) error {
	err := fmt.Errorf("GitHub answered with status %d", status)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return failed(status, err)
	case status >= http.StatusInternalServerError:
		return failed(http.StatusBadGateway, err)
	}
	return failed(http.StatusBadRequest, err)
}

// decode reads a page. A member of another type than GitHub's is as if it were missing.
func decode(data []byte) ([]repository, error) {
	var list []map[string]any
	numbers := json.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber() // an id has more digits than a float keeps
	if err := numbers.Decode(&list); err != nil {
		return nil, fmt.Errorf("read a page of GitHub: %w", err)
	}
	found := make([]repository, len(list))
	for i, item := range list {
		private, _ := item["private"].(bool)
		found[i] = repository{
			ID: word(item["id"]), Name: word(item["full_name"]), Provider: github, Public: !private,
			Stars: count(item["stargazers_count"]), Pushed: text(item["pushed_at"]), MainBranch: text(item["default_branch"]),
		}
	}
	return found, nil
}

func word(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

func text(v any) *string {
	if s, ok := v.(string); ok {
		return &s
	}
	return nil
}

func count(v any) *json.Number {
	if n, ok := v.(json.Number); ok {
		if _, err := n.Int64(); err == nil {
			return &n
		}
	}
	return nil
}

// link is one of the addresses of a header Link.
var link = pattern.Of(`<([^>]+)>;\s*rel="([^"]+)"`)

// following is the number of the next page; "" at the end.
func following(header string) string {
	for _, found := range link().FindAllStringSubmatch(header, -1) {
		if found[2] != "next" {
			continue
		}
		if to, err := url.Parse(found[1]); err == nil {
			return to.Query().Get("page")
		}
	}
	return ""
}
