package daemon

import "net/http"

// routes answers OpenAI's API and ohgw's own routes from the table below. The paths
// of OpenHands' own API go to Config.Native before that, see withNative. Paths are as [normalize] leaves
// them: without /v1, which may be there or not.
func (d *Daemon) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", adapt(unknownURL))
	for _, route := range d.table() {
		mux.Handle(route.path, adapt(named(route.path, wrongMethod(route.methods))))
		for _, method := range route.methods {
			if method != http.MethodHead { // ServeMux lets GET answer it too
				mux.Handle(method+" "+route.path, adapt(named(route.path, route.handler)))
			}
		}
	}
	return d.outermost(d.guard.then(d.withNative(normalize(mux))))
}

// route is a path and who answers it.
type route struct {
	methods []string
	path    string
	handler handler
}

// table has all routes. Who adds one says in secrecy_test.go which ids it takes.
func (d *Daemon) table() []route {
	return []route{
		{[]string{http.MethodGet, http.MethodHead}, "/{$}", d.open(d.root(), false)},
		{[]string{http.MethodGet, http.MethodHead}, "/health", d.open(d.health(), true)},
		{[]string{http.MethodGet, http.MethodHead}, "/healthz", d.open(d.health(), false)},
		{[]string{http.MethodGet, http.MethodHead}, "/readyz", d.open(d.ready(), false)},
		{[]string{http.MethodGet, http.MethodHead}, "/metrics", d.showMetrics()},
		{[]string{http.MethodGet, http.MethodHead}, "/models", d.private(d.listModels())},
		{[]string{http.MethodGet, http.MethodHead}, "/models/{id...}", d.private(d.getModel())},
		{[]string{http.MethodPost}, "/chat/completions", d.private(d.chat())},
		{[]string{http.MethodPost}, "/conversations", d.private(d.createConversation())},
		{[]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete}, "/conversations/{id}", d.oneConversation()},
		{[]string{http.MethodGet, http.MethodHead, http.MethodPost}, "/conversations/{id}/items", d.allItems()},
		{[]string{http.MethodGet, http.MethodHead, http.MethodDelete}, "/conversations/{id}/items/{item}", d.oneItem()},
		{[]string{http.MethodGet, http.MethodHead}, "/conversations/{id}/extensions", d.listExtensions()},
		{[]string{http.MethodPost}, "/responses", d.private(d.respond())},
		{[]string{http.MethodGet, http.MethodDelete}, "/responses/{id}", d.private(d.storedResponse())},
		{[]string{http.MethodPost}, "/responses/{id}/cancel", d.private(d.cancelResponse())},
		{[]string{http.MethodGet}, "/responses/{id}/input_items", d.private(d.inputItems())},
		{[]string{http.MethodPost}, "/conversations/{id}/condense", d.condenseConversation()},
		{[]string{http.MethodPost}, "/conversations/{id}/interrupt", d.private(d.interrupt())},
		{[]string{http.MethodPost}, "/conversations/{id}/sandbox/grants", d.grant()},
		{[]string{http.MethodGet, http.MethodHead}, "/runs", d.private(d.listRuns())},
	}
}
