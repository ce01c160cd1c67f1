package gate

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// guard keeps web pages out. An agent with a shell listens on a port that
// every page of every browser on this machine can send requests to; the key
// alone would not stop a page that learned it, nor one whose host name was
// pointed at 127.0.0.1 after it was loaded.
type guard struct {
	hosts   []string
	origins []string
	pages   Pages
}

// Pages are what browsers may see without a key of their own: pages of OpenHands' own API.
// A function that is nil stands for none.
type Pages struct {
	// CookieKey is the key that stands behind the cookie of a request; "" if there is
	// none, and for what no cookie opens.
	CookieKey func(r *http.Request) string
	// UsesCookie reports whether the answers below a path read or set that cookie.
	UsesCookie func(path string) bool
	// Open reports whether other sites send browsers to a path, which need no key there.
	Open func(path string) bool
}

// hostDocker is how a container reaches the machine it runs on.
const hostDocker = "host.docker.internal"

// Guard lets through to next what may be answered, and answers preflights.
func Guard(cfg Config, pages Pages, next http.Handler) http.Handler {
	g := guard{hosts: []string{"localhost", hostDocker}, origins: cfg.AllowOrigins, pages: pages}
	for _, h := range cfg.AllowHosts {
		g.hosts = append(g.hosts, hostName(h))
	}
	return g.before(next)
}

func (g guard) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.answered(w.(*Exchange), r) {
			next.ServeHTTP(w, r)
		}
	})
}

// answered answers a request that goes no further: one that is refused, and a question of a
// browser. To others it adds the headers for their page. It is apart from the request itself,
// which keeps its stack for as long as an answer takes.
func (g guard) answered(x *Exchange, r *http.Request) bool {
	origins := r.Header.Values("Origin")
	allowed := len(origins) == 1 && slices.Contains(g.origins, origins[0]) && origins[0] != "null"
	if p := g.refusal(r, origins, allowed); p != nil {
		x.fail(r, p)
		return true
	}
	if !allowed {
		return false
	}
	cors(x.Header(), origins[0])
	if g.pages.UsesCookie != nil && g.pages.UsesCookie(r.URL.Path) {
		x.Header().Set("Access-Control-Allow-Credentials", "true")
	}
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		preflight(x, r)
		return true
	}
	return false
}

// refusal is why a request is not answered, nil if it is; allowed says that its origin
// may call.
func (g guard) refusal(r *http.Request, origins []string, allowed bool) *Problem {
	switch {
	case !nameless(r) && !g.hostAllowed(r.Host):
		return NewProblem(codeForbiddenHost, "This host name is not allowed; start ohgw serve with --allow-host NAME to allow a name other than localhost.", nil)
	case slices.Equal(origins, []string{"null"}):
		return NewProblem(codeForbiddenOrigin, "A page without an origin, such as a local file, cannot be allowed; open it from a web server, and start ohgw serve with --allow-origin and the origin of that.", nil)
	case len(origins) > 0 && !allowed:
		return NewProblem(codeForbiddenOrigin, "Web pages from this origin may not call ohgw; start ohgw serve with --allow-origin ORIGIN to allow them.", nil)
	case !allowed && crossSite(r) && !g.framed(r) && !g.sent(r):
		return NewProblem(codeForbiddenOrigin, "Requests from other web sites are refused.", nil)
	}
	return nil
}

// nameless reports whether a request cannot name its host: it is of HTTP/1.0, which
// health checks of load balancers still speak. No browser does.
func nameless(r *http.Request) bool { return r.Host == "" && !r.ProtoAtLeast(1, 1) }

// hostAllowed looks at a Host header. The port is whatever a port mapping made
// of it.
func (g guard) hostAllowed(host string) bool {
	name := hostName(host)
	if addr, err := netip.ParseAddr(name); err == nil && addr.Zone() == "" && addr.Unmap().IsLoopback() {
		return true
	}
	return slices.Contains(g.hosts, name)
}

