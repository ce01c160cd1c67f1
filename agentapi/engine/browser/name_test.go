package browser

import (
	"strings"
	"testing"
)

func TestNamesOfDownloadsStayInTheirDirectory(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"report.csv": "report.csv", "../../etc/passwd": "passwd", `..\..\a.txt`: "a.txt", "..": "download", "": "download",
		".bashrc": "bashrc", "-rf": "rf", "a\x00b\n.txt": "a_b_.txt", "a/": "download", "con:x": "con_x", "\u202egpj.exe": "_gpj.exe",
		strings.Repeat("x", 300) + ".pdf": strings.Repeat("x", 96) + ".pdf", "\xff.txt": "_.txt",
	} {
		if got := safeName(given); got != want {
			t.Errorf("name of %q: %q, not %q", given, got, want)
		}
	}
}

func TestOnlyPagesOfTheWebAreOpened(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"http://a.example/x": "http://a.example/x", "a.example": "https://a.example", "localhost:80": "https://localhost:80",
		"a.example:8080/x": "https://a.example:8080/x", "about:blank": "about:blank",
		"file:///etc/passwd": "", "chrome://version": "", "view-source:http://a": "", "javascript:alert(1)": "", "data:text/html,x": "",
		"/etc/passwd": "", "": "", "blob:http://a": "", "devtools://x": "", "ftp://a": "", "http://": "",
	} {
		if got, err := allowedURL(given); got != want || (err == nil) != (want != "") {
			t.Errorf("address %q: %q, %v", given, got, err)
		}
	}
}
