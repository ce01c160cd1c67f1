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
	summary string // of all methods, for docs/routes.tsv
	handler gate.Handler
}

// table has all routes. Who adds one says in secrecy_test.go which ids it takes.
func (d *Daemon) table() []route {
	read, post := []string{http.MethodGet, http.MethodHead}, []string{http.MethodPost}
	return []route{
		{read, "/{$}", "Where the API is", d.core.Open(d.root(), false)},
		{read, "/health", "Whether the daemon lives; with a key also its state", d.core.Open(d.health(), true)},
		{read, "/healthz", "The same", d.core.Open(d.health(), false)},
		{read, "/readyz", "Whether runs can begin", d.core.Open(d.ready(), false)},
		{read, "/metrics", "Metrics in the format of Prometheus", d.core.ShowMetrics()},
		{read, "/models", "List the models", d.core.Private(d.completions.ListModels())},
		{read, "/models/{id...}", "One model", d.core.Private(d.completions.GetModel())},
		{post, "/chat/completions", "Ask an agent: a chat completion", d.core.Private(d.completions.Chat())},
		{post, "/conversations", "Start a conversation", d.core.Private(d.conversations.CreateConversation())},
		{[]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete}, "/conversations/{id}", "One conversation: read, change its metadata, delete", d.conversations.OneConversation()},
		{[]string{http.MethodGet, http.MethodHead, http.MethodPost}, "/conversations/{id}/items", "The items of a conversation: list, add", d.conversations.AllItems()},
		{[]string{http.MethodGet, http.MethodHead, http.MethodDelete}, "/conversations/{id}/items/{item}", "One item of a conversation: read, delete", d.conversations.OneItem()},
		{read, "/conversations/{id}/extensions", "List the MCP servers and skills of a conversation", d.conversations.ListExtensions()},
		{post, "/responses", "Ask an agent: a response", d.core.Private(d.responses.Respond())},
		{[]string{http.MethodGet, http.MethodDelete}, "/responses/{id}", "One stored response: read, delete", d.core.Private(d.responses.StoredResponse())},
		{post, "/responses/{id}/cancel", "Cancel a response in the background", d.core.Private(d.responses.CancelResponse())},
		{[]string{http.MethodGet}, "/responses/{id}/input_items", "The input of a stored response", d.core.Private(d.responses.InputItems())},
		{post, "/conversations/{id}/condense", "Condense the history of a conversation", d.conversations.CondenseConversation()},
		{post, "/conversations/{id}/interrupt", "Interrupt the run of a conversation", d.core.Private(d.conversations.Interrupt())},
		{post, "/conversations/{id}/sandbox/grants", "Grant the agent of a conversation a right in its sandbox", d.conversations.Grant()},
		{read, "/runs", "List the runs", d.core.Private(d.conversations.ListRuns())},
	}
}
