//go:build e2e

package differential_test

import (
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// formFields are the fields of the form: how each is written, and what it is given. An empty
// text is a click. The placeholder is its name on both sides, as OpenHands lists no labels.
func formFields() []struct{ name, field, text string } {
	return []struct{ name, field, text string }{
		{"one line", `<input name=a placeholder="one line">`, "Ada"},
		{"mail", `<input type=email name=b placeholder=mail>`, "ada@example.com"},
		{"number", `<input type=number name=c placeholder=number>`, "42"},
		{"phone", `<input type=tel name=d placeholder=phone>`, "555 0100"},
		{"address", `<input type=url name=e placeholder=address>`, "http://example.com/"},
		{"search", `<input type=search name=f placeholder=search value=old>`, "new"},
		{"date", `<input type=date name=g placeholder=date>`, "2026-12-01"},
		{"color", `<input type=color name=h placeholder=color>`, "#00ff00"},
		{"range", `<input type=range name=i placeholder=range>`, "70"},
		{"lines", `<textarea name=j placeholder=lines></textarea>`, "first line"},
		{"choice", `<select name=k placeholder=choice><option>red<option>blue</select>`, "blue"},
		{"check", `<input type=checkbox name=l placeholder=check>`, ""},
		{"radio", `<input type=radio name=m placeholder=radio>`, ""},
	}
}

// browsed is the site that both browsers are led through.
func browsed(t *testing.T) *httptest.Server {
	t.Helper()
	page := func(path, title, body string) (string, http.HandlerFunc) {
		return path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<title>"+title+"</title>"+body)
		}
	}
	form := `<form method=post action=/sent>`
	for _, k := range formFields() {
		form += "<p>" + k.field
	}
	mux := http.NewServeMux()
	mux.HandleFunc(page("GET /{$}", "Login", `<form method=post action=/login><input name=n placeholder=Name>`+
		`<input type=password name=p placeholder=Password><button>Log in</button></form>`))
	mux.HandleFunc(page("GET /form", "Form", form+`<button>Send</button></form>`))
	mux.HandleFunc(page("GET /files", "Files", `<a href=/report>Get the report</a><form method=post action=/upload enctype=multipart/form-data>`+
		`<input type=file name=f placeholder=file><button>Upload</button></form>`))
	mux.HandleFunc(page("GET /second", "Second", `<p>The other tab.`))
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("p") != "open sesame" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "who", Value: r.PostFormValue("n")})
		http.Redirect(w, r, "/home", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /home", func(w http.ResponseWriter, r *http.Request) {
		who, err := r.Cookie("who")
		if err != nil {
			http.Error(w, "who?", http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, `<title>Home</title><h1>Hello `+html.EscapeString(who.Value)+`</h1><a href=/form>The form</a>`)
	})
	mux.HandleFunc("POST /sent", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // of a browser
		_, _ = io.WriteString(w, `<title>Sent</title><h1>Sent</h1>`)
		for _, name := range slices.Sorted(maps.Keys(r.PostForm)) {
			_, _ = fmt.Fprintf(w, "<p>%s is %s", name, html.EscapeString(r.PostFormValue(name)))
		}
	})
	mux.HandleFunc("GET /report", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="report.csv"`)
		_, _ = io.WriteString(w, "a,b\n")
	})
	mux.HandleFunc("POST /upload", func(w http.ResponseWriter, r *http.Request) {
		file, header, err := r.FormFile("f")
		if err != nil {
			_, _ = io.WriteString(w, `<title>Uploaded</title><p>no file`)
			return
		}
		defer file.Close()
		data, _ := io.ReadAll(file) // what is missing is seen
		_, _ = fmt.Fprintf(w, "<title>Uploaded</title><p>%s has %q", html.EscapeString(header.Filename), data)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}
