package daemon

import (
	"net/http"

	"github.com/ohgw/ohgw/daemon/gate"
)

// routes answers OpenAI's API and ohgw's own routes from the table below. The paths
// of OpenHands' own API go to Config.Native before that, see withNative. Paths are as
// [gate.Normalize] leaves them: without /v1, which may be there or not.
func (d *Daemon) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", gate.Adapt(gate.UnknownURL))
	for _, route := range d.table() {
		mux.Handle(route.path, gate.Adapt(gate.Named(route.path, gate.WrongMethod(route.methods))))
		for _, method := range route.methods {
			if method != http.MethodHead { // ServeMux lets GET answer it too
				mux.Handle(method+" "+route.path, gate.Adapt(gate.Named(route.path, route.handler)))
			}
		}
	}
	return d.core.Outermost(gate.Guard(d.core.Config, d.pages, d.withNative(gate.Normalize(mux))))
}

// route is a path and who answers it.
type route struct {
	methods []string
	path    string
	handler gate.Handler
}

// table has all routes. Who adds one says in secrecy_test.go which ids it takes.
func (d *Daemon) table() []route {
	return []route{
		{[]string{http.MethodGet, http.MethodHead}, "/{$}", d.core.Open(d.root(), false)},
		{[]string{http.MethodGet, http.MethodHead}, "/health", d.core.Open(d.health(), true)},
		{[]string{http.MethodGet, http.MethodHead}, "/healthz", d.core.Open(d.health(), false)},
		{[]string{http.MethodGet, http.MethodHead}, "/readyz", d.core.Open(d.ready(), false)},
		{[]string{http.MethodGet, http.MethodHead}, "/metrics", d.core.ShowMetrics()},
		{[]string{http.MethodGet, http.MethodHead}, "/models", d.core.Private(d.completions.ListModels())},
		{[]string{http.MethodGet, http.MethodHead}, "/models/{id...}", d.core.Private(d.completions.GetModel())},
		{[]string{http.MethodPost}, "/chat/completions", d.core.Private(d.completions.Chat())},
		{[]string{http.MethodPost}, "/conversations", d.core.Private(d.conversations.CreateConversation())},
		{[]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete}, "/conversations/{id}", d.conversations.OneConversation()},
		{[]string{http.MethodGet, http.MethodHead, http.MethodPost}, "/conversations/{id}/items", d.conversations.AllItems()},
		{[]string{http.MethodGet, http.MethodHead, http.MethodDelete}, "/conversations/{id}/items/{item}", d.conversations.OneItem()},
		{[]string{http.MethodGet, http.MethodHead}, "/conversations/{id}/extensions", d.conversations.ListExtensions()},
		{[]string{http.MethodPost}, "/responses", d.core.Private(d.responses.Respond())},
		{[]string{http.MethodGet, http.MethodDelete}, "/responses/{id}", d.core.Private(d.responses.StoredResponse())},
		{[]string{http.MethodPost}, "/responses/{id}/cancel", d.core.Private(d.responses.CancelResponse())},
		{[]string{http.MethodGet}, "/responses/{id}/input_items", d.core.Private(d.responses.InputItems())},
		{[]string{http.MethodPost}, "/conversations/{id}/condense", d.conversations.CondenseConversation()},
		{[]string{http.MethodPost}, "/conversations/{id}/interrupt", d.core.Private(d.conversations.Interrupt())},
		{[]string{http.MethodPost}, "/conversations/{id}/sandbox/grants", d.conversations.Grant()},
		{[]string{http.MethodGet, http.MethodHead}, "/runs", d.core.Private(d.conversations.ListRuns())},
	}
}
