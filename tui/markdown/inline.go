package markdown

import (
	"html"
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/wrap"
)

// look is how a piece of text is set off.
type look struct {
	heading, strong, emphasis, strike, code, faint bool
	link                                           string
	address                                        bool // the text is the address itself
}

func (w *writer) sgr(l look) string {
	t := w.theme
	var s string
	for _, on := range []struct {
		set bool
		sgr string
	}{
		{l.heading, t.Heading},
		{l.strong, t.Strong},
		{l.emphasis, t.Emphasis},
		{l.strike, t.Strike},
		{l.link != "" && !l.address, t.Link},
		{l.address, t.Address},
		{l.code, t.Code},
		{l.faint, t.Faint},
	} {
		if on.set {
			s += on.sgr
		}
	}
	return s
}

// inline returns the spans of what is in n.
func (w *writer) inline(n ast.Node, l look) []wrap.Span {
	var spans []wrap.Span
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		spans = append(spans, w.span(c, l)...)
	}
	return spans
}

func (w *writer) span(n ast.Node, l look) []wrap.Span {
	switch n := n.(type) {
	case *ast.Text:
		return w.text(w.line(n), l)
	case *ast.String:
		return w.text(string(n.Value), l)
	case *ast.Emphasis:
		if n.Level > 1 {
			l.strong = true
		} else {
			l.emphasis = true
		}
	case *east.Strikethrough:
		l.strike = true
	case *ast.CodeSpan:
		return w.codeSpan(n, l)
	case *ast.RawHTML:
		return w.text(string(n.Segments.Value(w.src)), l)
	case *ast.AutoLink:
		l.link, l.address = linkable(string(n.URL(w.src))), true
		return w.text(string(n.Label(w.src)), l)
	case *ast.Link:
		return w.link(n, string(n.Destination), "", l)
	case *ast.Image:
		return w.link(n, string(n.Destination), "image: ", l)
	case *east.TaskCheckBox:
		if n.IsChecked {
			return w.text("[x] ", l)
		}
		return w.text("[ ] ", l)
	}
	return w.inline(n, l)
}

// line is a text with the break that ends it.
func (w *writer) line(n *ast.Text) string {
	s := unescape(string(n.Segment.Value(w.src)))
	switch {
	case n.HardLineBreak():
		return s + "\n"
	case n.SoftLineBreak():
		return s + " "
	}
	return s
}

func (w *writer) text(s string, l look) []wrap.Span {
	return []wrap.Span{{Text: s, SGR: w.sgr(l), Link: l.link}}
}

func (w *writer) codeSpan(n ast.Node, l look) []wrap.Span {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.WriteString(strings.ReplaceAll(string(t.Segment.Value(w.src)), "\n", " "))
		}
	}
	s := b.String()
	if w.theme.Marked {
		s = "`" + s + "`"
	}
	l.code = true
	return w.text(s, l)
}

// link shows where a link leads beside its text, for terminals that open none
// and for people who look before they click.
func (w *writer) link(n ast.Node, dest, kind string, l look) []wrap.Span {
	dest = safe.Line(dest)
	inner := l
	inner.link = linkable(dest)
	spans := w.inline(n, inner)
	var shown strings.Builder
	for _, s := range spans {
		shown.WriteString(s.Text)
	}
	if kind != "" {
		spans = append(w.text(kind, l), spans...)
	}
	if shown.String() == dest || dest == "" || "mailto:"+shown.String() == dest {
		return spans
	}
	l.faint = true
	spans = append(spans, w.text(" (", l)...)
	l.link, l.address = linkable(dest), true
	spans = append(spans, w.text(dest, l)...)
	l.link, l.address = "", false
	return append(spans, w.text(")", l)...)
}

// linkable is dest if a click on it can be followed to a page or a mailbox and
// nowhere else, else "".
func linkable(dest string) string {
	u, err := url.Parse(dest)
	if err != nil || strings.ContainsFunc(dest, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	switch u.Scheme {
	case "http", "https", "mailto":
		return dest
	}
	return ""
}

// unescape takes away the backslashes before punctuation and resolves
// entities, which may stand for characters that are not safe.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') >= 0 {
		var b strings.Builder
		for i := 0; i < len(s); i++ {
			if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[i+1]) >= 0 {
				i++
			}
			b.WriteByte(s[i])
		}
		s = b.String()
	}
	if strings.IndexByte(s, '&') >= 0 {
		s = safe.Text(html.UnescapeString(s))
	}
	return s
}
