package modelcheck

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/llm/window"
	"github.com/ohgw/ohgw/internal/netcause"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
)

// Listing is what the provider of a stored profile said about its models.
type Listing struct {
	Result

	Host    string       // of the provider, with its port if the URL has one
	Models  []string     // that the key can use, as the provider calls them; may be nil
	Wanted  string       // the model of the profile, as the provider calls it
	Serving window.Known // what a local server reports about itself, if it answers
	Change  string       // the command that changes the profile, up to its --model
}

// List asks the provider of a stored profile for its models, which costs
// nothing. The error is ErrNoList, or that of ctx; everything else is in the
// result.
func (c *Check) List(ctx context.Context, name string) (Listing, error) {
	defer c.llm.HTTP.CloseIdleConnections()
	out := Listing{Result: Result{Profile: name}}
	p, err := c.store.Load(name)
	if err != nil {
		out.fail(NotLoaded, err.Error(), "ohgw profiles check "+name)
		return out, nil
	}
	out.Model, out.Path = p.LLM.Model, p.Path
	key := &profileKey{keys: c.keys, profile: p, origin: secret.Origin{Kind: secret.FromNowhere}}
	cfg, err := c.config(p, key)
	if err != nil {
		out.fail(Refused, err.Error(), "ohgw profiles show "+name)
		return out, nil
	}
	out.Host, out.Wanted = llm.Endpoint(cfg)
	out.Change = changeOf(p) + p.LLM.Model[:max(0, len(p.LLM.Model)-len(out.Wanted))]
	asked, cancel := context.WithTimeoutCause(ctx, c.timeout, errTimeout)
	defer cancel()
	out.Models, err = llm.ListModels(asked, cfg)
	if model, bad := llm.New(cfg); bad == nil && err == nil {
		if s, ok := model.(llm.Sizer); ok {
			s.FindSize(asked)
			out.Serving = llm.Serving(model)
		}
	}
	switch {
	case ctx.Err() != nil:
		return out, ctx.Err()
	case errors.Is(err, ErrNoList):
		return out, ErrNoList
	case asked.Err() != nil:
		out.fail(TimedOut, fmt.Sprintf("%s does not answer within %.0f s", out.Host, c.timeout.Seconds()), "ohgw profiles check --live "+name)
		return out, nil
	}
	c.explain(&out.Result, key, err)
	if failed, ok := errors.AsType[*llm.Error](err); ok && (failed.Status == http.StatusNotFound || failed.Status == http.StatusMethodNotAllowed) {
		// Some servers have no list; a wrong path looks the same.
		out.fail(WrongAddress, out.Host+" has no list of models below the base URL", "ohgw profiles check --live "+name)
	}
	return out, nil
}

// changeOf is the command that changes a profile, without the value of its last
// flag, --model.
func changeOf(p *profile.Profile) string {
	command := "ohgw profiles add " + p.Name + " --replace"
	if base := baseOf(p); base != "" && plainURL(base) {
		command += " --base-url " + base
	}
	return command + " --model "
}

// plainURL reports whether a URL has nothing that must not be shown.
func plainURL(base string) bool {
	u, err := url.Parse(base)
	return err == nil && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// otherURL is the command that gives a profile another base URL.
func otherURL(p *profile.Profile, base string) string {
	return fmt.Sprintf("ohgw profiles add %s --replace --model %s --base-url %s", p.Name, p.LLM.Model, base)
}

// addressRepair returns the command for a server that cannot be reached, or is
// another one than the profile says.
func addressRepair(p *profile.Profile, words string) string {
	base := baseOf(p)
	switch {
	case strings.Contains(words, netcause.NotTLS) && plainURL(base):
		return otherURL(p, strings.Replace(base, "https://", "http://", 1))
	case strings.Contains(words, "HTTP request to an HTTPS server") && plainURL(base):
		return otherURL(p, strings.Replace(base, "http://", "https://", 1))
	case strings.Contains(words, "certificate has expired or is not yet valid"):
		return "compare this machine's clock with the dates in the cause (date); if it is right, the server needs a new certificate"
	case strings.Contains(words, "the proxy "):
		host, _ := url.Parse(base)
		if host == nil || host.Hostname() == "" {
			return "check the proxy: HTTPS_PROXY, HTTP_PROXY, NO_PROXY"
		}
		return "check the proxy (HTTPS_PROXY, HTTP_PROXY), or do without it for this host: export NO_PROXY=" + host.Hostname()
	case strings.Contains(words, "refuses connections"):
		host, _, _ := strings.Cut(words, " refuses connections")
		return start(p, host)
	}
	return "ohgw profiles show " + p.Name + " shows the base URL"
}

// start is the command that starts the server of a model.
func start(p *profile.Profile, host string) string {
	prefix, _, _ := strings.Cut(p.LLM.Model, "/")
	switch {
	case strings.HasPrefix(prefix, "ollama") || strings.HasSuffix(host, ":11434"):
		return "ollama serve"
	case prefix == "lm_studio" || strings.HasSuffix(host, ":1234"):
		return "lms server start"
	}
	return "start the server of the model at " + host + ", or give the profile another base URL: " + otherURL(p, "URL")
}

// baseOf is the base URL in a profile, or "".
func baseOf(p *profile.Profile) string {
	if p.LLM.BaseURL == nil {
		return ""
	}
	return strings.TrimSpace(*p.LLM.BaseURL)
}