// hostName is a Host header in lower case without port and brackets.
func hostName(host string) string {
	host = strings.ToLower(host)
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// crossSite reports whether a browser marks the request as one from another site's page.
// Programs that are not browsers do not send that header.
func crossSite(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" {
			return true
		}
	}
	return false
}

// sent reports whether another site sends a browser's whole page to a path that is there
// for that. A page can neither read the answer nor show it in a frame.
func (g guard) sent(r *http.Request) bool {
	return r.Method == http.MethodGet && g.pages.Open != nil && g.pages.Open(r.URL.Path) &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// framed reports whether a page of an allowed origin shows a page of a workspace: it
// names itself, which no other page can do for it, and has the cookie.
func (g guard) framed(r *http.Request) bool {
	if g.pages.CookieKey == nil || r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return false
	}
	from, err := url.Parse(r.Referer())
	return err == nil && slices.Contains(g.origins, from.Scheme+"://"+from.Host) && g.pages.CookieKey(r) != ""
}

// cors lets pages of origin read the answer, errors too.
func cors(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", strings.Join([]string{
		"X-Request-Id", HeaderConversation, HeaderRunStatus, "Retry-After", "openai-processing-ms",
		HeaderIgnored, headerReplayed, headerReconciled, HeaderTask, HeaderRouted, HeaderSandbox, HeaderBlocked, "Idempotency-Replayed",
	}, ", "))
}

// allowedHeaders are what a page may send: the official SDKs' headers and ours.
const allowedHeaders = "Authorization, Content-Type, Accept, X-Requested-With, Idempotency-Key, OpenAI-Beta, OpenAI-Organization, OpenAI-Project, " +
	HeaderConversation + ", X-Session-API-Key, X-Api-Key, X-Expose-Secrets, X-OpenHands-Client, X-OpenHands-Client-Version, X-OpenHands-Telemetry-Distinct-Id, " +
	headerTimeLimit + ", " + HeaderBudget + ", " + headerDisconnect + ", " + HeaderRepeat + ", " + HeaderConfirm + ", " + HeaderConfirmation + ", " + headerDetails + ", " + headerPhases + ", " + HeaderGoal + ", " + headerGoalRounds + ", " +
	"X-Conversation-Id, X-Chat-Id, X-Session-Id, X-Thread-Id, X-OpenHands-Transcript, " +
	"x-stainless-arch, x-stainless-async, x-stainless-custom-poll-interval, x-stainless-helper-method, x-stainless-lang, x-stainless-os, " +
	"x-stainless-package-version, x-stainless-poll-helper, x-stainless-raw-response, x-stainless-read-timeout, x-stainless-retry-count, " +
	"x-stainless-runtime, x-stainless-runtime-version, x-stainless-timeout"

// maxAskedHeaders bounds the headers that a page may ask for beyond those.
const maxAskedHeaders = 64

// grantedHeaders are allowedHeaders and what an allowed page asks for besides: its
// libraries send headers of their own, such as X-Title or Traceparent.
func grantedHeaders(asked []string) string {
	granted := allowedHeaders
	n := 0
	for name := range strings.SplitSeq(strings.Join(asked, ","), ",") {
		name = strings.TrimSpace(name)
		if n == maxAskedHeaders || !isHeaderName(name) || slices.ContainsFunc(strings.Split(granted, ", "), func(h string) bool { return strings.EqualFold(h, name) }) {
			continue
		}
		granted += ", " + name
		n++
	}
	return granted
}

// isHeaderName reports whether a name consists of the characters that headers have
// in practice.
func isHeaderName(s string) bool {
	return s != "" && len(s) <= 100 && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// preflight answers what a browser asks before it sends a page's request. It
// carries no key.
func preflight(x *Exchange, r *http.Request) {
	h := x.Header()
	h.Del("Access-Control-Expose-Headers")
	h.Set("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE, OPTIONS")
	h.Set("Access-Control-Allow-Headers", grantedHeaders(r.Header.Values("Access-Control-Request-Headers")))
	h.Set("Access-Control-Max-Age", "600")
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	x.WriteHeader(http.StatusNoContent)
}
