package openhandsapi

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/daemon/openhandsapi/probes"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

// documents are the routes that describe all routes.
func documents(routes []wire.Route) []wire.Route {
	page := func(w http.ResponseWriter, _ *http.Request) error {
		writePage(w, routes)
		return nil
	}
	return []wire.Route{
		{Method: http.MethodGet, Path: "/openapi.json", Summary: "This API as an OpenAPI document", Handle: func(w http.ResponseWriter, _ *http.Request) error {
			wire.WriteJSON(w, http.StatusOK, openAPI(routes))
			return nil
		}},
		{Method: http.MethodGet, Path: "/docs", Summary: "This API as a page", Handle: page},
		{Method: http.MethodGet, Path: "/redoc", Summary: "This API as a page", Handle: page},
	}
}

type object = map[string]any

// openAPI describes the routes.
func openAPI(routes []wire.Route) object {
	paths := make(map[string]object)
	for _, route := range routes {
		path := publicPath(route.Path)
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(route.Method)] = operation(route)
	}
	return object{
		"openapi": "3.1.0",
		"info":    object{"title": "OpenHands Agent Server", "version": probes.Version, "description": "OpenHands' own API, served by ohgw over its embedded agent."},
		"paths":   paths,
		"components": object{"securitySchemes": object{
			"APIKeyHeader": object{"type": "apiKey", "in": "header", "name": "X-Session-API-Key"},
			"Bearer":       object{"type": "http", "scheme": "bearer"},
		}},
	}
}

func operation(route wire.Route) object {
	parameters := make([]object, 0, len(route.Query))
	for _, name := range pathParameters(route.Path) {
		parameters = append(parameters, object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, name := range route.Query {
		parameters = append(parameters, object{"name": name, "in": "query", "required": false, "schema": object{"type": "string"}})
	}
	o := object{
		"summary": route.Summary, "tags": []string{tag(route.Path)}, "operationId": operationID(route),
		"parameters": parameters,
		"responses": object{
			"default": object{"description": "The answer; a failure is {\"detail\": …}", "content": object{"application/json": object{"schema": object{}}}},
		},
	}
	if route.Body {
		o["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": object{"type": "object"}}}}
	}
	if strings.HasPrefix(route.Path, "/api/") {
		o["security"] = []object{{"APIKeyHeader": []string{}}, {"Bearer": []string{}}}
	}
	return o
}

// publicPath is a pattern of ServeMux as OpenAPI writes it.
func publicPath(pattern string) string {
	return strings.NewReplacer("...}", "}", "/{$}", "/").Replace(pattern)
}

func pathParameters(pattern string) []string {
	var names []string
	for part := range strings.SplitSeq(publicPath(pattern), "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// tag is the part of the API that a path belongs to.
func tag(path string) string {
	path, api := strings.CutPrefix(path, "/api/")
	if !api {
		return "server"
	}
	name, _, _ := strings.Cut(path, "/")
	return name
}

// operationID names a route for programs that make clients.
func operationID(route wire.Route) string {
	words := strings.FieldsFunc(strings.TrimPrefix(route.Path, "/api"), func(r rune) bool {
		return r == '/' || r == '-' || r == '{' || r == '}' || r == '.' || r == '$'
	})
	return strings.ToLower(route.Method) + "_" + strings.Join(words, "_")
}

// The page is not a template: html/template would be initialised at every start of the
// program, for this page alone.
const (
	pageHead = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>OpenHands Agent Server</title>
<style>body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
code{font-family:ui-monospace,monospace}td{padding:.15rem .8rem .15rem 0;vertical-align:top}</style></head>
<body><h1>OpenHands' own API</h1>
<p>Version ` + probes.Version + `, served by ohgw over its embedded agent. The same as a document for programs:
<a href="/openapi.json">/openapi.json</a>. Send a key as <code>X-Session-API-Key</code>.</p>
`
	pageEnd = "</body></html>\n"
)

type part struct {
	name   string
	routes []wire.Route
}

func writePage(w http.ResponseWriter, routes []wire.Route) {
	var parts []part
	for _, route := range routes {
		name := tag(route.Path)
		i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
		if i < 0 {
			i, parts = len(parts), append(parts, part{name: name})
		}
		route.Path = publicPath(route.Path)
		parts[i].routes = append(parts[i].routes, route)
	}
	var out strings.Builder
	out.WriteString(pageHead)
	for _, p := range parts {
		out.WriteString("<h2>" + html.EscapeString(p.name) + "</h2><table>")
		for _, r := range p.routes {
			fmt.Fprintf(&out, "\n<tr><td><code>%s</code></td><td><code>%s</code></td><td>%s</td></tr>",
				html.EscapeString(r.Method), html.EscapeString(r.Path), html.EscapeString(r.Summary))
		}
		out.WriteString("</table>\n")
	}
	out.WriteString(pageEnd)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	_, _ = io.WriteString(w, out.String()) // the client may be gone
}
