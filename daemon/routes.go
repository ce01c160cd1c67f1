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
	methods := make(map[string][]string) // of each path
	for _, route := range d.table() {
		// Of the methods of a row ServeMux is given the first: GET answers HEAD, too.
		mux.Handle(route.methods[0]+" "+route.path, gate.Adapt(gate.Named(route.path, route.access(route.handler))))
		methods[route.path] = append(methods[route.path], route.methods...)
	}
	for path, allowed := range methods {
		mux.Handle(path, gate.Adapt(gate.Named(path, gate.WrongMethod(allowed))))
	}
	return d.core.Outermost(gate.Guard(d.core.Config, d.pages, d.withNative(gate.Normalize(mux))))
}

// route is a method of a path, who may call it and who answers it.
type route struct {
	methods []string // one, or GET and HEAD
	path    string
	access  func(gate.Handler) gate.Handler
	summary string // for docs/routes.tsv
	handler gate.Handler
}

// The summaries of paths with several methods.
const (
	conversation = "One conversation: read, change its metadata, delete"
	items        = "The items of a conversation: list, add"
	item         = "One item of a conversation: read, delete"
	response     = "One stored response: read, delete"
)

// table has the routes of /v1 and those beside it; those of OpenHands' own API are put
// together in daemon/openhandsapi/parts.go. Who adds one says in secrecy_test.go which ids it takes.
func (d *Daemon) table() []route {
	read, get, post, remove := []string{http.MethodGet, http.MethodHead}, []string{http.MethodGet}, []string{http.MethodPost}, []string{http.MethodDelete}
	anyone := func(next gate.Handler) gate.Handler { return next }
	outside, metrics, private := d.core.Outside, d.core.ReadsMetrics, d.core.Private
	return []route{
		{read, "/{$}", outside, "Where the API is", d.root()},
		{read, "/health", anyone, "Whether the daemon lives; with a key also its state", d.health()},
		{read, "/healthz", outside, "The same", d.health()},
		{read, "/readyz", outside, "Whether runs can begin", d.ready()},
		{read, "/metrics", metrics, "Metrics in the format of Prometheus", d.core.ShowMetrics()},
		{read, "/models", private, "List the models", d.completions.ListModels()},
		{read, "/models/{id...}", private, "One model", d.completions.GetModel()},
		{post, "/chat/completions", private, "Ask an agent: a chat completion", d.completions.Chat()},
		{post, "/conversations", private, "Start a conversation", d.conversations.CreateConversation()},
		{read, "/conversations/{id}", private, conversation, d.conversations.GetConversation()},
		{post, "/conversations/{id}", private, conversation, d.conversations.UpdateConversation()},
		{remove, "/conversations/{id}", private, conversation, d.conversations.DeleteConversation()},
		{read, "/conversations/{id}/items", private, items, d.conversations.ListItems()},
		{post, "/conversations/{id}/items", private, items, d.conversations.AddItems()},
		{read, "/conversations/{id}/items/{item}", private, item, d.conversations.GetItem()},
		{remove, "/conversations/{id}/items/{item}", private, item, d.conversations.DeleteItem()},
		{read, "/conversations/{id}/extensions", private, "List the MCP servers and skills of a conversation", d.conversations.ListExtensions()},
		{post, "/responses", private, "Ask an agent: a response", d.responses.Respond()},
		{get, "/responses/{id}", private, response, d.responses.GetResponse()},
		{remove, "/responses/{id}", private, response, d.responses.DeleteResponse()},
		{post, "/responses/{id}/cancel", private, "Cancel a response in the background", d.responses.CancelResponse()},
		{get, "/responses/{id}/input_items", private, "The input of a stored response", d.responses.InputItems()},
		{post, "/conversations/{id}/condense", private, "Condense the history of a conversation", d.conversations.CondenseConversation()},
		{post, "/conversations/{id}/interrupt", private, "Interrupt the run of a conversation", d.conversations.Interrupt()},
		{post, "/conversations/{id}/sandbox/grants", private, "Grant the agent of a conversation a right in its sandbox", d.conversations.Grant()},
		{read, "/runs", private, "List the runs", d.conversations.ListRuns()},
	}
}
