package logins

import (
	"io"
	"net/http"
)

// The pages for a browser that comes back. They are the same for everybody.
const (
	pageDone    = "<h1>You can close this page</h1>\n<p>ohgw has the answer. The program where you began the login shows whether it succeeded.</p>"
	pageRefused = "<h1>You are not logged in</h1>\n<p>The authorization server has refused the login. The program where you began it shows the reason.</p>"
	pageUnknown = "<h1>This link is not valid</h1>\n<p>It was used before, or the login has ended. Start the login again in the program where you began it.</p>"
)

// comeBack takes what a browser brings. Only the login gets it, and the page repeats
// nothing of the request.
func (l *Logins) comeBack(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet { // a HEAD does not come from a person
		w.Header().Set("Allow", http.MethodGet)
		writePage(w, http.StatusMethodNotAllowed, "")
		return nil
	}
	q := r.URL.Query()
	switch {
	case !l.deliver(q, nil):
		writePage(w, http.StatusBadRequest, pageUnknown)
	case q.Get("error") != "":
		writePage(w, http.StatusBadRequest, pageRefused)
	default:
		writePage(w, http.StatusOK, pageDone)
	}
	return nil
}

func writePage(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer") // the code is in the address
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<!doctype html>\n<html lang=\"en\">\n<title>ohgw</title>\n"+text+"\n</html>\n") // the browser is gone
}
